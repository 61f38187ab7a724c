package storetest

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"cadre"
)

func moveTests() []test {
	return []test{
		{"archive and restore", archive},
		{"rename", rename},
		{"rename to a taken name", taken},
		{"gone", gone},
		{"a scope that does not exist", nowhere},
		{"moving twice", twice},
		{"erasing and renaming at once", race},
	}
}

func (b *bench) move(s cadre.Scope, to cadre.Dest) cadre.Receipt {
	b.Helper()
	r, err := b.store.Move(b.Context(), s, b.command("move"), to)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bench) places() map[cadre.Scope]cadre.Where {
	b.Helper()
	out := map[cadre.Scope]cadre.Where{}
	for info, err := range b.store.Scopes(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		out[info.Scope] = info.Where
	}
	return out
}

func archive(t *testing.T, b *bench) {
	b.add(list, "kept")
	head := b.head(list)
	r := b.move(list, cadre.Dest{Where: cadre.Archive})
	if len(r.Events) != 1 || r.Head.Seq != head.Seq+1 || r.Head.Epoch != head.Epoch {
		t.Fatalf("receipt %+v after %+v", r, head)
	}
	missing := &cadre.Error{Code: cadre.CodeNotFound, Rule: cadre.RuleMissing}
	_, err := b.try(list, &cadre.TaskAdd{Subject: "never"})
	for _, err := range []error{err, b.store.View(t.Context(), list, func(cadre.Snap) error { return nil })} {
		if !errors.Is(err, missing) || !strings.Contains(cadre.AsError(err).Hint, "cadre team restore "+string(list)) {
			t.Fatalf("an archived scope: %v, hint %q", err, cadre.AsError(err).Hint)
		}
	}
	if n := len(b.log(list)); n != 3 {
		t.Fatalf("the archived log has %d events, want 3", n)
	}
	if err := b.store.At(t.Context(), list, head.Seq, func(s cadre.Snap) error {
		task, err := s.Task("1")
		if err == nil && task == nil {
			err = errors.New("the task is not there")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := b.places()[list]; got != cadre.Archive {
		t.Fatalf("the scope is listed as %q", got)
	}
	b.move(list, cadre.Dest{Where: cadre.Live})
	if id := b.add(list, "again"); id != "2" {
		t.Fatalf("after the restore the next id is %s", id)
	}
	b.audit()
}

func rename(t *testing.T, b *bench) {
	b.add(list, "travels")
	epoch := b.head(list).Epoch
	b.move(list, cadre.Dest{Name: "new-name"})
	if b.head(list).Seq != 0 {
		t.Fatal("the old name still has a log")
	}
	if h := b.head("new-name"); h.Epoch != epoch || h.Seq != 3 {
		t.Fatalf("under the new name the head is %+v", h)
	}
	b.add("new-name", "second")
	b.add(list, "a new list under the old name")
	if got := b.places(); got["new-name"] != cadre.Live || got[list] != cadre.Live {
		t.Fatalf("the scopes are %v", got)
	}
	if b.head(list).Epoch == epoch {
		t.Fatal("the new list has the old one's epoch")
	}
	b.audit()
}

func taken(t *testing.T, b *bench) {
	b.add(list, "here")
	b.add("other", "there")
	exists := &cadre.Error{Code: cadre.CodeConflict, Rule: cadre.RuleExists}
	if _, err := b.store.Move(t.Context(), list, b.command("move"), cadre.Dest{Name: "other"}); !errors.Is(err, exists) {
		t.Fatalf("Move() error = %v", err)
	}
	b.move("other", cadre.Dest{Where: cadre.Archive})
	if _, err := b.store.Move(t.Context(), list, b.command("move"), cadre.Dest{Name: "other"}); !errors.Is(err, exists) {
		t.Fatalf("Move() to an archived name: %v", err)
	}
	if len(b.log(list)) != 2 {
		t.Fatal("a refused move was recorded")
	}
}

func gone(t *testing.T, b *bench) {
	b.work(list)
	epoch := b.head(list).Epoch
	b.add("other", "stays")
	b.move(list, cadre.Dest{Where: cadre.Gone})
	if got := b.places(); len(got) != 1 || got["other"] != cadre.Live {
		t.Fatalf("the scopes are %v", got)
	}
	if len(b.log(list)) != 0 || b.head(list).Seq != 0 {
		t.Fatal("something is left of the scope")
	}
	if id := b.add(list, "a fresh start"); id != "1" {
		t.Fatalf("the first task is %s", id)
	}
	if h := b.head(list); h.Epoch == epoch || h.Seq != 2 {
		t.Fatalf("the new log stands at %+v", h)
	}
	b.audit()
}

func nowhere(t *testing.T, b *bench) {
	for _, to := range []cadre.Dest{{Where: cadre.Archive}, {Where: cadre.Live}, {Where: cadre.Gone}, {Name: "new"}} {
		if _, err := b.store.Move(t.Context(), list, b.command("move"), to); !errors.Is(err, cadre.ErrNotFound) {
			t.Fatalf("Move(%+v) error = %v", to, err)
		}
	}
	if got := b.places(); len(got) != 0 {
		t.Fatalf("a refused move left %v", got)
	}
}

func twice(t *testing.T, b *bench) {
	b.add(list, "task")
	b.move(list, cadre.Dest{Where: cadre.Archive})
	if r := b.move(list, cadre.Dest{Where: cadre.Archive}); len(r.Events) != 0 {
		t.Fatalf("archiving again wrote %+v", r.Events)
	}
	c := b.command("move")
	for i := range 2 {
		r, err := b.store.Move(t.Context(), list, c, cadre.Dest{Where: cadre.Live, Name: "renamed"})
		if err != nil || r.Replayed != (i == 1) {
			t.Fatalf("move %d: %+v, %v", i, r, err)
		}
	}
	if got := b.places(); len(got) != 1 || got["renamed"] != cadre.Live {
		t.Fatalf("the scopes are %v", got)
	}
}

// race erases a list while it is renamed: one of the two finds it gone.
func race(t *testing.T, b *bench) {
	for range 50 {
		b.add(list, "task")
		var wg sync.WaitGroup
		var errs [2]error
		for i, to := range []cadre.Dest{{Where: cadre.Gone}, {Name: "renamed"}} {
			c := b.command("move")
			wg.Go(func() { _, errs[i] = b.store.Move(t.Context(), list, c, to) })
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("erasing: %v, renaming: %v", errs[0], errs[1])
		}
		if errs[1] == nil {
			b.move("renamed", cadre.Dest{Where: cadre.Gone})
		}
		if got := b.places(); len(got) != 0 {
			t.Fatalf("the scopes are %v", got)
		}
	}
}
