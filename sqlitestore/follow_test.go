package sqlitestore_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"cadre"
)

// A follower must be woken by another process's commit, not by its own rescan.
func TestFollowAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	head := do(t, s, list, &cadre.TaskAdd{Subject: "first"}).Head
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	arrived := make(chan time.Time, 100)
	go func() {
		defer close(arrived)
		for e, err := range s.Events(ctx, list, head, true) {
			if err != nil {
				t.Error(err)
				return
			}
			if e.Object.Kind == cadre.KindTask {
				arrived <- e.Time
			}
		}
	}()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SQLITESTORE_TEST_DIR="+dir, "SQLITESTORE_TEST_PAUSE=20ms")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slow := 0
	for range 20 {
		decided := <-arrived
		if time.Since(decided) > rescanHalf {
			slow++
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if slow > 5 {
		t.Fatalf("%d of 20 commits of another process took longer than %s to be seen", slow, rescanHalf)
	}
}

// rescanHalf is half of the time after which a follower looks by itself.
const rescanHalf = 500 * time.Millisecond
