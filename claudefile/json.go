package claudefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxFile is the size past which no file is read: the client's own are a
// thousand times smaller, and whoever writes such a file means no good.
const MaxFile = 8 << 20

// maxDepth is how deeply values may be nested.
const maxDepth = 64

// check refuses what is not one JSON value within the limits, and gives it
// without the white space around it. What it passes, items and appendValue may
// walk through without looking for mistakes.
func check(data []byte) ([]byte, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%d bytes are more than the %d that are read", len(data), MaxFile)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	if !json.Valid(data) {
		return nil, json.Unmarshal(data, new(any))
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("nested more than %d deep", maxDepth)
			}
		case '}', ']':
			depth--
		}
	}
	return bytes.TrimSpace(data), nil
}

// items gives the elements of an array, or the keys and values of an object, as
// they are written. The key of an element is nil.
func items(value []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		for i := 1; ; {
			i = skip(value, i, " \t\r\n,")
			if value[i] == '}' || value[i] == ']' {
				return
			}
			var key []byte
			if value[0] == '{' {
				end := stringEnd(value, i)
				key, i = value[i:end], skip(value, end, " \t\r\n:")
			}
			end := valueEnd(value, i)
			if !yield(key, value[i:end:end]) {
				return
			}
			i = end
		}
	}
}

func skip(data []byte, i int, over string) int {
	for strings.IndexByte(over, data[i]) >= 0 {
		i++
	}
	return i
}

// stringEnd gives where the string that begins at i is over.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd gives where the value that begins at i is over.
func valueEnd(data []byte, i int) int {
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default: // a number or a word goes on to what cannot be part of it
			if depth == 0 && i+1 < len(data) && strings.IndexByte(" \t\r\n,]}", data[i+1]) < 0 {
				continue
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// appendValue writes a value as the client's JSON.stringify does. line is the
// line break and indentation of where it stands, empty for no white space at all.
func appendValue(dst []byte, value json.RawMessage, line string) []byte {
	switch value[0] {
	case '{':
		return split(value).append(dst, line)
	case '"':
		return appendString(dst, value)
	case '[':
		inner := deeper(line)
		open := len(dst) + 1
		dst = append(dst, '[')
		for _, element := range items(value) {
			if len(dst) > open {
				dst = append(dst, ',')
			}
			dst = appendValue(append(dst, inner...), element, inner)
		}
		if len(dst) > open {
			dst = append(dst, line...)
		}
		return append(dst, ']')
	}
	return append(dst, value...)
}

func deeper(line string) string {
	if line == "" {
		return ""
	}
	return line + "  "
}

// appendString writes a string with the escapes that JSON.stringify uses and no
// others. Half of a surrogate pair stays the escape it was: no text can hold it.
func appendString(dst, quoted []byte) []byte {
	dst = append(dst, '"')
	for i := 1; i < len(quoted)-1; i++ {
		if quoted[i] != '\\' {
			dst = append(dst, quoted[i])
			continue
		}
		i++
		if quoted[i] == '/' {
			dst = append(dst, '/')
			continue
		}
		if quoted[i] != 'u' {
			dst = append(dst, '\\', quoted[i])
			continue
		}
		r := hex4(quoted[i+1:])
		i += 4
		if utf16.IsSurrogate(r) && bytes.HasPrefix(quoted[i+1:], []byte(`\u`)) {
			if pair := utf16.DecodeRune(r, hex4(quoted[i+3:])); pair != utf8.RuneError {
				r = pair
				i += 6
			}
		}
		dst = appendRune(dst, r)
	}
	return append(dst, '"')
}

// text gives what a JSON string says.
func text(quoted []byte) (s string) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	if err := json.Unmarshal(quoted, &s); err != nil {
		panic("claudefile: " + err.Error()) // it was checked when it came
	}
	return s
}

func hex4(digits []byte) (r rune) {
	for _, c := range digits[:4] {
		r = r<<4 | rune(c&0xf)
		if c > '9' {
			r += 9
		}
	}
	return r
}

func appendRune(dst []byte, r rune) []byte {
	if r < 0x20 || r == '"' || r == '\\' {
		if i := strings.IndexByte("\"\\\b\f\n\r\t", byte(r)); i >= 0 {
			return append(dst, '\\', `"\bfnrt`[i])
		}
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	if utf16.IsSurrogate(r) {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return utf8.AppendRune(dst, r)
}
