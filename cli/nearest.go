package cli

import "strings"

// nearest gives the word that a mistyped one was most likely meant to be, empty
// where none is near: at most a third of it may be wrong.
func nearest(word string, words []string) string {
	best, distance := "", max(1, len(word)/3)+1
	for _, w := range words {
		if len(word) >= 3 && strings.HasPrefix(w, word) {
			return w
		}
		if d := editDistance(word, w); d < distance {
			best, distance = w, d
		}
	}
	return best
}

// editDistance counts the letters to insert, remove, replace or swap with their
// neighbour to make one word of the other.
func editDistance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last = last, row
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
