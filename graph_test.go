package cadre

import (
	"fmt"
	"strings"
	"testing"
)

func TestCycleIsRefusedWithItsPath(t *testing.T) {
	w := newTeam(t)
	a := w.add("a")
	b := w.add("b", a)
	c := w.add("c", b)
	d := w.add("d", c)
	if e := w.refused(RuleCycle, operator, &TaskBlock{ID: a, By: []TaskID{d}}); !strings.Contains(e.Message, "1 waits for 4 waits for 3 waits for 2 waits for 1") {
		t.Errorf("%q does not show the whole cycle", e.Message)
	}
	w.refused(RuleCycle, operator, &TaskBlock{ID: a, By: []TaskID{a}})
	w.refused(RuleCycle, operator, &TaskUpdate{ID: d, AddBlocks: []TaskID{a}})
}

func TestEdgesFromBothSides(t *testing.T) {
	w := newTeam(t)
	a := w.add("a")
	b := w.add("b")
	w.must(operator, &TaskUpdate{ID: a, AddBlocks: []TaskID{b}})
	wantIDs(t, w.look(operator, &TaskShow{ID: a}).(*TaskView).Blocks, b)
	wantIDs(t, w.look(operator, &TaskShow{ID: b}).(*TaskView).BlockedBy, a)
	w.must(operator, &TaskUnblock{ID: b, By: []TaskID{a}})
	wantIDs(t, w.look(operator, &TaskShow{ID: a}).(*TaskView).Blocks)
	w.refused(RuleTaskMissing, operator, &TaskUnblock{ID: b, By: []TaskID{a}})
}

func TestOnlyTheAuthorRemovesEdges(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.add("b", a)
	w.refused(RuleAuthor, as("ann"), &TaskUnblock{ID: b, By: []TaskID{a}})
}

func TestWhyGoesThroughAllLevels(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.add("b", a)
	c := w.add("c", b)
	x := w.add("x")
	w.must(operator, &TaskBlock{ID: c, By: []TaskID{x}})
	w.must(as("ann"), &TaskStart{ID: a})
	why := w.look(operator, &TaskWhy{ID: c}).(*Why)
	if got := fmt.Sprint(why.Waits); got != "[{2 b blocked  3 1 [1]} {4 x ready  3 1 []} {1 a running ann 2 2 []}]" {
		t.Errorf("waits: %s", got)
	}
	if got := fmt.Sprint(why.Free); !strings.Contains(got, "{4 anyone") || !strings.Contains(got, "{1 ann") || strings.Contains(got, "{2 ") {
		t.Errorf("free: %s", got)
	}
}

func TestWavesAndCriticalPath(t *testing.T) {
	w := newTeam(t, "ann")
	a, b := w.add("a"), w.add("b")
	c := w.add("c", a, b)
	d := w.add("d", c)
	w.add("e", b)
	g := w.look(operator, &TaskGraph{}).(*Graph)
	if got := fmt.Sprint(g.Waves); got != "[[1 2] [3 5] [4]]" {
		t.Errorf("waves %s", got)
	}
	wantIDs(t, g.Critical, a, c, d)
	w.must(as("ann"), &TaskDone{ID: a})
	g = w.look(operator, &TaskGraph{}).(*Graph)
	wantIDs(t, g.Critical, b, c, d)
	g = w.look(operator, &TaskGraph{ID: d}).(*Graph)
	if len(g.Tasks) != 3 {
		t.Errorf("what d has to do with is %d tasks, want b, c and d", len(g.Tasks))
	}
}

func TestListShowsWhatShowShows(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.add("b", a)
	w.must(as("ann"), &TaskComment{ID: a, Text: "looking at it"})
	w.must(as("ann"), &TaskUpdate{ID: a, Reference: []TaskID{b}})
	w.must(as("ann"), &TaskStart{ID: a})
	for _, list := range []*TaskList{{}, {Limit: 2}, {Owner: "ann"}} {
		for _, v := range w.look(operator, list).([]*TaskView) {
			one := w.look(operator, &TaskShow{ID: v.ID}).(*TaskView)
			if got, want := fmt.Sprintf("%+v", *v), fmt.Sprintf("%+v", *one); got != want {
				t.Errorf("task %s in the list %+v\n%s\nshown alone\n%s", v.ID, list, got, want)
			}
		}
	}
}

// TestInvariantsCanFail plants each kind of damage that CheckInvariants is for. Task 2
// waits for task 1; task 3 did too, was completed by force, and was reopened since;
// task 4 was completed by force before task 1 and stayed so, and task 5 is open.
func TestInvariantsCanFail(t *testing.T) {
	for name, damage := range map[string]func(w *world) *Task{
		"early unblock": func(w *world) *Task {
			b := w.task("2").Clone()
			b.OpenBlockers = 0
			return b
		},
		"early completion": func(w *world) *Task {
			b := w.task("2").Clone()
			b.Status = Completed
			return b
		},
		"early completion of what was forced once": func(w *world) *Task {
			c := w.task("3").Clone()
			c.Status = Completed
			return c
		},
		"a blocker that a completed task never was let past": func(w *world) *Task {
			d := w.task("4").Clone()
			d.BlockedBy, d.OpenBlockers = append(d.BlockedBy, "5"), 2
			return d
		},
		"a claim on no lease": func(w *world) *Task {
			e := w.task("5").Clone()
			e.Owner, e.Leased = "ann", true
			return e
		},
		"cycle": func(w *world) *Task {
			a := w.task("1").Clone()
			a.BlockedBy, a.OpenBlockers = []TaskID{"2"}, 1
			return a
		},
		"dangling edge": func(w *world) *Task {
			b := w.task("2").Clone()
			b.BlockedBy, b.OpenBlockers = append(b.BlockedBy, "77"), 2
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTeam(t)
			w.add("a")
			for _, subject := range []string{"b", "c", "d"} {
				w.add(subject, "1")
			}
			w.add("e")
			w.must(person, &TaskDone{ID: "3", Force: true})
			w.must(person, &TaskUpdate{ID: "3", Status: new("pending")})
			w.must(person, &TaskDone{ID: "4", Force: true})
			after := damage(w)
			w.apply(w.command(Self), []Event{{Before: w.task(after.ID), After: after}})
			if err := CheckInvariants(Snap{&w.state}); err == nil {
				t.Error("the damage went unnoticed")
			}
		})
	}
}

// What was forced is forced until the task goes back: the next one who takes it up
// waits like everybody.
func TestWhatWasForcedIsNotForcedAgain(t *testing.T) {
	w := newTeam(t, "ann")
	w.add("a")
	b := w.add("b", "1")
	for _, force := range []Change{&TaskDone{ID: b, Force: true}, &TaskStart{ID: b, Force: true}, &TaskClaim{ID: b, Force: true}} {
		w.must(person, force)
		if !w.task(b).has(FlagForced) {
			t.Errorf("%T leaves no mark", force)
		}
		if w.task(b).Status == Completed {
			w.must(person, &TaskUpdate{ID: b, Status: new("pending")})
		} else {
			w.must(person, &TaskRelease{ID: b})
		}
		if got := w.task(b); got.has(FlagForced) {
			t.Errorf("after %T and going back the task still says %v", force, got.Flags)
		}
	}
}
