package plainjson

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// token gives the string at the front of a text, with its quotes, and whether it
// means itself: no escapes, valid UTF-8.
func token(text string) (quoted string, plain, ok bool) {
	if text == "" || text[0] != '"' {
		return "", false, false
	}
	plain = true
	ascii := true
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = text[:i+1]
			return quoted, plain, ascii || utf8.ValidString(quoted)
		case c == '\\':
			plain = false
			i++
		case c < 0x20:
			return "", false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false, false
}

func readString(text string, into reflect.Value) (string, bool) {
	quoted, plain, ok := token(text)
	if !ok {
		return "", false
	}
	s := quoted[1 : len(quoted)-1]
	if !plain && json.Unmarshal([]byte(quoted), &s) != nil {
		return "", false
	}
	into.SetString(s)
	return text[len(quoted):], true
}

func readBool(text string, into reflect.Value) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "true"); ok {
		into.SetBool(true)
		return rest, true
	}
	return strings.CutPrefix(text, "false")
}

// digits gives the whole number at the front of a text, as JSON writes it.
func digits(text string) (string, bool) {
	n := 0
	if strings.HasPrefix(text, "-") {
		n = 1
	}
	first := n
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == first || text[first] == '0' && n > first+1 {
		return "", false
	}
	return text[:n], true
}

func readInt(text string, into reflect.Value) (string, bool) {
	number, ok := digits(text)
	if !ok {
		return "", false
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || into.OverflowInt(n) {
		return "", false
	}
	into.SetInt(n)
	return text[len(number):], true
}

func readUint(text string, into reflect.Value) (string, bool) {
	number, ok := digits(text)
	if !ok {
		return "", false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return "", false
	}
	into.SetUint(n)
	return text[len(number):], true
}

// layout is what a moment in UTC looks like, up to the fraction of the second.
const layout = "dddd-dd-ddTdd:dd:dd"

// readTime reads a moment in UTC; time zones are left to encoding/json.
func readTime(text string, into reflect.Value) (string, bool) {
	quoted, plain, ok := token(text)
	if !ok || !plain || len(quoted) < len(layout)+3 || !strings.HasSuffix(quoted, `Z"`) {
		return "", false
	}
	s := quoted[1 : len(quoted)-1]
	for i := range len(layout) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (layout[i] == 'd') || !digit && s[i] != layout[i] {
			return "", false
		}
	}
	if dot := s[len(layout)]; dot != 'Z' && dot != '.' {
		return "", false
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return "", false
	}
	p, ok := into.Addr().Interface().(*time.Time)
	if !ok {
		return "", false
	}
	*p = t
	return text[len(quoted):], true
}

// value gives the JSON value at the front of a text, whatever it is. Something
// always follows it.
func value(text string) (string, bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted, _, ok := token(text[i:])
			if !ok {
				return "", false
			}
			i += len(quoted) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				return text[:i], json.Valid([]byte(text[:i]))
			}
		case ' ', '\t', '\n', '\r':
			return "", false
		}
		if depth < 0 {
			return text[:i], json.Valid([]byte(text[:i]))
		}
	}
	return "", false
}

// readRaw keeps a value as it stands. What null means is left to encoding/json.
func readRaw(text string, into reflect.Value) (string, bool) {
	raw, ok := value(text)
	if !ok || raw == "null" {
		return "", false
	}
	into.SetBytes([]byte(raw))
	return text[len(raw):], true
}

// readRawMap reads names with values that are kept as they stand.
func readRawMap(text string, into reflect.Value) (string, bool) {
	if !strings.HasPrefix(text, "{") || strings.HasPrefix(text, "{}") {
		return "", false
	}
	out := map[string]json.RawMessage{}
	for text[0] != '}' {
		quoted, plain, ok := token(text[1:])
		if !ok || !plain {
			return "", false
		}
		rest, ok := strings.CutPrefix(text[1+len(quoted):], ":")
		if !ok {
			return "", false
		}
		raw, ok := value(rest)
		if !ok {
			return "", false
		}
		out[quoted[1:len(quoted)-1]] = json.RawMessage(raw)
		text = rest[len(raw):]
		if text[0] != ',' && text[0] != '}' {
			return "", false
		}
	}
	into.Set(reflect.ValueOf(out))
	return text[1:], true
}
