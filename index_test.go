package cadre

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNoIndexIsNamedLikeAKind(t *testing.T) {
	kinds := []Kind{KindLog, KindTeam, KindTask, KindComment, KindReference, KindMember, KindMessage, KindAsk, KindTodo, KindBinding, KindToken, KindErasure, KindRunning, KindTrusted}
	for _, i := range []Index{
		IndexReady, IndexOwner, IndexStatus, IndexInternal, IndexParent, IndexSubject, IndexKey, IndexBlocker, IndexReference, IndexLeased,
		IndexSession, IndexGuest, IndexInbox, IndexUnread, IndexDead, IndexSent, IndexOpenAsk, IndexTaskAsk, IndexDeadline,
	} {
		if slices.Contains(kinds, Kind(i)) {
			t.Errorf("%s is the name of an index and of a kind", i)
		}
	}
	for _, k := range kinds {
		o, err := newObject(k)
		if err != nil || o.Ref().Kind != k {
			t.Errorf("an object of kind %s is %T, %v", k, o, err)
		}
	}
}

func TestSortKeys(t *testing.T) {
	ids := []TaskID{"1", "2", "9", "10", "11", "99", "100", "12345678901", "0", "007", "abc"}
	for i := 1; i < len(ids); i++ {
		if ids[i-1].sortKey() >= ids[i].sortKey() {
			t.Errorf("%s does not come before %s", ids[i-1], ids[i])
		}
	}
	if priorityKey(Urgent) >= priorityKey(Low) || priorityKey(1000) >= priorityKey(999) {
		t.Error("the urgent does not come first")
	}
}

func TestSortedKeys(t *testing.T) {
	var keys sortedKeys
	want := map[string]bool{}
	for i := range 5000 {
		k := fmt.Sprintf("%04d", i*7919%5000)
		keys.add(k, Ref{KindTask, k})
		want[k] = true
		if i%3 == 0 {
			gone := fmt.Sprintf("%04d", i*31%5000)
			keys.remove(gone)
			delete(want, gone)
		}
	}
	got := 0
	last := ""
	keys.each("", "", func(k string, r Ref) bool {
		if !want[k] || k <= last || r.ID != k {
			t.Fatalf("key %q after %q", k, last)
		}
		last = k
		got++
		return true
	})
	if got != len(want) {
		t.Errorf("%d keys, want %d", got, len(want))
	}
	keys.each("12", "1250", func(k string, _ Ref) bool {
		if !strings.HasPrefix(k, "12") || k <= "1250" {
			t.Errorf("key %q under 12 after 1250", k)
		}
		return true
	})
}

// TestOverlayIsWhatWouldBe compares an overlay with the state after the same events.
func TestOverlayIsWhatWouldBe(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	for i := range 10 {
		w.add(fmt.Sprint("task ", i))
	}
	w.must(operator, &TaskBlock{ID: "5", By: []TaskID{"2"}})
	w.must(as("ann"), &TaskStart{ID: "3"})
	base := Snap{&w.state}
	c := w.command(as("ben"))
	var events []Event
	over := base
	for _, v := range []Change{
		&TaskDone{ID: "2"}, &TaskAdd{Subject: "new", BlockedBy: []TaskID{"3", "5"}}, &TaskClaim{ID: "1"}, &MsgSend{To: "ann", Text: "hello"},
		&TaskUpdate{ID: "1", Metadata: nil, Reference: []TaskID{"4"}}, &TaskComment{ID: "11", Text: "note"},
	} {
		more, err := v.Decide(over, c)
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		events = append(events, more...)
		over = Overlay(base, events)
	}
	refs := map[Ref]bool{}
	for _, e := range events {
		refs[e.ref()] = true
	}
	merged := State{Name: "docs"}
	for ref := range w.state.Refs() {
		o, _ := w.state.Get(ref)
		merged.Apply(Event{After: o})
	}
	merged.Apply(events...)
	for _, i := range []Index{Index(KindTask), Index(KindMessage), Index(KindReference), Index(KindComment), IndexReady, IndexOwner, IndexStatus, IndexBlocker, IndexInbox, IndexReference} {
		list := func(s Source) (out []Ref) {
			for o, err := range s.Scan(i, "", "") {
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, o.Ref())
			}
			return out
		}
		if got, want := list(over.Source), list(&merged); !slices.Equal(got, want) {
			t.Errorf("index %s gives %v, want %v", i, got, want)
		}
		a, _ := over.Count(i, "")
		b, _ := merged.Count(i, "")
		if a != b {
			t.Errorf("index %s counts %d, want %d", i, a, b)
		}
	}
}
