package cli

import (
	"strings"

	"cadre"
)

// nearest gives the word that a mistyped one was most likely meant to be, empty
// where none is near: at most a third of it may be wrong.
func nearest(word string, words []string) string {
	best, distance := "", max(1, len(word)/3)+1
	for _, w := range words {
		if len(word) >= 3 && strings.HasPrefix(w, word) {
			return w
		}
		if d := cadre.Distance(word, w); d < distance {
			best, distance = w, d
		}
	}
	return best
}
