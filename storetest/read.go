package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"

	"cadre"
)

func readTests() []test {
	return []test{
		{"an empty scope", emptyScope},
		{"now, then and overlay are the same", sameEverywhere},
		{"indexes are what the objects say", indexesMatch},
		{"history of one object", history},
		{"prefix and after", prefixAndAfter},
		{"a list within a list", nestedScans},
		{"an event that is not there", noSuchEvent},
	}
}

func emptyScope(t *testing.T, b *bench) {
	if err := b.store.View(t.Context(), "nowhere", func(s cadre.Snap) error {
		task, err := s.Task("1")
		if err != nil || task != nil || s.Scope() != "nowhere" || s.Head() != (cadre.Head{}) || s.NextID() != "1" {
			return fmt.Errorf("task %+v, scope %s, head %+v: %w", task, s.Scope(), s.Head(), err)
		}
		for range s.Tasks(cadre.TaskQuery{}) {
			return errors.New("an empty scope has tasks")
		}
		for range s.History(cadre.Ref{Kind: cadre.KindTask, ID: "1"}) {
			return errors.New("an empty scope has history")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// everything is all objects of a scope as JSON, and the order in every index.
func everything(s cadre.Snap, log []cadre.Event) (map[string]string, error) {
	out := map[string]string{}
	indexes := map[cadre.Index]bool{}
	for _, e := range log {
		o, err := s.Get(e.Object)
		if err != nil {
			return nil, err
		}
		image, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		out[e.Object.String()] = string(image)
		for _, o := range []cadre.Object{e.Before, e.After} {
			for _, entry := range cadre.Entries(o) {
				indexes[entry.Index] = true
			}
		}
	}
	for i := range indexes {
		order, n := "", 0
		for o, err := range s.Scan(i, "", "") {
			if err != nil {
				return nil, err
			}
			order += o.Ref().String() + ";"
			n++
		}
		count, err := s.Count(i, "")
		if err != nil || count != n {
			return nil, fmt.Errorf("index %s counts %d and gives %d: %w", i, count, n, err)
		}
		out["index "+string(i)] = order
	}
	return out, nil
}

func sameEverywhere(t *testing.T, b *bench) {
	b.work(list)
	log := b.log(list)
	for _, at := range []int{1, 3, len(log) / 2, len(log) - 1, len(log)} {
		var replayed cadre.State
		replayed.Name = list
		replayed.Apply(log[:at]...)
		want, err := everything(cadre.Snap{Source: &replayed}, log)
		if err != nil {
			t.Fatal(err)
		}
		compare := func(what string, s cadre.Snap) error {
			got, err := everything(s, log)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if !maps.Equal(got, want) {
				return fmt.Errorf("%s at event %d:\n%v\nwant\n%v", what, at, got, want)
			}
			return nil
		}
		if err := b.store.At(t.Context(), list, log[at-1].Seq, func(s cadre.Snap) error {
			if s.Head() != replayed.Head() {
				return fmt.Errorf("head %+v, want %+v", s.Head(), replayed.Head())
			}
			return compare("At", s)
		}); err != nil {
			t.Fatal(err)
		}
		if err := b.store.At(t.Context(), list, log[at/2].Seq, func(s cadre.Snap) error {
			return compare("Overlay", cadre.Overlay(s, log[at/2+1:max(at, at/2+1)]))
		}); at > 1 && err != nil {
			t.Fatal(err)
		}
		if at < len(log) {
			continue
		}
		if err := b.store.View(t.Context(), list, func(s cadre.Snap) error { return compare("View", s) }); err != nil {
			t.Fatal(err)
		}
	}
}

// indexes compares every index with one made anew of the objects.
func (b *bench) indexes(s cadre.Scope) {
	b.Helper()
	if err := b.store.View(b.Context(), s, func(snap cadre.Snap) error {
		want := map[cadre.Index]map[cadre.Ref]int{}
		for _, e := range b.log(s) {
			o, err := snap.Get(e.Object)
			if err != nil {
				return err
			}
			for _, entry := range cadre.Entries(o) {
				if want[entry.Index] == nil {
					want[entry.Index] = map[cadre.Ref]int{}
				}
				want[entry.Index][e.Object] = len(entriesOf(o, entry.Index))
			}
		}
		for i, refs := range want {
			got := map[cadre.Ref]int{}
			for o, err := range snap.Scan(i, "", "") {
				if err != nil {
					return err
				}
				got[o.Ref()]++
			}
			if !maps.Equal(got, refs) {
				return fmt.Errorf("index %s holds %v, want %v", i, got, refs)
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}

func entriesOf(o cadre.Object, i cadre.Index) (keys []string) {
	for _, e := range cadre.Entries(o) {
		if e.Index == i {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

func indexesMatch(t *testing.T, b *bench) {
	b.work(list)
	b.indexes(list)
	b.do(list, &cadre.TaskUpdate{ID: "3", Reference: []cadre.TaskID{"1"}})
	b.do(list, &cadre.TaskUpdate{ID: "3", Unreference: []cadre.TaskID{"1"}})
	b.do(list, &cadre.TaskRemove{ID: "4"})
	b.indexes(list)
	b.audit()
}

func history(t *testing.T, b *bench) {
	id := b.add(list, "one")
	for _, subject := range []string{"two", "three"} {
		b.do(list, &cadre.TaskUpdate{ID: id, Subject: text(subject)})
	}
	last := b.head(list).Seq
	subjects := func(s cadre.Snap) (got []string) {
		for e, err := range s.History(cadre.Ref{Kind: cadre.KindTask, ID: string(id)}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.After.(*cadre.Task).Subject)
		}
		return got
	}
	if err := b.store.View(t.Context(), list, func(s cadre.Snap) error {
		if got := fmt.Sprint(subjects(s)); got != "[three two one]" {
			return fmt.Errorf("the history is %s", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.store.At(t.Context(), list, last-1, func(s cadre.Snap) error {
		if got := fmt.Sprint(subjects(s)); got != "[two one]" {
			return fmt.Errorf("the history was %s", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func prefixAndAfter(t *testing.T, b *bench) {
	b.work(list)
	if err := b.store.View(t.Context(), list, func(s cadre.Snap) error {
		var all, rest []cadre.TaskID
		for task, err := range s.Tasks(cadre.TaskQuery{Index: cadre.IndexStatus, Key: string(cadre.Pending)}) {
			if err != nil || task.Status != cadre.Pending {
				return fmt.Errorf("%+v: %w", task, err)
			}
			all = append(all, task.ID)
		}
		for task, err := range s.Tasks(cadre.TaskQuery{Index: cadre.IndexStatus, Key: string(cadre.Pending), Cursor: all[2]}) {
			if err != nil {
				return err
			}
			rest = append(rest, task.ID)
		}
		if fmt.Sprint(all[3:]) != fmt.Sprint(rest) {
			return fmt.Errorf("after %s come %v of %v", all[2], rest, all)
		}
		n := 0
		for m, err := range s.Inbox("anna", 0) {
			if err != nil || m.To != "anna" {
				return fmt.Errorf("%+v: %w", m, err)
			}
			n++
		}
		if n == 0 {
			return errors.New("anna has no mail")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func nestedScans(t *testing.T, b *bench) {
	b.work(list)
	if err := b.store.View(t.Context(), list, func(s cadre.Snap) error {
		outer := 0
		for a, err := range s.Tasks(cadre.TaskQuery{}) {
			if err != nil {
				return err
			}
			outer++
			inner := 0
			for c, err := range s.Tasks(cadre.TaskQuery{}) {
				if err != nil {
					return err
				}
				if inner++; c.ID == a.ID {
					break
				}
			}
			if inner != outer {
				return fmt.Errorf("task %s stands at %d and at %d", a.ID, outer, inner)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func noSuchEvent(t *testing.T, b *bench) {
	b.add(list, "task")
	err := b.store.At(t.Context(), list, 99, func(cadre.Snap) error { return nil })
	if !errors.Is(err, &cadre.Error{Code: cadre.CodeNotFound, Rule: cadre.RuleMissing}) {
		t.Fatalf("At() error = %v", err)
	}
	if err := b.store.At(t.Context(), list, 0, func(s cadre.Snap) error {
		if s.Head().Seq != 0 {
			return fmt.Errorf("head %+v", s.Head())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
