//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
	"cadre/sqlitestore"
)

const scope = cadre.Scope("bench")

// clock is a clock of our own, so that a sender is not refused for sending much.
type clock struct{ n atomic.Int64 }

func (c *clock) now() cadre.Time {
	d := time.Duration(c.n.Add(1)) * time.Second
	return cadre.Time{Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(d), Boot: "boot", Up: d}
}

// caller carries out verbs on a store, as one member.
type caller struct {
	store cadre.Store
	clock *clock
	actor cadre.Actor
	n     *atomic.Int64 // command ids
}

func newCaller(s cadre.Store, name string) caller {
	return caller{s, &clock{}, cadre.Actor{Kind: cadre.ActorMember, Name: name, Proof: cadre.ProofOwner, By: "operator"}, &atomic.Int64{}}
}

// do commits one change.
func (c caller) do(verb string, v cadre.Change) error {
	cmd := cadre.Command{ID: cadre.CommandID(fmt.Sprintf("%s-%d", c.actor.Name, c.n.Add(1))), Actor: c.actor, Door: "bench", Verb: verb, Now: c.clock.now()}
	_, err := c.store.Update(context.Background(), scope, cmd, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, cmd) })
	return err
}

// put commits events that no verb made, to fill a store.
func (c caller) put(tb testing.TB, events []cadre.Event) {
	tb.Helper()
	cmd := cadre.Command{ID: cadre.CommandID(fmt.Sprintf("%s-%d", c.actor.Name, c.n.Add(1))), Actor: c.actor, Door: "bench", Verb: "fill", Now: c.clock.now()}
	_, err := c.store.Update(context.Background(), scope, cmd, func(cadre.Snap) ([]cadre.Event, error) { return events, nil })
	if err != nil {
		tb.Fatal(err)
	}
}

func openStore(tb testing.TB, dir string) *sqlitestore.Store {
	tb.Helper()
	s, err := sqlitestore.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// rate says how many commands a second so many callers get through.
func rate(tb testing.TB, callers int, slice time.Duration, one func(caller int) error) float64 {
	tb.Helper()
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for i := range callers {
		wg.Go(func() {
			for time.Since(began) < slice && failed.Load() == nil {
				if err := one(i); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		tb.Fatal(*err)
	}
	return float64(done.Load()) / time.Since(began).Seconds()
}

// walBytes measures how many bytes of log one durable change writes.
func walBytes(tb testing.TB, h home) int {
	tb.Helper()
	s := openStore(tb, filepath.Join(h.dir, "probe"))
	c := newCaller(s, "prober")
	size := func() int64 {
		if err := c.do("task add", &cadre.TaskAdd{Subject: "a task"}); err != nil {
			tb.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(h.dir, "probe", "cadre.db-wal"))
		if err != nil {
			tb.Fatal(err)
		}
		return info.Size()
	}
	for range 5 {
		size()
	}
	const n = 8
	first := size()
	var last int64
	for range n {
		last = size()
	}
	return int(last-first) / n
}
