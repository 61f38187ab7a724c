package cadre

import (
	"fmt"
	"iter"
	"slices"
	"strings"
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

func (w *world) holder(name string) *Holder {
	w.t.Helper()
	h, err := Snap{&w.state}.holder(name)
	if err != nil || h == nil {
		w.t.Fatalf("%s holds nothing: %v", name, err)
	}
	return h
}

// TestARenewalIsSmall: it stays in the log for ever, and there is one every few seconds.
func TestARenewalIsSmall(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.must(operator, &TaskAdd{Subject: "long", Description: strings.Repeat("much to say. ", 500)}).(*Added).ID
	w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
	was := w.task(id)
	w.pass(30 * time.Second)
	c := w.command(as("ann"))
	events, err := (&TaskRenew{ID: id, Fence: was.Fence, Lease: time.Minute}).Decide(Snap{&w.state}, c)
	if err != nil || len(events) != 1 || events[0].After.Ref() != (Ref{KindHolder, "ann"}) {
		t.Fatalf("a renewal wrote %v, %v", events, err)
	}
	if _, lines, err := Seal(w.state.Head(), "docs", c, events); err != nil || len(lines[0]) > 800 {
		t.Errorf("a renewal is %d bytes long, %v", len(lines[0]), err)
	}
}

// TestOneLeaseForAllThatAMemberHolds: a short task costs no lease of its own, all go back
// together, and a lease that ran out while nothing was held on it is no loss.
func TestOneLeaseForAllThatAMemberHolds(t *testing.T) {
	w := newTeam(t, "ann")
	for range 5 {
		id := w.add("short")
		w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
		w.pass(time.Second)
		w.must(as("ann"), &TaskDone{ID: id})
	}
	if n := len(w.state.history[Ref{KindHolder, "ann"}]); n != 1 {
		t.Errorf("five short tasks wrote %d leases", n)
	}
	one, two := w.add("one"), w.add("two")
	w.must(as("ann"), &TaskStart{ID: one, Lease: time.Minute})
	w.pass(40 * time.Second)
	w.must(as("ann"), &TaskClaim{ID: two, Lease: time.Minute})
	w.pass(50 * time.Second)
	if w.must(operator, &LeasesExpire{}); w.task(one).Owner != "ann" {
		t.Error("what it holds was given back although it took another task since")
	}
	w.pass(11 * time.Second)
	w.must(operator, &LeasesExpire{})
	for _, id := range []TaskID{one, two} {
		if got := w.task(id); got.Owner != "" || got.Leased || got.Attempts != 1 {
			t.Errorf("task %s is %+v", id, got)
		}
	}
	if m := w.member("ann"); m.State != StateUnreachable {
		t.Errorf("ann is %s", m.State)
	}

	w = newTeam(t, "ann")
	w.must(as("ann"), &TaskStart{ID: w.add("done in time"), Lease: time.Minute})
	w.must(as("ann"), &TaskDone{ID: "1"})
	before, mail := w.member("ann").State, len(w.inbox(LeadName))
	w.pass(2 * time.Minute)
	w.must(operator, &LeasesExpire{})
	if w.holder("ann").Lease != nil || w.member("ann").State != before || len(w.inbox(LeadName)) != mail {
		t.Errorf("a lease on nothing: %+v, %+v, %v", w.holder("ann"), w.member("ann"), w.inbox(LeadName))
	}
	seq := w.state.Head().Seq
	if w.must(operator, &LeasesExpire{}); w.state.Head().Seq != seq {
		t.Error("it is ended again and again")
	}
}

// TestALeaseOutlivesNoOwner: who comes after under the same name keeps its own.
func TestALeaseOutlivesNoOwner(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.add("work")
	w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
	w.must(operator, &TaskUpdate{ID: id, Owner: new("ben")})
	w.must(as("ben"), &TaskStart{ID: id})
	w.pass(2 * time.Minute)
	w.must(operator, &LeasesExpire{})
	if got := w.task(id); got.Owner != "ben" || got.Status != InProgress || got.Leased {
		t.Errorf("ben, who has no lease, lost it: %+v", got)
	}
	if m := w.member("ann"); m.State == StateUnreachable {
		t.Error("ann, who held nothing, was lost")
	}
}

// What a file asks for is the claim that it met: the next one is asked about anew.
func TestTakeoverEndsWithTheClaim(t *testing.T) {
	w := newTeam(t, "ann", "bob")
	id := w.add("one")
	writes := func(digest, owner, status string) {
		w.must(External, &Foreign{Tasks: []ForeignTask{{ID: id, By: External, Digest: digest, Owner: &owner, Status: &status}}})
	}
	takeovers := func() (open []*Ask) {
		for _, a := range w.look(operator, &AskList{}).([]*Ask) {
			if a.Kind == AskTakeover {
				open = append(open, a)
			}
		}
		return open
	}
	w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
	writes("first", "eve", "in_progress")
	if asks := takeovers(); len(asks) != 1 {
		t.Fatalf("asked: %v", asks)
	}
	w.must(as("ann"), &TaskRelease{ID: id})
	if asks := takeovers(); len(asks) != 0 {
		t.Errorf("ann has let it go, and still is asked: %v", asks)
	}
	w.must(as("bob"), &TaskStart{ID: id, Lease: time.Minute})
	writes("second", "eve", "in_progress")
	if owner := w.task(id).Owner; owner != "bob" || len(takeovers()) != 1 {
		t.Errorf("the first write against bob gave the task to %s; asked: %v", owner, takeovers())
	}
}

// Whoever loses a claim to a second foreign write is late with what it says then, also
// where the file left it its name.
func TestTakenClaimIsFenced(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("one")
	w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
	fence := w.task(id).Fence
	for _, digest := range []string{"first", "second"} {
		w.must(External, &Foreign{Tasks: []ForeignTask{{ID: id, By: External, Digest: digest, Status: new("pending")}}})
	}
	if got := w.task(id); got.Status != Pending || got.Leased {
		t.Fatalf("the second write was not obeyed: %+v", got)
	}
	w.refused(RuleFence, as("ann"), &TaskDone{ID: id, Fence: fence})
}
