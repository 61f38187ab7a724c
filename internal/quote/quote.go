// Package quote prepares text that others wrote for a model that reads it among other
// things: what somebody writes must not look like the word of the program, of the user
// or of a third.
package quote

import (
	"regexp"
	"strings"
	"sync"

	"cadre/internal/termtext"
)

// marks are the beginnings of tags like those by which programs tell a model who
// speaks: system-reminder, teammate-message and whatever comes after them. All have
// a name of several words, which those of HTML have not. Letters are those of any
// script, because many look alike. A match ends where the next may begin.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<[\s/\p{Cf}\p{M}]*\pL[\pL\pN\p{Cf}\p{M}]*[\p{Pd}_:]`)
})

// Text takes the meaning from everything in a text that could pass for the mark of
// another speaker, and makes visible what cannot be seen. All else stays as it is.
func Text(s string) string {
	s = termtext.Lines(s)
	if !strings.Contains(s, "<") {
		return s
	}
	var out strings.Builder
	at := 0
	for _, m := range marks().FindAllStringIndex(s, -1) {
		if s[m[1]-1] == ':' && (m[1] == len(s) || s[m[1]] == ':') {
			continue // std::string
		}
		out.WriteString(s[at:m[0]] + "&lt;")
		at = m[0] + len("<")
	}
	return out.String() + s[at:]
}

// Item is a text inside an item of a list: further lines have a margin, so that none
// can pass for an item or a heading of its own.
func Item(s string) string {
	return strings.ReplaceAll(strings.TrimSpace(Text(s)), "\n", "\n  | ")
}
