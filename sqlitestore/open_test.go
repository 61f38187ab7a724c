package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cadre"
	"cadre/sqlitestore"
)

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	var heads []cadre.Head
	for i := range 5 {
		s, err := sqlitestore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, do(t, s, list, &cadre.TaskAdd{Subject: fmt.Sprintf("task %d", i)}).Head)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, h := range heads {
		if h.Epoch != heads[0].Epoch || h.Seq != cadre.Seq(i+2) || h.Next != uint64(i+2) {
			t.Fatalf("the heads are %+v", heads)
		}
	}
	a, b := open(t, dir), open(t, dir)
	do(t, a, list, &cadre.TaskAdd{Subject: "in one"})
	if r := do(t, b, list, &cadre.TaskAdd{Subject: "in the other"}); r.Head.Seq != 8 {
		t.Fatalf("two stores on one folder: %+v", r.Head)
	}
	if r := audit(t, a); len(r.Findings) > 0 {
		t.Fatalf("%+v", r.Findings)
	}
}

// TestMain lets the test program be the other processes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SQLITESTORE_TEST_DIR"); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// child adds tasks and prints their numbers, one a line.
func child(dir string) int {
	var options []sqlitestore.Option
	brief := os.Getenv("SQLITESTORE_TEST_BRIEF") != ""
	if brief {
		options = append(options, sqlitestore.Brief())
	}
	s, err := sqlitestore.Open(dir, options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	pause, _ := time.ParseDuration(os.Getenv("SQLITESTORE_TEST_PAUSE"))
	count, err := strconv.Atoi(os.Getenv("SQLITESTORE_TEST_COUNT"))
	if err != nil {
		count = 20
	}
	for range count {
		time.Sleep(pause)
		c := command("add")
		c.ID = cadre.CommandID(fmt.Sprintf("%s-%d", c.ID, os.Getpid()))
		r, err := s.Update(context.Background(), list, c, func(snap cadre.Snap) ([]cadre.Event, error) {
			return (&cadre.TaskAdd{Subject: "from a process"}).Decide(snap, c)
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(r.Events[len(r.Events)-1].Object.ID)
	}
	if brief && s.Close() != nil {
		return 1
	}
	return 0 // else without Close, as one that was killed
}

func TestManyProcesses(t *testing.T) {
	dir := t.TempDir()
	const processes = 6
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "SQLITESTORE_TEST_DIR="+dir)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
				if seen[lines.Text()] {
					t.Errorf("task %s was given out twice", lines.Text())
				}
				seen[lines.Text()] = true
			}
		})
	}
	wg.Wait()
	if len(seen) != 20*processes {
		t.Fatalf("%d ids, want %d", len(seen), 20*processes)
	}
	s := open(t, dir)
	if r := audit(t, s); len(r.Findings) > 0 || r.Events != 20*processes+1 {
		t.Fatalf("%+v", r)
	}
}

// A link planted in the folder must not lead anything outside.
func TestPlantedLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	for _, name := range []string{"cadre.db", "cadre.db-wal", "cadre.db-shm", "cadre.lock", "heads", "heads/work"} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "victim")
			if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			s, err := sqlitestore.Open(dir)
			if err == nil {
				defer s.Close()
				c := command("add")
				_, err = s.Update(t.Context(), list, c, func(snap cadre.Snap) ([]cadre.Event, error) {
					return (&cadre.TaskAdd{Subject: "never"}).Decide(snap, c)
				})
			}
			e := cadre.AsError(err)
			if e == nil || e.Code != cadre.CodeInternal || e.Hint == "" || !strings.Contains(e.Message, "symbolic link") {
				t.Fatalf("error = %+v", e)
			}
			if b, err := os.ReadFile(outside); err != nil || string(b) != "precious" {
				t.Fatalf("the file outside is now %q, %v", b, err)
			}
		})
	}
}

func TestFolderIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	do(t, s, list, &cadre.TaskAdd{Subject: "secret"})
	if err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
