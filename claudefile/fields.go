package claudefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// fields reads the values of an object and notes what the client would not accept.
type fields struct {
	*Object
	wrong []string
}

func (f *fields) note(format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}

func (f *fields) problem() string { return strings.Join(f.wrong, "; ") }

// value gives what stands under a key; nothing, and a note, where it does not begin
// as a value of its kind does.
func (f *fields) value(key, kind, begins string, required bool) (json.RawMessage, bool) {
	raw, there := f.Get(key)
	if there && strings.IndexByte(begins, raw[0]) >= 0 {
		return raw, true
	}
	if there {
		f.note("%s is not %s", key, kind)
	} else if required {
		f.note("%s is missing", key)
	}
	return nil, false
}

func (f *fields) text(key string, required bool) string {
	if raw, ok := f.value(key, "a string", `"`, required); ok {
		return text(raw)
	}
	return ""
}

func (f *fields) flag(key string, required bool) *bool {
	if raw, ok := f.value(key, "true or false", "tf", required); ok {
		return new(raw[0] == 't')
	}
	return nil
}

func (f *fields) list(key string, required bool) (list []string) {
	const kind = "a list of strings"
	raw, ok := f.value(key, kind, "[", required)
	if !ok {
		return nil
	}
	for _, element := range items(raw) {
		if element[0] != '"' {
			f.note("%s is not %s", key, kind)
			return nil
		}
		list = append(list, text(element))
	}
	return list
}

func (f *fields) object(key string) (values map[string]json.RawMessage) {
	raw, ok := f.value(key, "an object", "{", false)
	if !ok {
		return nil
	}
	values = map[string]json.RawMessage{}
	for name, value := range split(raw).Keys() {
		values[name] = value
	}
	return values
}

// number reads a whole number, as a client's clock gives milliseconds.
func (f *fields) number(key string) int64 {
	var n float64
	raw, ok := f.value(key, "a number", "-0123456789", true)
	if ok && (json.Unmarshal(raw, &n) != nil || math.Abs(n) > 1<<53) {
		f.note("%s is too large", key)
		return 0
	}
	return int64(n)
}

// field is one key of a file, in the client's order.
type field struct {
	key   string
	value any
	keep  bool // written also when it is empty
}

// merge puts the fields that differ from what they were into an object: in place
// where the key is there, last where it is new, removed where it became empty. It
// says whether there was any. Without was, every field counts as different.
func merge(o *Object, was, now []field) (changed bool) {
	for i, f := range now {
		value := encode(f.value)
		if was != nil && bytes.Equal(value, encode(was[i].value)) {
			continue
		}
		changed = true
		if !f.keep && isEmpty(value) {
			o.Delete(f.key)
		} else if m, ok := f.value.(map[string]json.RawMessage); ok {
			o.Set(f.key, o.updated(f.key, m))
		} else {
			o.Set(f.key, value)
		}
	}
	return changed
}

func isEmpty(value json.RawMessage) bool {
	return slices.Contains([]string{`""`, "null", "[]", "{}"}, string(value))
}

// updated gives the object under a key with exactly the values of a map: those that
// were there keep their place, the new ones follow by name.
func (o *Object) updated(key string, values map[string]json.RawMessage) *Object {
	child := &Object{}
	if old, _ := o.Get(key); len(old) > 0 && old[0] == '{' {
		child = split(old)
	}
	var gone []string
	for name := range child.Keys() {
		if _, there := values[name]; !there {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		child.Delete(name)
	}
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		old, there := child.Get(name)
		if !there || !bytes.Equal(encode(old), encode(values[name])) {
			child.Set(name, values[name])
		}
	}
	return child
}

// nonNil makes an absent list the empty one, which is how it is written.
func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
