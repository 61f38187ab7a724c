// Package claudefile reads and writes the texts of Claude Code's own files: tasks,
// team configurations, inboxes, and the control messages inside them.
//
// It touches no file. Reading is lenient, because whoever wrote a file it was not
// Cadre: a field of the wrong type is left empty, and what the client would make
// of that is said. Writing gives what the client itself would have written, byte
// for byte, and keeps what nobody here knows.
package claudefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
)

// Object is a JSON object that keeps the order of its keys and what nobody here
// knows. The zero value is the empty object.
type Object struct {
	keys   []string // as JSON strings, in the client's escapes
	values map[string]json.RawMessage
}

// Parse reads one JSON object of at most MaxFile bytes, nested at most 64 deep,
// in valid UTF-8. Of a key that comes twice the last value counts, at the place of
// the first, as in the client.
func Parse(data []byte) (*Object, error) {
	value, err := check(data)
	if err != nil {
		return nil, err
	}
	if value[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	return split(value), nil
}

// split is Parse for what was checked already.
func split(value []byte) *Object {
	o := &Object{}
	for key, v := range items(value) {
		o.put(string(appendString(nil, key)), v)
	}
	return o
}

func (o *Object) put(key string, value json.RawMessage) {
	if o.values == nil {
		o.values = map[string]json.RawMessage{}
	}
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Get gives the value of a key as it was written.
func (o *Object) Get(key string) (json.RawMessage, bool) {
	value, ok := o.values[quote(key)]
	return value, ok
}

// Set gives a key a value: anything that encoding/json can write, and another
// Object. A key that is there keeps its place, a new one comes last. It panics for
// what is no JSON value, which only a mistake in the program can make.
func (o *Object) Set(key string, value any) { o.put(quote(key), encode(value)) }

// Delete removes a key, if it is there.
func (o *Object) Delete(key string) {
	q := quote(key)
	delete(o.values, q)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == q })
}

// Keys gives the keys in their order, with their values.
func (o *Object) Keys() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for _, q := range o.keys {
			if !yield(text([]byte(q)), o.values[q]) {
				return
			}
		}
	}
}

// Bytes writes the object as the client does, with JSON.stringify(o, null, 2): two
// spaces, no line break at the end, no escape that is not needed. Numbers stay as
// they were written.
func (o *Object) Bytes() []byte { return o.append(nil, "\n") }

// MarshalJSON lets an object be a value of another.
func (o *Object) MarshalJSON() ([]byte, error) { return o.append(nil, ""), nil }

func (o *Object) append(dst []byte, line string) []byte {
	if len(o.keys) == 0 {
		return append(dst, "{}"...)
	}
	colon, inner := ":", deeper(line)
	if line != "" {
		colon = ": "
	}
	for i, key := range o.keys {
		dst = append(dst, "{,"[min(i, 1)])
		dst = append(append(append(dst, inner...), key...), colon...)
		dst = appendValue(dst, o.values[key], inner)
	}
	return append(append(dst, line...), '}')
}

func quote(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= utf8.RuneSelf || s[i] == '"' || s[i] == '\\' {
			return string(appendString(nil, encode(s)))
		}
	}
	return `"` + s + `"`
}

func encode(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("claudefile: %T is no JSON value: %v", value, err))
	}
	return data
}
