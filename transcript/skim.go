package transcript

import (
	"bytes"
	"encoding/json"
)

// members calls f with each name and value of a JSON object, as they stand in the
// text, and says whether the text was an object to its end. It looks at nothing
// inside the values but where they end: most of a transcript is never decoded.
func members(text []byte, f func(name, value []byte)) bool {
	text = bytes.TrimSpace(text)
	i := 1
	if len(text) < 2 || text[0] != '{' {
		return false
	}
	for {
		i = space(text, i)
		if i < len(text) && text[i] == '}' {
			return i == len(text)-1
		}
		end := valueEnd(text, i)
		if end < 0 || text[i] != '"' {
			return false
		}
		name := text[i+1 : end-1]
		if i = space(text, end); i >= len(text) || text[i] != ':' {
			return false
		}
		i = space(text, i+1)
		if end = valueEnd(text, i); end < 0 {
			return false
		}
		f(name, text[i:end])
		if i = space(text, end); i >= len(text) {
			return false
		}
		if text[i] == ',' {
			i++
		} else if text[i] != '}' {
			return false
		}
	}
}

// elements calls f with each element of a JSON array, as it stands in the text.
func elements(text []byte, f func(value []byte)) {
	if len(text) < 2 || text[0] != '[' {
		return
	}
	for i := 1; ; i++ {
		i = space(text, i)
		end := valueEnd(text, i)
		if end < 0 {
			return
		}
		f(text[i:end])
		if i = space(text, end); i >= len(text) || text[i] != ',' {
			return
		}
	}
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is where the JSON value at i ends, and -1 where there is none.
func valueEnd(text []byte, i int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		depth := 0
		for i < len(text) {
			switch text[i] {
			case '"':
				if i = stringEnd(text, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	start := i
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] > ' ' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// stringEnd is where the string that begins at i ends.
func stringEnd(text []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := i
		for text[slashes-1] == '\\' {
			slashes--
		}
		if (i-slashes)%2 == 0 {
			return i + 1
		}
	}
}

// text decodes a JSON string, and gives nothing for any other value.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(bytes.ToValidUTF8(value[1:len(value)-1], []byte("\uFFFD")))
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}
