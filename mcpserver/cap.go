package mcpserver

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxAnswer is how large an answer gets, in bytes: some 8,000 tokens, below what
// clients cut off themselves.
const maxAnswer = 32 << 10

// maxResource is how large a resource gets that is about many things, in bytes.
const maxResource = 256 << 10

// shorten cuts the long texts of an answer until it fits, and says so in it.
func shorten(text string, data object) (string, object) {
	text = cut(text, maxAnswer)
	raw := mustJSON(data)
	if len(raw) <= maxAnswer {
		return text, data
	}
	short := shrink(raw, maxAnswer-32).(object)
	short["truncated"] = true
	return text, short
}

// shrink cuts the texts of a JSON document, the longest first, and at last its lists,
// until it fits.
func shrink(raw []byte, limit int) any {
	for most := limit / 4; ; most /= 2 {
		var copied any
		if err := json.Unmarshal(raw, &copied); err != nil {
			panic("an answer is not JSON: " + err.Error())
		}
		if short := cutAll(copied, most); len(mustJSON(short)) <= limit || most < 16 {
			return short
		}
	}
}

// cutAll cuts every text, and, at last, lists.
func cutAll(v any, most int) any {
	switch v := v.(type) {
	case string:
		return cut(v, most)
	case []any:
		if len(v) > most {
			v = v[:most]
		}
		for i := range v {
			v[i] = cutAll(v[i], most)
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = cutAll(v[k], most)
		}
	}
	return v
}

// cut cuts a text at a character, and says how much is missing.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + fmt.Sprintf("… (%d more bytes)", len(s)-end)
}
