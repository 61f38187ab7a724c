package soak_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"cadre"
	"cadre/claudefile"
)

// TestSoakThirdPartyChecks plants faults and wants each of them to be found: a
// projection that overwrites what it has not seen, an intake that looks at nothing,
// one that takes old copies for changes, one that loses mail, a file of somebody
// who is not served.
func TestSoakThirdPartyChecks(t *testing.T) {
	t.Parallel()
	for name, planted := range map[string]struct {
		move  string // after which of their moves it happens
		fault func(*beside)
		finds string
	}{
		"overwritten unseen": {"wrote in place", func(b *beside) { b.putBack() }, "should be"},
		"a new task lost": {"made a task", func(b *beside) {
			for path := range b.contents() {
				if before := b.past[path]; before == "" && strings.Contains(path, "tasks") {
					_ = os.Remove(path) // it is there
				}
			}
		}, "is not there"},
		"a deleted task put back": {"deleted a task", func(b *beside) { b.putBack() }, "should be"},
		"mail lost":               {"sent mail", func(b *beside) { b.putBack() }, "came: false"},
		"the team's file lost":    {"changed the team", func(b *beside) { b.putBack() }, "is not in the team"},
		"an old copy taken for a change": {"wrote in place", func(b *beside) {
			old := "words of long ago"
			b.intake(&cadre.Foreign{Tasks: []cadre.ForeignTask{{ID: "2", By: cadre.External, Subject: &old}}})
		}, "should be"},
		"nothing looked at": {"wrote in place", func(b *beside) { b.blind = true }, "the log says"},
		"an order that cannot be": {"wrote in place", func(b *beside) {
			for _, id := range []cadre.TaskID{"1", "2"} {
				b.corrupt(id, func(t *cadre.Task) { t.OpenBlockers = 7 })
			}
		}, "open blockers"},
	} {
		t.Run(name, func(t *testing.T) {
			found := 0
			for seed := range uint64(5) {
				b, err := newBeside(t.TempDir(), seed, false)
				if err != nil {
					t.Fatal(err)
				}
				err = b.planted(planted.move, planted.fault)
				if err != nil && !strings.Contains(err.Error(), planted.finds) {
					t.Errorf("found is something else: %v", err)
				}
				if err != nil {
					found++
				}
				if err := b.store.Close(); err != nil {
					t.Error(err)
				}
			}
			if found == 0 {
				t.Error("the fault is not found")
			}
		})
	}
}

// planted lets them move once, with a fault before the files are looked at.
func (b *beside) planted(move string, fault func(*beside)) error {
	for _, k := range theirMoves() {
		if k.name != move {
			continue
		}
		before, err := b.tasks()
		if err != nil {
			return err
		}
		b.past, b.faulty = b.contents(), fault
		m, err := k.do(b, before)
		if err != nil || m == nil {
			return errors.Join(err, errors.New("nothing to do"))
		}
		return b.checked(m)
	}
	return errors.New("there is no such move")
}

// putBack writes all files as they were, as somebody does who has not seen that
// they changed.
func (b *beside) putBack() {
	for path, data := range b.past {
		_ = os.WriteFile(path, []byte(data), 0o600) // the folder is there
	}
}

// intake takes something in that no file says.
func (b *beside) intake(v *cadre.Foreign) {
	c := cadre.Command{ID: "planted", Actor: cadre.External, Door: "file", Verb: "intake", Now: b.time()}
	_, err := b.inner.Update(context.Background(), b.scope, c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) })
	if err != nil {
		panic(err) // memory does not fail
	}
}

// corrupt changes a task in the log past all rules.
func (b *beside) corrupt(id cadre.TaskID, change func(*cadre.Task)) {
	c := cadre.Command{ID: cadre.CommandID("corrupt " + string(id)), Actor: cadre.Self, Door: "test", Verb: "corrupt", Now: b.time()}
	_, err := b.inner.Update(context.Background(), b.scope, c, func(s cadre.Snap) ([]cadre.Event, error) {
		t, err := s.Task(id)
		if err != nil {
			return nil, err
		}
		next := t.Clone()
		change(next)
		return []cadre.Event{{Object: t.Ref(), Before: t, After: next}}, nil
	})
	if err != nil {
		panic(err) // memory does not fail
	}
}

// TestSoakTogetherChecks shows that a field which only one side wrote, and lost, is
// found; that what they wrote must be in the log also where ours won; and that what they
// took away must be gone.
func TestSoakTogetherChecks(t *testing.T) {
	task := func(subject string) map[cadre.TaskID]*cadre.Task {
		return map[cadre.TaskID]*cadre.Task{"1": {ID: "1", Subject: subject, Status: cadre.Pending}}
	}
	says := func(words ...string) said {
		s := said{}
		for _, w := range words {
			s.add("1", "subject", w)
		}
		return s
	}
	for name, c := range map[string]struct {
		after             string
		theirs, ours, all said
		lost              bool
	}{
		"theirs alone":           {"they", says("they"), says(), says("they"), false},
		"theirs alone, lost":     {"old", says("they"), says(), says(), true},
		"ours alone, lost":       {"old", says(), says("we"), says("we", "old"), true},
		"both, theirs won":       {"they", says("they"), says("we"), says("we", "they"), false},
		"both, ours won":         {"we", says("they"), says("we"), says("they", "we"), false},
		"both, theirs never was": {"we", says("they"), says("we"), says("we"), true},
		"somebody else's":        {"third", says("they"), says("we"), says("they", "we"), true},
	} {
		if err := bothKept(task("old"), task(c.after), c.theirs, c.ours, c.all); (err != nil) != c.lost {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := newBeside(t.TempDir(), 0, true)
	if err != nil {
		t.Fatal(err)
	}
	defer b.store.Close()
	if err := b.kept(task("old"), task("old"), said{}, burst{gone: []cadre.TaskID{"1"}}, true); err == nil {
		t.Error("a task whose file they took away is still open, and nobody notices")
	}
	if diff := taskDiffers(&cadre.TaskView{ID: "1", Subject: "a", Status: cadre.Pending}, (&claudefile.Task{ID: "1", Subject: "b", Status: "pending"}).Write(nil)); diff == "" {
		t.Error("a file that says something else is not found")
	}
}
