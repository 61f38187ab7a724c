package install

import (
	"bytes"
	"encoding/json"
	"errors"
)

// unread says why a text is no JSON object: a BrokenError, or ErrUnknownText where a
// program that knows remarks and commas behind the last can read it.
func unread(text []byte) error {
	plain := bytes.TrimRight(withoutRemarks(text), " \t\r\n")
	wrong, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(plain, new(json.RawMessage)))
	if !ok {
		return ErrUnknownText
	}
	return &BrokenError{1 + bytes.Count(plain[:max(0, wrong.Offset-1)], []byte("\n")), "JSON", wrong.Error()}
}

// withoutRemarks is a text as long as this one, in which there are spaces for a byte
// order mark, for remarks and for commas that nothing follows.
func withoutRemarks(text []byte) []byte {
	plain := bytes.Clone(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if plain[i] != '\n' {
				plain[i] = ' '
			}
		}
	}
	if bytes.HasPrefix(plain, []byte("\xef\xbb\xbf")) {
		blank(0, 3)
	}
	comma := -1 // where the last one is, if nothing but spaces followed
	for at := 0; at < len(plain); at++ {
		rest := plain[at:]
		switch c := rest[0]; {
		case bytes.HasPrefix(rest, []byte("//")):
			blank(at, at+lineLength(rest))
		case bytes.HasPrefix(rest, []byte("/*")):
			if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
				blank(at, at+2+end+2)
			}
		case c == '"':
			at += 1 + max(0, closing(rest[1:], `"`))
			comma = -1
		case c == ',' && comma < 0:
			comma = at
		case (c == '}' || c == ']') && comma >= 0:
			blank(comma, comma+1)
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return plain
}
