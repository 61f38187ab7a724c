//go:build unix

package claudedir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cadre"
)

// A process that died left a lock of the team's file. Whoever takes a lock in
// another folder before leaves it to the next one to find.
func TestALockLeftBehindIsTakenAtOnce(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	lock := w.path("teams", string(list), "config.json.lock")
	if err := os.Mkdir(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(lock)
	if err != nil {
		t.Fatal(err)
	}
	at, ino := info.ModTime().UnixNano(), info.Sys().(*syscall.Stat_t).Ino
	queues, err := filepath.Glob(filepath.Join(w.state, "*", "docs.team-queue"))
	if err != nil || len(queues) != 1 {
		t.Fatalf("the queues are %v, %v", queues, err)
	}
	w.write(queues[0], fmt.Sprintf("%d %d %d %q\n", ino, at, at, "config.json.lock"))
	began := time.Now()
	w.add("a task") // takes the list's lock
	w.must(&cadre.TeamJoin{Name: "ann"})
	if took := time.Since(began); took > 5*time.Second || !w.gone(lock) {
		t.Errorf("it took %s, and the lock is gone: %t", took, w.gone(lock))
	}
	w.check()
}

// The team's file could not be written when the team was made. It is not one that a
// client deleted.
func TestATeamWhoseFileCouldNotBeWritten(t *testing.T) {
	w := newWorld(t)
	lock := w.path("teams", string(list), "config.json.lock", "inside")
	if err := os.MkdirAll(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	w.must(&cadre.TeamCreate{Name: string(list)})
	if len(w.warns) == 0 || !w.gone(w.path("teams", string(list), "config.json")) {
		t.Fatalf("the file could be written, and warned is %q", w.warns)
	}
	if err := os.RemoveAll(filepath.Dir(lock)); err != nil {
		t.Fatal(err)
	}
	w.warns = nil
	w.add("a task")
	if w.gone(w.path("teams", string(list), "config.json")) {
		t.Error("the team's file is not there")
	}
	w.check()
}
