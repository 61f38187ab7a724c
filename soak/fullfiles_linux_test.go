package soak_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSoakFullFolder fills the file system of Claude Code's folder, leaving a little
// more space each time. The log stands elsewhere: a command that makes no task is
// done and warns, one that gets no id says so, nothing that was acknowledged is
// lost, and with space again the files say what the log says.
func TestSoakFullFolder(t *testing.T) {
	t.Parallel()
	m := withFiles(t)
	if err := os.Mkdir(m.claude(), 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("cadre-soak", m.claude(), "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=2m,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("no right to mount a file system here (%v): writes fail for want of space in TestSoakFileFaults alone", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(m.claude(), 0); err != nil {
			t.Error(err)
		}
	})
	m.must("team", "create", "docs")
	m.must("task", "add", "one", "--scope", "docs")
	subjects := map[string]string{"1": "one"}
	levels := count(t, "amounts of space that were left", 4, 40)
	warned, failed := 0, 0
	for i := range levels {
		ballast := m.claude("ballast")
		if err := fill(ballast, int64(i)*40_000/int64(levels)); err != nil {
			t.Fatal(err)
		}
		word := fmt.Sprint("while full ", i)
		for _, args := range [][]string{
			{"task", "update", "1", "--subject", word, "-d", strings.Repeat(word, 600), "--scope", "docs"},
			{"msg", "send", "team-lead", word, "--scope", "docs", "--as", "ann"},
			{"task", "add", word, "--scope", "docs"},
			{"task", "list", "--scope", "docs"},
		} {
			r := m.run(args...)
			makes := args[1] == "add"
			switch {
			case r.code == 0 && makes:
				subjects[strings.TrimSpace(r.out)] = word
			case r.code == 0 && args[1] == "update":
				subjects["1"] = word
			case makes && r.code == 1 && strings.Contains(r.err, "no task id could be reserved"):
				failed++
			case r.code != 0:
				t.Errorf("a full folder of the client's fails a command: %s", r)
			}
			if strings.Contains(r.err, "behind") {
				warned++
			}
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if r := m.run("task", "list", "--scope", "docs"); r.code != 0 || r.err != "" {
			t.Errorf("with space again: %s", r)
		}
		if diff := m.differences("docs"); len(diff) > 0 {
			t.Errorf("with space again the files differ:\n%s", strings.Join(diff, "\n"))
		}
		if locks := m.locks(); len(locks) > 0 {
			t.Errorf("locks are left: %v", locks)
		}
		if left, _ := filepath.Glob(m.claude("t*", "docs", ".cadre-*")); len(left) > 3 {
			t.Errorf("temporary files are left: %v", left)
		}
	}
	for id, v := range m.tasks("--scope", "docs") {
		if v.Subject != subjects[string(id)] {
			t.Errorf("task %s is %q and should be %q", id, v.Subject, subjects[string(id)])
		}
		delete(subjects, string(id))
	}
	if len(subjects) > 0 {
		t.Errorf("acknowledged and lost: %v", subjects)
	}
	if warned == 0 {
		t.Error("the folder was never full")
	}
	m.audited()
	t.Logf("%d commands warned, %d got no id, nothing was lost", warned, failed)
}
