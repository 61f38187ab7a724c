package cadre

import (
	"slices"
	"strings"
	"testing"
)

// stored gives a world's events as a store would have them, in order.
func (w *world) stored() []Event {
	var all []Event
	for ref := range w.state.Refs() {
		for e := range w.state.History(ref) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Event) int { return int(a.Seq) - int(b.Seq) })
	return all
}

// found checks a log against anchors.
func found(t *testing.T, scope Scope, events []Event, anchors ...Anchor) []Finding {
	t.Helper()
	c := NewChainCheck(scope, anchors)
	for _, e := range events {
		hash := e.Hash
		e.Hash = ""
		line, err := encodeEvent(&e)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(e.Seq, hash, line)
	}
	return c.Finish()
}

func TestAKeptAnchorIsNotExplainedAway(t *testing.T) {
	w := newTeam(t)
	w.add("a")
	h := w.state.Head()
	seen := Head{Epoch: h.Epoch, Seq: h.Seq + 3, Hash: "feed", Fence: h.Fence, Next: h.Next + 3}
	events, err := OpenLog(Snap{&w.state}, "epoch-2", &seen, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.apply(w.command(Self), events)
	log := w.stored()
	if got := found(t, "docs", log, Anchor{Scope: "docs", Head: h, From: "a safe"}); len(got) != 0 {
		t.Errorf("an anchor from before the loss finds %+v", got)
	}
	if got := found(t, "docs", log, Anchor{Scope: "docs", Head: seen, From: "beside the log", Own: true}); len(got) != 0 {
		t.Errorf("the log owned up to its own record, and yet %+v", got)
	}
	if got := found(t, "docs", log, Anchor{Scope: "docs", Head: seen, From: "a safe"}); len(got) != 1 || !strings.Contains(got[0].What, "a safe") {
		t.Errorf("the kept anchor finds %+v", got)
	}
}

func TestAListAnswersToItsName(t *testing.T) {
	w := newTeam(t)
	w.add("a")
	if got := found(t, "docs", w.stored()); len(got) != 0 {
		t.Errorf("an untouched log: %+v", got)
	}
	if got := found(t, "other", w.stored()); len(got) != 1 {
		t.Errorf("under another name: %+v", got)
	}
	mark, err := MarkMove(Snap{&w.state}, Dest{Name: "manual"}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.apply(w.command(operator), []Event{mark})
	w.state.Name = "manual"
	w.add("b")
	if got := found(t, "manual", w.stored()); len(got) != 0 {
		t.Errorf("after a recorded renaming: %+v", got)
	}
	if got := found(t, "docs", w.stored()); len(got) != 1 {
		t.Errorf("under its old name: %+v", got)
	}
}

func TestAnEventIsAboutSomething(t *testing.T) {
	if _, _, err := Seal(Head{}, "docs", Command{Verb: "nothing"}, []Event{{}}); err == nil {
		t.Error("an event without images was sealed")
	}
}
