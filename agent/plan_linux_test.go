package agent_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cadre"
)

// late is a store whose log tells late of a plan that was rejected.
type late struct{ cadre.Store }

func (s late) Events(ctx context.Context, of cadre.Scope, from cadre.Head, follow bool) iter.Seq2[cadre.Event, error] {
	return func(yield func(cadre.Event, error) bool) {
		for e, err := range s.Store.Events(ctx, of, from, follow) {
			if a, ok := e.After.(*cadre.Ask); ok && a.State == cadre.AskRejected {
				time.Sleep(300 * time.Millisecond)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestARefusedPlanIsAskedForOnce has a member look for work after its plan was refused
// and before its supervisor heard of that.
func TestARefusedPlanIsAskedForOnce(t *testing.T) {
	for _, mode := range []cadre.WorkMode{cadre.ModeSelfClaim, cadre.ModeDispatch} {
		t.Run(string(mode), func(t *testing.T) {
			w := newTeam(t)
			w.end()
			w.Store = late{w.Store}
			w.supervise()
			w.must("team mode", &cadre.TeamMode{Mode: mode})
			w.spawn("ann")
			id := w.must("task add", &cadre.TaskAdd{Subject: "gated", Run: "echo never >> ran", Plan: true}).(*cadre.Added).ID
			asks := func() (all []*cadre.Ask) {
				w.view(func(snap cadre.Snap) error {
					for a, err := range snap.Asks() {
						if err != nil {
							return err
						}
						if a.Kind == cadre.AskPlan {
							all = append(all, a)
						}
					}
					return nil
				})
				return all
			}
			w.until("its plan is asked for", func() bool { return len(asks()) == 1 })
			other := w.add("touch begun; until [ -e go ]; do sleep 0.01; done")
			w.until("ann does something else", func() bool { _, err := os.Stat(filepath.Join(w.dir, "begun")); return err == nil })
			w.must("ask reject", &cadre.AskReject{ID: asks()[0].ID, Text: "never"})
			if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			w.untilDone(other)
			w.until("it needs a person", func() bool { return slices.Contains(w.task(id).Flags, cadre.FlagPerson) })
			if n := len(asks()); n != 1 {
				t.Errorf("it was asked for %d times", n)
			}
			var person *cadre.Ask
			w.view(func(snap cadre.Snap) error {
				for a, err := range snap.OpenAsks() {
					if person = a; err != nil {
						return err
					}
				}
				return nil
			})
			w.must("ask approve", &cadre.AskApprove{ID: person.ID}) // try again
			w.until("its plan is asked for again", func() bool { return len(asks()) == 2 })
		})
	}
}
