//go:build unix

package soak_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cadre/internal/swapfile"
)

// document is a file's content, large enough to be seen half written.
func document(text string) []byte {
	return fmt.Appendf(nil, `{"text": %q, "fill": %q}`, text, strings.Repeat("x", 20_000))
}

// swapUntilKilled makes, changes and removes files in a folder, one of which it only
// ever changes.
func swapUntilKilled(args []string) error {
	dir, err := openList(args[0])
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for i := 0; ; i++ {
		data := document(fmt.Sprint(i))
		_, old, err := swapfile.Exchange(dir, "always.json", data)
		if err == nil {
			err = old.Done()
		}
		if err != nil {
			return err
		}
		name := fmt.Sprint(rand.N(4), ".json")
		if _, exists, err := swapfile.Create(dir, name, data); err != nil {
			return err
		} else if !exists {
			continue
		}
		if rand.N(2) == 0 {
			old, err = swapfile.Remove(dir, name)
		} else {
			_, old, err = swapfile.Exchange(dir, name, data)
		}
		if err != nil {
			return err
		}
		if err := old.Done(); err != nil {
			return err
		}
	}
}

// swapOnce makes new.json, changes old.json and removes gone.json.
func swapOnce(args []string) error {
	dir, err := openList(args[0])
	if err != nil {
		return err
	}
	if _, _, err := swapfile.Create(dir, "new.json", document("new")); err != nil {
		return err
	}
	_, old, err := swapfile.Exchange(dir, "old.json", document("new"))
	if err != nil {
		return err
	}
	if err := old.Done(); err != nil {
		return err
	}
	if old, err = swapfile.Remove(dir, "gone.json"); err != nil {
		return err
	}
	return old.Done()
}

// texts reads every file that a client would, which must be whole.
func texts(folder string) (map[string]string, error) {
	list, err := os.ReadDir(filepath.Join(folder, "list"))
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, "list", e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var doc struct{ Text string }
		if err == nil {
			err = json.Unmarshal(data, &doc)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, %d bytes: %w", e.Name(), len(data), err)
		}
		all[e.Name()] = doc.Text
	}
	return all, nil
}

// swept removes what a killed process left, and fails if something stays.
func swept(t *testing.T, folder string) {
	t.Helper()
	dir, err := openList(folder)
	if err == nil {
		err = errors.Join(swapfile.Sweep(dir, 0, nil), dir.Close())
	}
	list, err2 := os.ReadDir(filepath.Join(folder, "list"))
	if err := errors.Join(err, err2); err != nil {
		t.Error(err)
	}
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), ".json") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// TestTextsNoticesHalfAFile shows that the reader's check can fail.
func TestTextsNoticesHalfAFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "list"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, half := range [][]byte{nil, document("new")[:4096]} {
		if err := os.WriteFile(filepath.Join(folder, "list", "1.json"), half, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := texts(folder); err == nil {
			t.Errorf("a file of %d bytes is taken for whole", len(half))
		}
	}
}

// TestSoakSwapKills kills a process that puts files in place, at any moment, while
// a reader looks: every file it finds is whole, and one that is only ever changed is
// always there.
func TestSoakSwapKills(t *testing.T) {
	t.Parallel()
	kills := count(t, "kills", 20, 1000)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "list"), 0o700); err != nil {
		t.Fatal(err)
	}
	always := filepath.Join(folder, "list", "always.json")
	if err := os.WriteFile(always, document("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	readings, left := 0, 0
	for range kills {
		c := exec.Command(os.Args[0], "swap", folder)
		talk := new(strings.Builder)
		c.Stderr = talk
		begun, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := begun.Read(make([]byte, 1)); err != nil {
			t.Fatalf("it never began: %v\n%s", err, talk)
		}
		ended := make(chan struct{})
		time.AfterFunc(10*time.Millisecond+rand.N(40*time.Millisecond), func() {
			c.Process.Kill()
			c.Wait()
			close(ended)
		})
		for living := true; living; readings++ {
			select {
			case <-ended:
				living = false
			default:
			}
			if _, err := texts(folder); err != nil {
				t.Errorf("not whole: %v", err)
			}
			if _, err := os.Stat(always); err != nil {
				t.Errorf("not always there: %v", err)
			}
		}
		if c.ProcessState.ExitCode() != -1 {
			t.Fatalf("it ended by itself: %s\n%s", c.ProcessState, talk)
		}
		list, err := filepath.Glob(filepath.Join(folder, "list", ".cadre-*"))
		if err != nil {
			t.Fatal(err)
		}
		left += len(list)
		swept(t, folder)
	}
	all, err := texts(folder)
	if err != nil || all["always.json"] == "first" {
		t.Errorf("nothing was done: %v, %v", all, err)
	}
	t.Logf("%d readings of the folder; %d files were left and swept", readings, left)
}
