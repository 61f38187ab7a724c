package cadre

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"
)

// counted counts the objects that an index hands out.
type counted struct {
	Source
	index Index
	n     int
}

func (c *counted) Scan(i Index, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for o, err := range c.Source.Scan(i, prefix, after) {
			if i == c.index {
				c.n++
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// leased gives each of some members a task whose lease ends at its own time.
func leased(w *world, members int) []TaskID {
	var ids []TaskID
	for i := range members {
		name := fmt.Sprint("m", i)
		w.must(operator, &TeamJoin{Name: name})
		ids = append(ids, w.add("work of "+name))
		w.must(as(name), &TaskStart{ID: ids[i], Lease: time.Minute + time.Duration(i)*time.Second})
	}
	return ids
}

func TestOnlyLeasesThatAreOverAreRead(t *testing.T) {
	w := newTeam(t)
	ids := leased(w, 50)
	read := func(v Change, a Actor) int {
		c := &counted{Source: &w.state, index: IndexLeased}
		_, err := v.Decide(Snap{c}, w.command(a))
		if err != nil && AsError(err).Rule != RuleNothing {
			t.Fatal(err)
		}
		return c.n
	}
	if n := read(&TaskNext{Claim: true}, as("ann")); n > 1 {
		t.Errorf("%d of 50 leases were read, and none is over", n)
	}
	w.now.Up += time.Minute + 2*time.Second
	if n := read(&TaskNext{Claim: true}, as("ann")); n != 4 {
		t.Errorf("%d of 50 leases were read, and three are over", n)
	}
	if got := w.must(operator, &LeasesExpire{}).([]TaskID); !slices.Equal(got, ids[:3]) {
		t.Errorf("given back: %v", got)
	}
}

func TestLeasesOfEveryOtherBootAreOver(t *testing.T) {
	for _, boot := range []string{"boot-0", "boot-1", "boot-10", "boot-2", ""} {
		w := newTeam(t)
		for i, b := range []string{"boot-0", "boot-10", "boot-2"} {
			w.now.Boot = b
			w.must(operator, &TeamJoin{Name: fmt.Sprint("m", i)})
			w.must(as(fmt.Sprint("m", i)), &TaskStart{ID: w.add("work"), Lease: time.Hour})
		}
		w.now.Boot = boot
		want := 3
		for _, b := range []string{"boot-0", "boot-10", "boot-2"} {
			if b == boot {
				want--
			}
		}
		if got := w.must(operator, &LeasesExpire{}).([]TaskID); len(got) != want {
			t.Errorf("under boot %q, %v were given back, want %d", boot, got, want)
		}
	}
}

func TestNextEnd(t *testing.T) {
	w := newTeam(t, "ann")
	if lease, ask, err := (Snap{&w.state}).NextEnd(w.now); lease != nil || ask != nil || err != nil {
		t.Errorf("of nothing: %v, %v, %v", lease, ask, err)
	}
	leased(w, 3)
	asked := w.now.Wall
	w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "why?"})
	until := w.now.Up + time.Minute
	lease, ask, err := Snap{&w.state}.NextEnd(w.now)
	if err != nil || lease == nil || *lease != until || ask == nil || !ask.Equal(asked.Add(DefaultAskDeadline)) {
		t.Errorf("%v, %v, %v", lease, ask, err)
	}
	w.now.Up, w.now.Wall = until, asked.Add(DefaultAskDeadline)
	lease, ask, err = Snap{&w.state}.NextEnd(w.now)
	if err != nil || lease == nil || *lease != until+time.Second || ask != nil {
		t.Errorf("after the first: %v, %v, %v", lease, ask, err)
	}
	w.now.Boot = "another"
	if lease, _, err := (Snap{&w.state}).NextEnd(w.now); lease != nil || err != nil {
		t.Errorf("after another boot: %v, %v", lease, err)
	}
}
