package soak_test

import (
	"fmt"
	"strings"
	"testing"
)

// witness checks who held a lock when, from lines that stand in the order in which
// they were written: "B NAME" by a holder when it has the lock, "E NAME" before it
// gives it up, "L NAME" when it then hears that it had lost it; and by the test
// "K NAME" before it kills one and "S NAME" before it stops one for a while. Names
// of our own processes begin with g, those of Node with n.
type witness struct {
	inside  map[string]bool // true: and has been met by another there
	stopped map[string]bool // since it last gave the lock up
	killed  map[string]bool
	last    string // who came in last

	held      map[byte]int // by the first letter of the names
	lost      map[byte]int
	ours      []string // overlaps of two of our own, which must not be
	afterStop int      // others, where one of the two had been stopped
	plain     int      // others
}

func newWitness() *witness {
	return &witness{
		inside: map[string]bool{}, stopped: map[string]bool{}, killed: map[string]bool{},
		held: map[byte]int{}, lost: map[byte]int{},
	}
}

func (w *witness) line(text string) error {
	mark, name, ok := strings.Cut(text, " ")
	if !ok || name == "" || len(mark) != 1 || !strings.Contains("BELKS", mark) {
		return fmt.Errorf("the witness cannot read %q", text)
	}
	if w.killed[name] {
		return nil
	}
	switch mark {
	case "B":
		for other := range w.inside {
			w.overlap(other, name)
		}
		w.inside[name] = false
		w.last = name
	case "E":
		delete(w.inside, name)
		delete(w.stopped, name)
		w.held[name[0]]++
	case "L":
		w.lost[name[0]]++
	case "K":
		delete(w.inside, name)
		w.killed[name] = true
	case "S":
		w.stopped[name] = true
	}
	return nil
}

// overlap counts each hold once that others came into.
func (w *witness) overlap(a, b string) {
	met := w.inside[a]
	w.inside[a] = true
	switch {
	case a[0] == 'g' && b[0] == 'g':
		w.ours = append(w.ours, a+" and "+b)
	case met:
	case w.stopped[a] || w.stopped[b]:
		w.afterStop++
	default:
		w.plain++
	}
}

func (w *witness) total() int { return w.held['g'] + w.held['n'] }

func (w *witness) String() string {
	return fmt.Sprintf("taken %d times by Go and %d times by Node; overlaps of Go with Go: %d; holds that Node came into or that were Node's, after a stop: %d, other: %d; losses noticed by Go: %d, by Node: %d",
		w.held['g'], w.held['n'], len(w.ours), w.afterStop, w.plain, w.lost['g'], w.lost['n'])
}

func TestWitness(t *testing.T) {
	for _, tt := range []struct {
		what, lines            string
		ours, afterStop, plain int
	}{
		{"one after the other", "B g1,E g1,B g2,E g2,B n3,E n3,B g1,E g1", 0, 0, 0},
		{"two of ours", "B g1,B g2,E g1,E g2", 1, 0, 0},
		{"two of ours, one of them stopped", "B g1,S g1,B g2,E g2,E g1", 1, 0, 0},
		{"one of ours in two others", "B g1,B n2,B g3,E g1,E n2,E g3", 1, 0, 2},
		{"two after another in one", "B n1,B n2,E n2,B g3,E g3,E n1", 0, 0, 1},
		{"one of ours and one of Node's", "B g1,B n2,E g1,E n2", 0, 0, 1},
		{"one that was killed", "B g1,K g1,B g2,E g2", 0, 0, 0},
		{"one that was killed, and a line of its that came late", "K g1,B g1,B g2,E g2", 0, 0, 0},
		{"one that was stopped before", "S n1,B n1,E n1,B n1,B n2,E n2,E n1", 0, 0, 1},
		{"one that was stopped", "S n1,B n1,B n2,E n2,E n1", 0, 1, 0},
	} {
		w := newWitness()
		for _, l := range strings.Split(tt.lines, ",") {
			if err := w.line(l); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.ours) != tt.ours || w.afterStop != tt.afterStop || w.plain != tt.plain {
			t.Errorf("%s: %s", tt.what, w)
		}
	}
	for _, bad := range []string{"", "B", "B ", "X g1", "BE g1"} {
		if newWitness().line(bad) == nil {
			t.Errorf("%q is taken for a line", bad)
		}
	}
}
