// Package plainjson reads the JSON that encoding/json writes for a struct,
// several times faster than encoding/json does, by knowing what comes: the
// fields in their order, no white space. At anything else it gives up, and the
// caller asks encoding/json. So it never decides what is valid; it only must
// never read something differently.
package plainjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// Decoder reads one struct type. It may be used by many goroutines.
type Decoder struct {
	fields []field
}

// field is one struct field: the text that announces it and how to read it.
type field struct {
	key   string // `"name":`
	place int
	read  reader
}

// reader reads one value from the front of a text into a field, and gives what
// follows it. It gives up by answering false.
type reader func(text string, into reflect.Value) (rest string, ok bool)

// New makes a decoder for a struct type. A field of a type that it does not know
// is left to encoding/json: the decoder gives up where it meets one.
func New(t reflect.Type) *Decoder {
	d := &Decoder{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		if !f.IsExported() || f.Anonymous || name == "" || strings.Contains(options, "string") {
			return &Decoder{} // encoding/json has rules of its own for these
		}
		if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) || r > unicode.MaxASCII }) {
			return &Decoder{} // it may be written with escapes
		}
		d.fields = append(d.fields, field{key: `"` + name + `":`, place: i, read: readerOf(f.Type)})
	}
	return d
}

// Decode fills a zero struct, and says whether it could. Where not, the struct
// may be half filled. Strings in it share the memory of the text.
func (d *Decoder) Decode(text string, into reflect.Value) bool {
	rest, ok := d.object(text, into)
	return ok && rest == ""
}

// object reads the fields in their order; those that were left out are skipped.
func (d *Decoder) object(text string, into reflect.Value) (string, bool) {
	if len(text) < 2 || text[0] != '{' {
		return "", false
	}
	text = text[1:]
	for next := 0; ; {
		for next < len(d.fields) && !strings.HasPrefix(text, d.fields[next].key) {
			next++
		}
		if next == len(d.fields) {
			return "", false
		}
		f := &d.fields[next]
		next++
		rest, ok := f.read(text[len(f.key):], into.Field(f.place))
		if !ok || rest == "" {
			return "", false
		}
		text = rest[1:]
		if rest[0] == '}' {
			return text, true
		}
		if rest[0] != ',' {
			return "", false
		}
	}
}

// readerOf chooses how to read a type.
func readerOf(t reflect.Type) reader {
	switch t {
	case reflect.TypeFor[time.Time]():
		return readTime
	case reflect.TypeFor[json.RawMessage]():
		return readRaw
	case reflect.TypeFor[map[string]json.RawMessage]():
		return readRawMap
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return giveUp
	}
	switch t.Kind() {
	case reflect.String:
		return readString
	case reflect.Bool:
		return readBool
	case reflect.Int, reflect.Int64:
		return readInt
	case reflect.Uint64:
		return readUint
	case reflect.Pointer:
		return readPointer(t.Elem())
	case reflect.Slice:
		return readSlice(t.Elem())
	case reflect.Struct:
		return New(t).object
	}
	return giveUp
}

func giveUp(string, reflect.Value) (string, bool) { return "", false }

func readPointer(elem reflect.Type) reader {
	read := readerOf(elem)
	return func(text string, into reflect.Value) (string, bool) {
		p := reflect.New(elem)
		rest, ok := read(text, p.Elem())
		if ok {
			into.Set(p)
		}
		return rest, ok
	}
}

// readSlice reads a list with at least one element; of strings or structs, as
// bytes are written in another way.
func readSlice(elem reflect.Type) reader {
	if elem.Kind() != reflect.String && elem.Kind() != reflect.Struct {
		return giveUp
	}
	read := readerOf(elem)
	return func(text string, into reflect.Value) (string, bool) {
		if !strings.HasPrefix(text, "[") || strings.HasPrefix(text, "[]") {
			return "", false
		}
		for text[0] != ']' {
			into.Set(reflect.Append(into, reflect.Zero(elem)))
			rest, ok := read(text[1:], into.Index(into.Len()-1))
			if !ok || rest == "" || rest[0] != ',' && rest[0] != ']' {
				return "", false
			}
			text = rest
		}
		return text[1:], true
	}
}
