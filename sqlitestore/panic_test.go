package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cadre"
	"cadre/internal/flock"
)

// An object that the rule book cannot read panics past the verb, under the lock.
// Its command fails; the lock is free and the others go on.
func TestPanicUnderTheLock(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := cadre.Command{ID: "panics", Actor: cadre.Self, Door: "test", Verb: "panic"}
	func() {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("the panic reached the caller: %v", p)
			}
		}()
		_, err = s.Update(t.Context(), "work", c, func(cadre.Snap) ([]cadre.Event, error) {
			return []cadre.Event{{After: (*cadre.Task)(nil)}}, nil
		})
	}()
	wantFault(t, err, "cadre audit verify")
	other, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, s := range []*Store{s, other} {
		if err := add(s, "after "+s.dir, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// While one caller waits for another process to prepare the database, the others
// wait no longer than they want to, and Close waits for none of them.
func TestFirstOpenBlocksNobody(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := flock.New(s.openLock)
	if err := other.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	look := func(ctx context.Context) error {
		return s.View(ctx, "work", func(cadre.Snap) error { return nil })
	}
	waits := make(chan error, 1)
	go func() { waits <- look(context.Background()) }()
	for len(s.opening) == 0 {
		time.Sleep(time.Millisecond)
	}
	within := func(what string, want error, do func() error) {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- do() }()
		select {
		case err := <-done:
			if !errors.Is(err, want) {
				t.Fatalf("%s: %v, want %v", what, err, want)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s waits for the lock", what)
		}
	}
	within("a reader with a deadline", context.DeadlineExceeded, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return look(ctx)
	})
	within("Close", nil, s.Close)
	within("the reader", errClosed, func() error { return <-waits })
}

// A copy has its name only when it is whole, and takes nobody else's.
func TestBackupIsNamedLast(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := add(s, "many", 3000); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	var size int64
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for {
			if info, err := os.Stat(path); err == nil {
				size = info.Size()
				return
			}
		}
	}()
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	<-seen
	info, err := os.Stat(path)
	if err != nil || info.Size() != size {
		t.Fatalf("the copy was seen with %d bytes, and has %d in the end (%v)", size, info.Size(), err)
	}
	temp := path + ".temp"
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := publish(temp, path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("publish() error = %v", err)
	}
	if err := os.Remove(temp); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Fatalf("beside the copy stand %v, %v", left, err)
	}
}
