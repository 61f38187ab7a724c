package cadre

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// texts hold what encoding must not get wrong: quotes, markup, controls, line
// separators, characters beyond ASCII and bytes that are no text.
var texts = []string{"", "plain", `"quoted" \ back`, "<b> & more", "tab\tline\n\x00\x7f", "\u2028\u2029", "émoji 🦊", "broken \xff\xfe"}

// full sets every field of a struct to something that is not empty, so that a
// field that is added to a struct and forgotten in the encoder is noticed.
func full(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 30, 0, 45e6, time.UTC)))
			return
		}
		for i := range v.NumField() {
			full(v.Field(i), text)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), text)
	case reflect.String:
		v.SetString("x" + text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Uint64:
		v.SetUint(1<<64 - 1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"a": "<1>"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			full(v.Index(i), text)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range []string{"b", "a", text} {
			e := reflect.New(v.Type().Elem()).Elem()
			full(e, text)
			v.SetMapIndex(reflect.ValueOf(k), e)
		}
	case reflect.Interface: // the images, which are set elsewhere
	default:
		panic("full does not know " + v.Type().String())
	}
}

func TestEncodingIsThatOfTheStandardLibrary(t *testing.T) {
	objects := []Object{nil, &Task{}, (*Task)(nil), &Member{Name: "bob"}, &Log{Epoch: "1"}}
	for _, text := range texts {
		task := &Task{}
		full(reflect.ValueOf(task).Elem(), text)
		objects = append(objects, task, &Task{ID: "1", Subject: text, Labels: []string{text}, Status: Status(text)})
	}
	for _, text := range texts {
		var head struct {
			Scope Scope `json:"scope"`
			Head  Head  `json:"head"`
		}
		full(reflect.ValueOf(&head).Elem(), text)
		check(t, head, func() ([]byte, error) { return EncodeHead(head.Scope, head.Head) })
	}
	for _, o := range objects {
		check(t, o, func() ([]byte, error) { return EncodeObject(o) })
		for _, text := range texts {
			e := &Event{After: o}
			check(t, e, func() ([]byte, error) { return encodeEvent(e) })
			full(reflect.ValueOf(e).Elem(), text)
			e.Before, e.After = o, o
			check(t, e, func() ([]byte, error) { return encodeEvent(e) })
		}
	}
}

func TestEncodingFailsAsTheStandardLibraryDoes(t *testing.T) {
	for _, task := range []*Task{{CreatedAt: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}, {Metadata: map[string]json.RawMessage{"a": json.RawMessage("{")}}} {
		if _, err := EncodeObject(task); err == nil {
			t.Errorf("%+v was encoded", task)
		}
		if _, err := encodeEvent(&Event{After: task}); err == nil {
			t.Errorf("an event with %+v was encoded", task)
		}
	}
}

func check(t *testing.T, v any, encode func() ([]byte, error)) {
	t.Helper()
	got, err := encode()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Fatalf("encoded as\n%s\nand by the standard library as\n%s", got, want)
	}
}
