package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
)

// Benchmark measures a store. Open gives an empty one each time, and closes it
// with the benchmark.
func Benchmark(b *testing.B, open func(b *testing.B) cadre.Store) {
	b.Run("add/callers=1", func(b *testing.B) {
		w := newBench(b, open(b))
		for b.Loop() {
			w.do(list, &cadre.TaskAdd{Subject: "a task like any other"})
		}
	})
	b.Run("add/callers=64", func(b *testing.B) { manyAdds(b, newBench(b, open(b)), 64) })
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("list/tasks=%d", n), func(b *testing.B) {
			w := newBench(b, open(b))
			w.fill(n)
			for b.Loop() {
				w.list(n)
			}
		})
	}
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("next/tasks=%d", n), func(b *testing.B) {
			w := newBench(b, open(b))
			w.fill(n)
			for b.Loop() {
				w.next()
			}
		})
	}
	b.Run("send/messages=100000", func(b *testing.B) {
		w := newBench(b, open(b))
		w.mail(100_000)
		for b.Loop() {
			w.count.Add(1000) // a second later, so that the rate limit has nothing to say
			w.do(list, &cadre.MsgSend{To: "anna", Text: fmt.Sprintf("message %d", w.count.Load())})
		}
	})
	b.Run("wake", func(b *testing.B) { wake(b, newBench(b, open(b))) })
}

// manyAdds has many callers share the work.
func manyAdds(b *testing.B, w *bench, callers int) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				w.do(list, &cadre.TaskAdd{Subject: "a task like any other"})
			}
		})
	}
	wg.Wait()
}

// fill creates tasks in one command.
func (b *bench) fill(n int) {
	b.Helper()
	if _, err := b.store.Update(context.Background(), list, b.command("fill"), func(s cadre.Snap) ([]cadre.Event, error) { return tasks(s, n), nil }); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) list(want int) {
	b.Helper()
	n := 0
	if err := b.store.View(context.Background(), list, func(s cadre.Snap) error {
		for _, err := range s.Tasks(cadre.TaskQuery{}) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	}); err != nil || n != want {
		b.Fatalf("%d tasks, want %d: %v", n, want, err)
	}
}

// next claims a task for somebody new and gives it back, so that there is always
// one to claim.
func (b *bench) next() {
	b.Helper()
	c := b.command("next")
	c.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: "worker", Scope: list, Proof: cadre.ProofOwner, By: "operator"}
	r, err := b.as(context.Background(), list, c, &cadre.TaskNext{Claim: true})
	if err != nil {
		b.Fatal(err)
	}
	b.do(list, &cadre.TaskRelease{ID: taskOf(r)})
}

func taskOf(r cadre.Receipt) cadre.TaskID {
	for _, e := range r.Events {
		if t, ok := e.After.(*cadre.Task); ok {
			return t.ID
		}
	}
	return ""
}

// mail makes a team with messages that were read long ago.
func (b *bench) mail(n int) {
	b.Helper()
	b.do(list, &cadre.TeamCreate{Name: string(list)})
	b.do(list, &cadre.TeamJoin{Name: "anna"})
	if _, err := b.store.Update(context.Background(), list, b.command("fill"), func(s cadre.Snap) ([]cadre.Event, error) {
		events := make([]cadre.Event, n)
		at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range events {
			number := uint64(s.Head().Seq) + 1 + uint64(i)
			events[i].After = &cadre.Message{
				ID: cadre.MessageID(fmt.Sprintf("m%d", number)), N: number, From: cadre.LeadName, To: "anna", Kind: cadre.MessagePlain,
				Text: fmt.Sprintf("old message %d", i), SentAt: at, ReadAt: &at,
			}
		}
		return events, nil
	}); err != nil {
		b.Fatal(err)
	}
}

// wake measures from the moment that a command is durable to the moment that a
// waiting follower has its event, and reports the 99th percentile.
func wake(b *testing.B, w *bench) {
	w.add(list, "first")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events, _ := follower(ctx, w, list, w.head(list))
	var waits []time.Duration
	for b.Loop() {
		w.add(list, "wake up")
		durable := time.Now()
		<-events
		waits = append(waits, time.Since(durable))
	}
	reportPercentile(b, waits)
}
