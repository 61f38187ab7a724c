package sqlitestore_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"cadre"
)

// Processes that leave without closing must not let the write-ahead log grow.
func TestBriefKeepsTheLogSmall(t *testing.T) {
	dir := t.TempDir()
	const processes = 30
	largest := int64(0)
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SQLITESTORE_TEST_DIR="+dir, "SQLITESTORE_TEST_COUNT=1", "SQLITESTORE_TEST_BRIEF=1")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "cadre.db-wal")); err == nil {
			largest = max(largest, info.Size())
		}
	}
	if largest == 0 || largest > 600<<10 {
		t.Fatalf("the write-ahead log grew to %d bytes", largest)
	}
	s := open(t, dir)
	if h := headOf(t, s, list); h.Next != processes+1 {
		t.Fatalf("the head is %+v after %d tasks", h, processes)
	}
	if r := audit(t, s); len(r.Findings) > 0 {
		t.Fatalf("%+v", r.Findings)
	}
}

// endless is a context that fails the test when it is asked for its end.
type endless struct {
	context.Context
	t *testing.T
}

func (c endless) Done() <-chan struct{} {
	c.t.Error("the context was asked for its end")
	return c.Context.Done()
}

// A command begins to listen for interrupts when its context is asked for its
// end, so what waits for nobody must not ask.
func TestNothingWaitsForTheContext(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	do(t, s, list, &cadre.TaskAdd{Subject: "first"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	ctx := endless{t.Context(), t}
	err := s.View(ctx, list, func(snap cadre.Snap) error {
		_, err := snap.Task("1")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c := command("task add")
	if _, err := s.Update(ctx, list, c, func(snap cadre.Snap) ([]cadre.Event, error) {
		return (&cadre.TaskAdd{Subject: "second"}).Decide(snap, c)
	}); err != nil {
		t.Fatal(err)
	}
}

// The folder's name goes through a URI.
func TestFolderWithAnyName(t *testing.T) {
	name := "a b?mode=memory#c%20d&é'\""
	if runtime.GOOS == "windows" {
		name = "a b#c%20d&é'"
	}
	dir := filepath.Join(t.TempDir(), name)
	s := open(t, dir)
	do(t, s, list, &cadre.TaskAdd{Subject: "here"})
	if info, err := os.Stat(filepath.Join(dir, "cadre.db")); err != nil || info.Size() == 0 {
		t.Fatalf("the database is not in its folder: %v", err)
	}
	if r := audit(t, s); len(r.Findings) > 0 || r.Events != 2 {
		t.Fatalf("%+v", r)
	}
}
