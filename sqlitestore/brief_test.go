package sqlitestore_test

import (
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
