package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"cadre"
)

func updateTests() []test {
	return []test{
		{"order and chain", orderAndChain},
		{"replay by command id", replay},
		{"a drawn command id", drawn},
		{"a refused command writes nothing", refused},
		{"no events write nothing", noEvents},
		{"a panic in Decide harms nobody", panics},
		{"a context that ended writes nothing", cancelled},
		{"commands of many callers", manyCallers},
		{"scopes are apart", apart},
		{"a caller's slice is its own", ownSlices},
	}
}

func orderAndChain(t *testing.T, b *bench) {
	b.work(list)
	head := b.head(list)
	prev, next := "", cadre.Seq(1)
	for _, e := range b.log(list) {
		if e.Seq != next || e.Prev != prev {
			t.Fatalf("event %d has number %d and follows %q, want %q", next, e.Seq, e.Prev, prev)
		}
		if e.Scope != list || e.Object.Kind == "" || e.Hash == "" || e.Command == "" {
			t.Fatalf("event %d is not filled in: %+v", e.Seq, e)
		}
		prev, next = e.Hash, next+1
	}
	if head.Seq != next-1 || head.Hash != prev || head.Epoch == "" {
		t.Fatalf("the head is %+v, the log ends with %d %s", head, next-1, prev)
	}
	b.audit()
}

// audit has a store that can look at itself, and wants nothing found.
func (b *bench) audit() {
	b.Helper()
	a, ok := b.store.(cadre.Auditor)
	if !ok {
		return
	}
	report, err := a.Audit(b.Context(), []cadre.Anchor{{Scope: list, Head: b.head(list), From: "the test"}})
	if err != nil {
		b.Fatal(err)
	}
	if len(report.Findings) > 0 || report.Events == 0 {
		b.Fatalf("an untouched store has findings, or nothing was looked at: %+v", report)
	}
}

func replay(t *testing.T, b *bench) {
	c := b.command("add")
	first, err := b.as(t.Context(), list, c, &cadre.TaskAdd{Subject: "once"})
	if err != nil {
		t.Fatal(err)
	}
	b.add(list, "between")
	decided := false
	again, err := b.store.Update(t.Context(), list, c, func(cadre.Snap) ([]cadre.Event, error) {
		decided = true
		return nil, nil
	})
	if err != nil || decided || !again.Replayed || first.Replayed {
		t.Fatalf("decided again = %t, receipts %+v and %+v, error %v", decided, first, again, err)
	}
	last := first.Events[len(first.Events)-1]
	if n := len(again.Events); n == 0 || again.Events[n-1].Hash != last.Hash {
		t.Fatalf("the replayed receipt holds %+v, want %+v", again.Events, last)
	}
	if n := len(b.log(list)); n != 3 {
		t.Fatalf("the log has %d events, want 3", n)
	}
}

// drawn checks that stores agree about an id that nobody else can have.
func drawn(t *testing.T, b *bench) {
	c := b.command("add")
	c.ID = cadre.DrawnMark + c.ID
	for range 2 {
		if r, err := b.as(t.Context(), list, c, &cadre.TaskAdd{Subject: "each time"}); err != nil || r.Replayed {
			t.Fatalf("receipt %+v, error %v", r, err)
		}
	}
	if n := len(b.log(list)); n != 3 {
		t.Fatalf("the log has %d events, want 3", n)
	}
}

func refused(t *testing.T, b *bench) {
	if _, err := b.try(list, &cadre.TaskClaim{ID: "7"}); !errors.Is(err, cadre.ErrNotFound) {
		t.Fatalf("claiming a task that is not there: %v", err)
	}
	if h := b.head(list); h != (cadre.Head{}) {
		t.Fatalf("a refused command opened the log: %+v", h)
	}
	b.add(list, "task")
	before := b.head(list)
	if _, err := b.try(list, &cadre.TaskClaim{ID: "7"}); !errors.Is(err, cadre.ErrNotFound) {
		t.Fatalf("claiming a task that is not there: %v", err)
	}
	if h := b.head(list); h != before {
		t.Fatalf("the head moved from %+v to %+v", before, h)
	}
}

func noEvents(t *testing.T, b *bench) {
	r, err := b.store.Update(t.Context(), list, b.command("nothing"), func(cadre.Snap) ([]cadre.Event, error) { return nil, nil })
	if err != nil || len(r.Events) > 0 || b.head(list) != (cadre.Head{}) {
		t.Fatalf("receipt %+v, head %+v, error %v", r, b.head(list), err)
	}
	for info := range b.store.Scopes(t.Context()) {
		t.Fatalf("a scope without events is listed: %+v", info)
	}
}

func panics(t *testing.T, b *bench) {
	b.add(list, "before")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := b.store.Update(context.Background(), list, b.command("panic"), func(cadre.Snap) ([]cadre.Event, error) { panic("on purpose") })
			if err == nil {
				t.Error("a panic was not reported")
			}
		})
		wg.Go(func() { b.add(list, fmt.Sprintf("beside %d", i)) })
	}
	wg.Wait()
	b.add(list, "after")
	if n := len(b.log(list)); n != 11 {
		t.Fatalf("the log has %d events, want 11", n)
	}
}

func cancelled(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.as(ctx, list, b.command("add"), &cadre.TaskAdd{Subject: "never"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Update() error = %v, want %v", err, context.Canceled)
	}
	if err := b.store.View(ctx, list, func(cadre.Snap) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatalf("View() error = %v, want %v", err, context.Canceled)
	}
	b.add(list, "task")
	before := b.head(list)
	inside, leave := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		_, err := b.store.Update(context.Background(), list, b.command("hold"), func(cadre.Snap) ([]cadre.Event, error) {
			close(inside)
			<-leave
			return nil, nil
		})
		held <- err
	}()
	<-inside
	waiting, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	queued := make(chan error, 1)
	go func() {
		_, err := b.as(waiting, list, b.command("add"), &cadre.TaskAdd{Subject: "never"})
		queued <- err
	}()
	<-waiting.Done()
	close(leave)
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	if err := <-queued; !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a command whose context ended in the queue: %v", err)
	}
	if b.head(list) != before {
		t.Fatal("it was written all the same")
	}
}

func manyCallers(t *testing.T, b *bench) {
	const callers, each = 64, 5
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				if _, err := b.try(list, &cadre.TaskAdd{Subject: fmt.Sprintf("%d of caller %d", i, c)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ids, seqs := map[string]bool{}, map[cadre.Seq]bool{}
	for _, e := range b.log(list) {
		seqs[e.Seq] = true
		if e.Object.Kind == cadre.KindTask {
			ids[e.Object.ID] = true
		}
	}
	if len(ids) != callers*each || len(seqs) != callers*each+1 {
		t.Fatalf("%d ids and %d numbers, want %d and one more", len(ids), len(seqs), callers*each)
	}
	b.audit()
}

func apart(t *testing.T, b *bench) {
	b.add(list, "here")
	b.add("other", "there")
	b.add("other", "there too")
	if here, there := len(b.log(list)), len(b.log("other")); here != 2 || there != 3 {
		t.Fatalf("the logs have %d and %d events, want 2 and 3", here, there)
	}
	if b.head(list).Epoch == b.head("other").Epoch {
		t.Fatal("two scopes have one epoch")
	}
}

// ownSlices: what a caller does to a slice that it gave or got must not be seen.
func ownSlices(t *testing.T, b *bench) {
	events := []cadre.Event{{After: &cadre.Task{ID: "1", Subject: "mine", Status: cadre.Pending, Version: 1}}}
	r, err := b.store.Update(t.Context(), list, b.command("raw"), func(cadre.Snap) ([]cadre.Event, error) { return events, nil })
	if err != nil {
		t.Fatal(err)
	}
	events[0] = cadre.Event{}
	clear(r.Events)
	for _, e := range b.log(list) {
		if e.Object.Kind == "" || e.After == nil {
			t.Fatalf("the log holds %+v", e)
		}
	}
	if err := b.store.View(t.Context(), list, func(s cadre.Snap) error {
		task, err := s.Task("1")
		if err != nil || task == nil || task.Subject != "mine" {
			return fmt.Errorf("task 1 is %+v: %w", task, err)
		}
		changed := task.Clone()
		changed.Subject = "changed"
		again, err := s.Task("1")
		if err != nil || again.Subject != "mine" {
			return fmt.Errorf("a clone's change is seen: %+v: %w", again, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
