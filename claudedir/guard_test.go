package claudedir_test

import (
	"os"
	"testing"
	"time"

	"cadre"
)

// guarded is a team with ann and bob, a guard, and a diary that says who wrote.
func guarded(t *testing.T, wrote string) *world {
	w := newWorld(t)
	w.clock = time.Now().Add(-time.Minute) // long ago, so that nothing is taken for an old copy
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.must(&cadre.TeamJoin{Name: "ann"})
	w.must(&cadre.TeamJoin{Name: "bob"})
	w.add("one")
	w.add("two", "1")
	w.add("three")
	owner := "bob"
	w.must(&cadre.TaskUpdate{ID: "1", Owner: &owner})
	w.clock = time.Time{}
	w.who = diary{wrote: wrote}
	w.open().GuardFiles()
	return w
}

func TestTheGuardPutsBackWhatAMemberMayNot(t *testing.T) {
	for name, tt := range map[string]struct {
		write func(*world)
		after func(*world) bool
	}{
		"rewording": {
			func(w *world) { w.edit("1", map[string]any{"subject": "mine"}) },
			func(w *world) bool { return w.task("1").Subject == "one" && w.file("1").Subject == "one" },
		},
		"completing somebody else's task": {
			func(w *world) { w.edit("1", map[string]any{"status": "completed"}) },
			func(w *world) bool {
				return w.task("1").Status == cadre.Pending && w.file("1").Status == "pending" && w.task("2").State == cadre.TaskBlocked
			},
		},
		"taking somebody else's task": {
			func(w *world) { w.edit("1", map[string]any{"owner": "ann"}) },
			func(w *world) bool { return w.task("1").Owner == "bob" && w.file("1").Owner == "bob" },
		},
		"removing an edge": {
			func(w *world) { w.edit("2", map[string]any{"blockedBy": []string{}}) },
			func(w *world) bool { return len(w.task("2").BlockedBy) == 1 && len(w.file("2").BlockedBy) == 1 },
		},
		"noting something on somebody else's task": {
			func(w *world) { w.edit("1", map[string]any{"metadata": map[string]any{"result": "mine"}}) },
			func(w *world) bool {
				return w.task("1").Metadata["result"] == nil && w.task("1").Result == nil && w.file("1").Metadata == nil
			},
		},
		"saying what somebody else does": {
			func(w *world) { w.edit("1", map[string]any{"activeForm": "resting"}) },
			func(w *world) bool { return w.task("1").ActiveForm == "" && w.file("1").ActiveForm == "" },
		},
		"ranking a task of the plan": {
			func(w *world) { w.edit("2", map[string]any{"metadata": map[string]any{"priority": "urgent"}}) },
			func(w *world) bool { return w.task("2").Priority == 0 && w.file("2").Metadata == nil },
		},
		"letting somebody else's task wait": {
			func(w *world) { w.edit("1", map[string]any{"blockedBy": []string{"3"}}) },
			func(w *world) bool {
				return len(w.task("1").BlockedBy) == 0 && len(w.file("1").BlockedBy) == 0 && len(w.file("3").Blocks) == 0
			},
		},
		"letting it wait from the other side": {
			func(w *world) { w.edit("3", map[string]any{"blocks": []string{"1"}}) },
			func(w *world) bool {
				return len(w.task("1").BlockedBy) == 0 && len(w.file("1").BlockedBy) == 0 && len(w.file("3").Blocks) == 0
			},
		},
		"deleting": {
			func(w *world) { os.Remove(w.taskPath("1")) },
			func(w *world) bool { return w.task("1").Status == cadre.Pending && !w.gone(w.taskPath("1")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := guarded(t, "ann")
			tt.write(w)
			w.ids()
			if !tt.after(w) {
				t.Errorf("it stands: %+v, and in the file %+v", w.task("1"), w.file("1"))
			}
			told := false
			for _, m := range w.mail(cadre.LeadName) {
				told = told || m.Kind == cadre.MessageNotice
			}
			if !told {
				t.Error("the lead was not told")
			}
			w.check()
		})
	}
}

// Without a guard, and for what nobody can be blamed for, a foreign write stands;
// and a member may do through a file what it may do through a door.
func TestTheGuardLeavesTheRest(t *testing.T) {
	w := guarded(t, "")
	w.edit("1", map[string]any{"status": "completed"})
	if got := w.task("1"); got.Status != cadre.Completed {
		t.Errorf("what nobody is known to have written was put back: %s", got.Status)
	}
	w = guarded(t, "bob")
	w.edit("1", map[string]any{"status": "in_progress"})
	if got := w.task("1"); got.Status != cadre.InProgress {
		t.Errorf("the owner may not start its own task: %s", got.Status)
	}
	w.edit("1", map[string]any{"activeForm": "working", "metadata": map[string]any{"note": 1}, "blockedBy": []string{"3"}})
	if got := w.task("1"); got.ActiveForm != "working" || got.Metadata["note"] == nil || len(got.BlockedBy) != 1 {
		t.Errorf("the owner may not write about its own task: %+v", got)
	}
	w.edit("3", map[string]any{"owner": "bob", "status": "in_progress"})
	if got := w.task("3"); got.Owner != "bob" || got.Status != cadre.InProgress {
		t.Errorf("a free task cannot be taken: %s, %s", got.Owner, got.Status)
	}
	w = guarded(t, "ann")
	w.open() // no guard
	w.edit("1", map[string]any{"status": "completed"})
	if got := w.task("1"); got.Status != cadre.Completed {
		t.Errorf("without a guard it was put back: %s", got.Status)
	}
}
