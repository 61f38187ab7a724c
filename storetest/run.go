// Package storetest holds what every cadre.Store must do: tests with Run, and
// measurements with Benchmark. It uses the verbs of the rule book, so that what
// is tested is what commands really write.
package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
)

// Run tests a store. Open gives an empty one each time, and closes it with the
// test.
func Run(t *testing.T, open func(t *testing.T) cadre.Store) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Update", updateTests()},
		{"Batch", batchTests()},
		{"Read", readTests()},
		{"Events", eventTests()},
		{"Move", moveTests()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, newBench(t, open(t)))
				})
			}
		})
	}
}

type test struct {
	name string
	run  func(*testing.T, *bench)
}

const list cadre.Scope = "storetest"

// operator may do everything, so that only the store is tested.
func operator() cadre.Actor {
	return cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofTerminal}
}

// bench is a store on the workbench.
type bench struct {
	testing.TB
	store cadre.Store
	count atomic.Int64
}

func newBench(tb testing.TB, s cadre.Store) *bench { return &bench{TB: tb, store: s} }

// command makes a new command; each is a millisecond later than the one before.
func (b *bench) command(verb string) cadre.Command {
	n := b.count.Add(1)
	return cadre.Command{
		ID: cadre.CommandID(fmt.Sprintf("command-%d", n)), Actor: operator(), Door: "test", Verb: verb,
		Now: cadre.Time{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(n) * time.Millisecond), Boot: "boot", Up: time.Duration(n) * time.Millisecond},
	}
}

// try runs a verb.
func (b *bench) try(s cadre.Scope, v cadre.Change) (cadre.Receipt, error) {
	return b.as(context.Background(), s, b.command(fmt.Sprintf("%T", v)), v)
}

func (b *bench) as(ctx context.Context, s cadre.Scope, c cadre.Command, v cadre.Change) (cadre.Receipt, error) {
	return b.store.Update(ctx, s, c, func(snap cadre.Snap) ([]cadre.Event, error) { return v.Decide(snap, c) })
}

// do runs a verb that must succeed.
func (b *bench) do(s cadre.Scope, v cadre.Change) cadre.Receipt {
	b.Helper()
	r, err := b.try(s, v)
	if err != nil {
		b.Fatalf("%T in %s: %v", v, s, err)
	}
	return r
}

// add creates a task and gives its id.
func (b *bench) add(s cadre.Scope, subject string, blockers ...cadre.TaskID) cadre.TaskID {
	b.Helper()
	r := b.do(s, &cadre.TaskAdd{Subject: subject, BlockedBy: blockers})
	for _, e := range r.Events {
		if t, ok := e.After.(*cadre.Task); ok && t.Subject == subject {
			return t.ID
		}
	}
	b.Fatalf("the receipt of a creation has no task: %+v", r)
	return ""
}

// head gives where a scope stands.
func (b *bench) head(s cadre.Scope) (h cadre.Head) {
	b.Helper()
	if err := b.store.View(b.Context(), s, func(snap cadre.Snap) error {
		h = snap.Head()
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return h
}

// log reads the whole log, in any place.
func (b *bench) log(s cadre.Scope) []cadre.Event {
	b.Helper()
	var out []cadre.Event
	for e, err := range b.store.Events(b.Context(), s, cadre.Head{}, false) {
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// work fills a scope with a bit of everything.
func (b *bench) work(s cadre.Scope) {
	b.Helper()
	b.do(s, &cadre.TeamCreate{Name: string(s)})
	b.do(s, &cadre.TeamJoin{Name: "anna"})
	b.do(s, &cadre.TeamJoin{Name: "ben"})
	one := b.add(s, "first")
	two := b.add(s, "second", one)
	b.add(s, "third", one, two)
	b.do(s, &cadre.TaskUpdate{ID: two, Owner: text("anna")})
	b.do(s, &cadre.TaskDone{ID: one})
	b.do(s, &cadre.MsgSend{To: "anna", Text: "hello"})
	b.do(s, &cadre.MsgSend{To: "ben", Text: "good morning"})
	for i := range 12 {
		b.add(s, fmt.Sprintf("more %d", i))
	}
	b.do(s, &cadre.TaskNext{Claim: true})
}

func text(s string) *string { return &s }
