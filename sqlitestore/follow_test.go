package sqlitestore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"cadre"
	"cadre/sqlitestore"
)

// A follower is woken by another process's commit: it does not look by itself here.
func TestFollowAnotherProcess(t *testing.T) {
	sqlitestore.SetRescan(t, time.Hour)
	followAnother(t)
}

// A follower that cannot be woken looks.
func TestAFollowerThatHearsNothingLooks(t *testing.T) {
	sqlitestore.SetRescan(t, 10*time.Millisecond)
	sqlitestore.SetWatcher(t, func() (*fsnotify.Watcher, error) { return nil, errors.New("no more of them on this machine") })
	followAnother(t)
}

// followAnother has a follower see every commit of another process.
func followAnother(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	head := do(t, s, list, &cadre.TaskAdd{Subject: "first"}).Head
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SQLITESTORE_TEST_DIR="+dir, "SQLITESTORE_TEST_PAUSE=20ms")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := 0
	for e, err := range s.Events(ctx, list, head, true) {
		if err != nil {
			t.Error(err)
			break
		}
		if e.Object.Kind == cadre.KindTask {
			seen++
		}
		if seen == 20 {
			break
		}
	}
	if err := cmd.Wait(); err != nil || seen < 20 {
		t.Fatalf("the follower saw %d of the 20 commits of another process, which ended with %v", seen, err)
	}
}

// TestOwnAndOthersCommitsComeInOrder has followers hear of what their own process
// commits and what another connection does in between, as the log has it.
func TestOwnAndOthersCommitsComeInOrder(t *testing.T) {
	dir := t.TempDir()
	own, other := open(t, dir), open(t, dir)
	head := do(t, own, list, &cadre.TaskAdd{Subject: "first"}).Head
	const tasks = 700 // more than are read or kept at once
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	streams := make([][]cadre.Event, 3)
	var followers sync.WaitGroup
	for i := range streams {
		followers.Go(func() {
			for e, err := range own.Events(ctx, list, head, true) {
				if err != nil {
					t.Error(err)
					return
				}
				streams[i] = append(streams[i], e)
				if a, ok := e.After.(*cadre.Task); ok && a.Subject == "last" {
					return
				}
				if i == 2 && len(streams[i])%50 == 0 {
					time.Sleep(5 * time.Millisecond) // it falls behind
				}
			}
		})
	}
	var writers sync.WaitGroup
	for w, s := range []*sqlitestore.Store{own, own, other} {
		writers.Go(func() {
			for n := range tasks / 3 {
				do(t, s, list, &cadre.TaskAdd{Subject: fmt.Sprint(w, n)})
				if w == 2 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	writers.Wait()
	do(t, own, list, &cadre.TaskAdd{Subject: "last"})
	followers.Wait()
	var log [][]byte
	for e, err := range other.Events(ctx, list, head, false) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, encoded(t, e))
	}
	for i, events := range streams {
		if len(events) != len(log) {
			t.Fatalf("follower %d heard of %d events of %d", i, len(events), len(log))
		}
		for n, e := range events {
			if got := encoded(t, e); !bytes.Equal(got, log[n]) {
				t.Fatalf("follower %d heard\n%s\nand the log has\n%s", i, got, log[n])
			}
		}
	}
}

func encoded(t *testing.T, e cadre.Event) []byte {
	t.Helper()
	out, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
