package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"cadre"
)

func batchTests() []test {
	return []test{
		{"all of a command or nothing", atomicCommand},
		{"one of many claimers wins", oneWins},
		{"each decides on the one before", eachSeesTheLast},
		{"a big command with its progress", bigCommand},
		{"readers see whole commands", wholeCommands},
	}
}

// tasks makes the events that create n tasks from the scope's next id on.
func tasks(s cadre.Snap, n int) []cadre.Event {
	events := make([]cadre.Event, n)
	for i := range events {
		id := cadre.TaskID(fmt.Sprint(max(1, s.Head().Next) + uint64(i)))
		events[i].After = &cadre.Task{
			ID: id, Subject: "task " + string(id), Description: "what is to be done in task " + string(id) + ", in a line or two as people write them",
			Status: cadre.Pending, Version: 1, Author: "operator",
		}
	}
	return events
}

func atomicCommand(t *testing.T, b *bench) {
	b.add(list, "before")
	before := b.head(list)
	boom := errors.New("half way")
	_, err := b.store.Update(t.Context(), list, b.command("half"), func(s cadre.Snap) ([]cadre.Event, error) { return tasks(s, 3), boom })
	if !errors.Is(err, boom) {
		t.Fatalf("Update() error = %v, want %v", err, boom)
	}
	if b.head(list) != before {
		t.Fatal("a command that failed was written in part")
	}
	r, err := b.store.Update(t.Context(), list, b.command("whole"), func(s cadre.Snap) ([]cadre.Event, error) { return tasks(s, 3), nil })
	if err != nil || len(r.Events) != 3 || r.Head.Seq != before.Seq+3 || r.Head.Next != before.Next+3 {
		t.Fatalf("receipt %+v, error %v", r, err)
	}
	if r.Head != b.head(list) {
		t.Fatalf("the receipt says %+v, the store %+v", r.Head, b.head(list))
	}
}

func oneWins(t *testing.T, b *bench) {
	b.do(list, &cadre.TeamCreate{Name: string(list)})
	for i := range 16 {
		b.do(list, &cadre.TeamJoin{Name: fmt.Sprintf("m%d", i)})
	}
	id := b.add(list, "wanted")
	var wg sync.WaitGroup
	var won atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			c := b.command("claim")
			c.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: fmt.Sprintf("m%d", i), Scope: list, Proof: cadre.ProofToken}
			_, err := b.as(context.Background(), list, c, &cadre.TaskClaim{ID: id})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, cadre.ErrConflict):
				t.Errorf("a claim that lost: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d claimers won", won.Load())
	}
}

func eachSeesTheLast(t *testing.T, b *bench) {
	var wg sync.WaitGroup
	for range 48 {
		wg.Go(func() {
			r, err := b.store.Update(context.Background(), list, b.command("one"), func(s cadre.Snap) ([]cadre.Event, error) {
				n, err := s.Count(cadre.Index(cadre.KindTask), "")
				if err != nil {
					return nil, err
				}
				if want := max(1, s.Head().Next); uint64(n)+1 != want {
					return nil, fmt.Errorf("%d tasks are seen and the next id is %d", n, want)
				}
				return tasks(s, 1), nil
			})
			if err != nil || len(r.Events) == 0 {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if h := b.head(list); h.Next != 49 {
		t.Fatalf("the next id is %d, want 49", h.Next)
	}
	b.indexes(list)
}

func bigCommand(t *testing.T, b *bench) {
	const n = 5000
	last, calls := 0, 0
	ctx := cadre.WithProgress(t.Context(), func(done, total int) {
		calls++
		if done <= last || total < n {
			t.Errorf("progress went from %d to %d of %d", last, done, total)
		}
		last = done
	})
	r, err := b.store.Update(ctx, list, b.command("import"), func(s cadre.Snap) ([]cadre.Event, error) { return tasks(s, n), nil })
	if err != nil {
		t.Fatal(err)
	}
	if last != len(r.Events) || calls < 2 {
		t.Fatalf("progress ended at %d of %d after %d calls", last, len(r.Events), calls)
	}
	if err := b.store.View(t.Context(), list, func(s cadre.Snap) error {
		seen := 0
		for task, err := range s.Tasks(cadre.TaskQuery{}) {
			seen++
			if err != nil || task.ID != cadre.TaskID(fmt.Sprint(seen)) {
				return fmt.Errorf("the task at place %d is %+v: %w", seen, task, err)
			}
		}
		if seen != n {
			return fmt.Errorf("%d tasks, want %d", seen, n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// wholeCommands: every command creates three tasks, so a reader never sees any
// other number of them.
func wholeCommands(t *testing.T, b *bench) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := b.store.View(context.Background(), list, func(s cadre.Snap) error {
					n, err := s.Count(cadre.Index(cadre.KindTask), "")
					if err == nil && n%3 != 0 {
						err = fmt.Errorf("a reader saw %d tasks", n)
					}
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 40 {
		if _, err := b.store.Update(t.Context(), list, b.command("three"), func(s cadre.Snap) ([]cadre.Event, error) { return tasks(s, 3), nil }); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}
