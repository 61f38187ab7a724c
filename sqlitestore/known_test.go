package sqlitestore_test

import (
	"testing"

	"cadre"
)

// What was looked for in vain is found as soon as it is there, whoever put it there.
func TestWhatWasNotThereIsSeenWhenItIs(t *testing.T) {
	dir := t.TempDir()
	here, there := open(t, dir), open(t, dir)
	owned := func(owner string) (n int) {
		t.Helper()
		do(t, here, list, look{&cadre.TaskAdd{Subject: "first"}, func(s cadre.Snap) error {
			n = 0
			for _, err := range s.Tasks(cadre.TaskQuery{Index: cadre.IndexOwner, Key: owner}) {
				if err != nil {
					return err
				}
				n++
			}
			return nil
		}})
		return n
	}
	ann, bob := "ann", "bob"
	for range 2 {
		if n := owned(ann) + owned(bob); n != 0 {
			t.Fatalf("%d tasks have an owner", n)
		}
	}
	do(t, here, list, &cadre.TaskUpdate{ID: "1", Owner: &ann})
	if n := owned(ann); n != 1 {
		t.Errorf("ann has %d tasks after a commit of this process", n)
	}
	do(t, there, list, &cadre.TaskUpdate{ID: "2", Owner: &bob})
	if n := owned(bob); n != 1 {
		t.Errorf("bob has %d tasks after a commit of another connection", n)
	}
}

// look is a change that looks at something first. What a process knows of a scope is
// what its last commit left, so the look is part of one.
type look struct {
	cadre.Change
	at func(cadre.Snap) error
}

func (l look) Decide(s cadre.Snap, c cadre.Command) ([]cadre.Event, error) {
	if err := l.at(s); err != nil {
		return nil, err
	}
	return l.Change.Decide(s, c)
}
