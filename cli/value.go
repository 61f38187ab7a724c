package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
)

// flagValue lets a flag set a verb's field.
type flagValue struct{ field }

// Set parses and stores one value given on the command line.
func (f flagValue) Set(text string) error { return setValue(f.value, text) }

// String is the value when nothing is given.
func (f flagValue) String() string { return f.def }

// Type is the word for the value in help.
func (f flagValue) Type() string { return typeName(f.value.Type()) }

// typeName is the word that help shows for a kind of value; empty for a switch.
func typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t == reflect.TypeFor[time.Duration]():
		return "DURATION"
	case t == reflect.TypeFor[cadre.TaskID]():
		return "ID"
	case t == reflect.TypeFor[[]cadre.TaskID]():
		return "ID,ID"
	}
	switch t.Kind() {
	case reflect.Bool:
		return ""
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "N"
	case reflect.Slice:
		return "A,B"
	case reflect.Map:
		return "K=V"
	}
	return "TEXT"
}

// isSwitch says whether a flag needs no value.
func isSwitch(t reflect.Type) bool {
	return t.Kind() == reflect.Bool || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Bool
}

// setValue stores a text in a field of any kind that verbs use. Lists and maps
// grow with each call; a pointer is set only by being given.
func setValue(v reflect.Value, text string) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := coord.ParseDuration(text)
		v.SetInt(int64(d))
		return err
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return setValue(v.Elem(), text)
	case reflect.String:
		v.SetString(text)
		return nil
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(on)
		return nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(n)
		return nil
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number from 0 up", text)
		}
		v.SetUint(n)
		return nil
	case reflect.Slice:
		return addWords(v, text)
	case reflect.Map:
		return addPair(v, text)
	}
	return fmt.Errorf("a %s cannot be given on the command line", v.Type())
}

// addWords appends a comma separated list.
func addWords(v reflect.Value, text string) error {
	if v.Type().Elem().Kind() != reflect.String {
		return fmt.Errorf("a %s cannot be given on the command line", v.Type())
	}
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			v.Set(reflect.Append(v, reflect.ValueOf(word).Convert(v.Type().Elem())))
		}
	}
	return nil
}

// addPair sets one key of a map. The value is JSON where it is JSON, else a string.
func addPair(v reflect.Value, text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q is not of the form key=value", text)
	}
	raw := json.RawMessage(value)
	if !json.Valid(raw) {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return err
		}
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(raw))
	return nil
}
