package flock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cadre/internal/flock"
)

func pair(t *testing.T) (*flock.Lock, *flock.Lock) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	open := func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
	a, b := flock.New(open), flock.New(open)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestOneHolderAtATime(t *testing.T) {
	a, b := pair(t)
	if err := a.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- b.Acquire(context.Background()) }()
	select {
	case err := <-got:
		t.Fatalf("the second holder got the lock while the first had it: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if err := b.Release(); err != nil {
		t.Fatal(err)
	}
	if err := a.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTryAcquireNeverWaits(t *testing.T) {
	a, b := pair(t)
	for _, l := range []*flock.Lock{a, b} {
		if got, err := l.TryAcquire(); got != (l == a) || err != nil {
			t.Fatalf("TryAcquire() = %t, %v", got, err)
		}
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if got, err := b.TryAcquire(); !got || err != nil {
		t.Errorf("TryAcquire() of a free lock = %t, %v", got, err)
	}
}

// A wait that was given up must neither keep the lock nor free somebody else's.
func TestGivenUpWaitLeavesTheLockAlone(t *testing.T) {
	a, b := pair(t)
	if err := a.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Acquire() error = %v, want %v", err, context.DeadlineExceeded)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := b.Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := a.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Acquire() error = %v, want %v: the given-up wait freed the lock", err, context.DeadlineExceeded)
	}
}
