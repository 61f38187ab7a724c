//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
	"cadre/claudedir"
	"cadre/sqlitestore"
)

// scope is where everything is that one list is enough for.
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
	scope cadre.Scope
	clock *clock
	actor cadre.Actor
	n     *atomic.Int64 // command ids
}

func newCaller(s cadre.Store, name string) caller {
	return caller{s, scope, &clock{}, cadre.Actor{Kind: cadre.ActorMember, Name: name, Proof: cadre.ProofOwner, By: "operator"}, &atomic.Int64{}}
}

// do commits one change.
func (c caller) do(verb string, v cadre.Change) error {
	cmd := cadre.Command{ID: cadre.CommandID(fmt.Sprintf("%s%s-%d", cadre.DrawnMark, c.actor.Name, c.n.Add(1))), Actor: c.actor, Door: "bench", Verb: verb, Now: c.clock.now()}
	_, err := c.store.Update(context.Background(), c.scope, cmd, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, cmd) })
	return err
}

// put commits events that no verb made, to fill a store.
func (c caller) put(tb testing.TB, events []cadre.Event) {
	tb.Helper()
	cmd := cadre.Command{ID: cadre.CommandID(fmt.Sprintf("%s-%d", c.actor.Name, c.n.Add(1))), Actor: c.actor, Door: "bench", Verb: "fill", Now: c.clock.now()}
	_, err := c.store.Update(context.Background(), c.scope, cmd, func(cadre.Snap) ([]cadre.Event, error) { return events, nil })
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

// openFiles opens a store whose lists stand in Claude Code's files as well.
func openFiles(tb testing.TB, h home) cadre.Store {
	tb.Helper()
	return claudedir.New(openStore(tb, h.state()), claudedir.Options{
		Dir: h.claude(), Memory: filepath.Join(h.state(), "claude"), Warn: tb.Errorf,
		Now: func() cadre.Time {
			now := time.Now()
			return cadre.Time{Wall: now, Boot: "boot", Up: time.Duration(now.UnixNano())}
		},
	})
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

// commitBytes measures how many bytes a process writes for one durable change of
// a list with some hundred tasks.
func commitBytes(tb testing.TB, h home, change func(c caller, n int) error) int {
	tb.Helper()
	c := newCaller(openStore(tb, filepath.Join(h.dir, "probe")), "prober")
	many := func(n int, change func(caller, int) error) {
		for i := range n {
			if err := change(c, i); err != nil {
				tb.Fatal(err)
			}
		}
	}
	const before, measured = 400, 40
	many(before, addTask)
	began := written(tb)
	many(measured, change)
	return (written(tb) - began) / measured
}

func addTask(c caller, n int) error {
	return c.do("task add", &cadre.TaskAdd{Subject: fmt.Sprint("a task of caller ", n)})
}

// changeTask changes the task that belongs to a caller.
func changeTask(c caller, n int) error {
	subject := fmt.Sprint("change ", c.n.Load(), " by caller ", n)
	return c.do("task update", &cadre.TaskUpdate{ID: cadre.TaskID(strconv.Itoa(n + 1)), Subject: &subject})
}

// written is how many bytes this process has passed to write calls.
func written(tb testing.TB) int {
	tb.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		tb.Skip("only Linux says how much a process wrote")
	}
	for l := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(l, "wchar:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Fatal("no wchar in /proc/self/io")
	return 0
}
