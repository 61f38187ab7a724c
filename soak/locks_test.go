//go:build unix

package soak_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cadre/internal/dirlock"
	"cadre/internal/swapfile"
)

// openList opens the folder list in a folder.
func openList(folder string) (*swapfile.Dir, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return swapfile.Open(root, "list")
}

func queueIn(folder string) func() (*os.File, error) {
	return func() (*os.File, error) {
		return os.OpenFile(filepath.Join(folder, "queue"), os.O_RDWR|os.O_CREATE, 0o600)
	}
}

// lockUntilKilled takes the lock of a file again and again: see witness for what it
// writes down. Its arguments are the folder, its own name, and how old a lock left
// behind is.
func lockUntilKilled(args []string) error {
	folder, name := args[0], args[1]
	stale, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	dir, err := openList(folder)
	if err != nil {
		return err
	}
	lines, err := os.OpenFile(filepath.Join(folder, "witness"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	say := func(mark string) error {
		_, err := lines.WriteString(mark + " " + name + "\n")
		return err
	}
	for {
		h, err := dirlock.Lock(context.Background(), dir, "1.json", dirlock.Options{Queue: queueIn(folder), Stale: stale})
		if errors.Is(err, dirlock.ErrHeld) {
			continue
		}
		if err == nil {
			err = say("B")
			inside := time.Millisecond
			if rand.N(20) == 0 {
				inside = 30 * time.Millisecond // long enough for the test to meet it there
			}
			time.Sleep(rand.N(inside))
			err = errors.Join(err, say("E"))
		}
		if err != nil {
			return err
		}
		if err = h.Release(); errors.Is(err, dirlock.ErrLost) {
			err = say("L")
		}
		if err != nil {
			return err
		}
		time.Sleep(rand.N(8 * time.Millisecond))
	}
}

// lockOnce takes the lock and gives it up.
func lockOnce(args []string) error {
	dir, err := openList(args[0])
	if err != nil {
		return err
	}
	h, err := dirlock.Lock(context.Background(), dir, "1.json", dirlock.Options{Queue: queueIn(args[0]), Stale: time.Hour, Wait: time.Second})
	if err != nil {
		return err
	}
	return h.Release()
}

// crowd is four processes of ours and two of Node that want one lock.
type crowd struct {
	t       *testing.T
	folder  string
	stale   time.Duration
	lines   *os.File
	read    int64
	half    string // of a line
	seen    *witness
	started int
	all     map[string]*exec.Cmd
}

func newCrowd(t *testing.T, stale time.Duration) *crowd {
	t.Helper()
	c := &crowd{t: t, folder: t.TempDir(), stale: stale, seen: newWitness(), all: map[string]*exec.Cmd{}}
	err := os.Mkdir(filepath.Join(c.folder, "list"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(c.folder, "list", "1.json"), []byte("{}"), 0o600)
	}
	if err == nil {
		c.lines, err = os.OpenFile(filepath.Join(c.folder, "witness"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range "ggggnn" {
		c.start(byte(kind))
	}
	t.Cleanup(func() {
		for name := range c.all {
			c.kill(name)
		}
		c.lines.Close()
	})
	c.everybody()
	return c
}

// start starts a process of one kind.
func (c *crowd) start(kind byte) {
	c.t.Helper()
	c.started++
	name := fmt.Sprintf("%c%d", kind, c.started)
	p := exec.Command(os.Args[0], "lock", c.folder, name, c.stale.String())
	if kind == 'n' {
		installed, err := filepath.Abs("../.tools/proper-lockfile/node_modules")
		if err == nil {
			_, err = os.Stat(installed)
		}
		if err != nil {
			c.t.Fatalf("what Node locks with is not installed, run scripts/proper-lockfile: %v", err)
		}
		p = exec.Command("node", "testdata/locker.js", filepath.Join(c.folder, "list", "1.json"), filepath.Join(c.folder, "witness"), name, fmt.Sprint(c.stale.Milliseconds()))
		p.Env = append(os.Environ(), "NODE_PATH="+installed)
	}
	p.Stderr = new(bytes.Buffer)
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.all[name] = p
}

func (c *crowd) mark(mark, name string) {
	c.t.Helper()
	if _, err := c.lines.WriteString(mark + " " + name + "\n"); err != nil {
		c.t.Fatal(err)
	}
}

// kill ends a process, which must not have ended by itself.
func (c *crowd) kill(name string) {
	c.t.Helper()
	p := c.all[name]
	delete(c.all, name)
	c.mark("K", name)
	p.Process.Kill()
	p.Wait()
	if status := p.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		c.t.Errorf("%s ended by itself: %s\n%s", name, p.ProcessState, p.Stderr)
	}
}

// stop lets a process stand still.
func (c *crowd) stop(name string, d time.Duration) {
	c.t.Helper()
	p := c.all[name].Process
	c.mark("S", name)
	err := p.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	if err := errors.Join(err, p.Signal(syscall.SIGCONT)); err != nil {
		c.t.Errorf("stopping %s: %v", name, err)
	}
}

// look reads what was written since the last look.
func (c *crowd) look() {
	c.t.Helper()
	text, err := io.ReadAll(io.NewSectionReader(c.lines, c.read, 1<<40))
	if err != nil {
		c.t.Fatal(err)
	}
	c.read += int64(len(text))
	whole := strings.SplitAfter(c.half+string(text), "\n")
	c.half = whole[len(whole)-1]
	for _, l := range whole[:len(whole)-1] {
		if err := c.seen.line(strings.TrimSuffix(l, "\n")); err != nil {
			c.t.Fatal(err)
		}
	}
}

// until waits until the lock was taken a number of times.
func (c *crowd) until(taken int) { c.wait(func() bool { return c.seen.total() >= taken }) }

// everybody waits until both kinds have had the lock.
func (c *crowd) everybody() {
	c.wait(func() bool { return c.seen.held['g'] > 0 && c.seen.held['n'] > 0 })
}

func (c *crowd) wait(enough func() bool) {
	c.t.Helper()
	for before, since := 0, time.Now(); !enough(); time.Sleep(time.Millisecond) {
		c.look()
		if now := c.seen.total(); now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) > patience {
			c.t.Fatalf("nobody gets the lock any more: %s", c.seen)
		}
	}
}

// victim is who has been inside for a moment, or anybody.
func (c *crowd) victim(holder bool) string {
	c.t.Helper()
	if holder {
		c.wait(func() bool {
			last := c.seen.last
			time.Sleep(2 * time.Millisecond)
			c.look()
			_, inside := c.seen.inside[last]
			return inside && last == c.seen.last && c.all[last] != nil
		})
		return c.seen.last
	}
	for name := range c.all {
		return name
	}
	return ""
}

// verdict fails the test for an overlap of two of our own processes.
func (c *crowd) verdict() {
	c.t.Helper()
	c.look()
	c.t.Log(c.seen)
	if len(c.seen.ours) > 0 {
		c.t.Errorf("two of our own held the lock at the same time: %s", strings.Join(c.seen.ours, ", "))
	}
}

// TestSoakLocks lets processes of ours and of Node take one lock, undisturbed: no
// two hold it at the same time.
func TestSoakLocks(t *testing.T) {
	t.Parallel()
	n := count(t, "times the lock is taken", 300, 10_000)
	c := newCrowd(t, 10*time.Second)
	c.until(n)
	c.verdict()
	if c.seen.afterStop+c.seen.plain > 0 {
		t.Error("overlaps, and nobody was disturbed")
	}
}

// TestSoakLockKills kills and stops them, mostly the one that holds the lock. Node
// takes no limit under 2 s. What Node does after that is only counted: one of its
// processes that was stopped still believes that it holds the lock.
func TestSoakLockKills(t *testing.T) {
	t.Parallel()
	n := count(t, "times the lock is taken", 200, 10_000)
	disturbed := count(t, "kills and stops", 10, 120)
	c := newCrowd(t, 2*time.Second)
	for i := range disturbed {
		c.until(n * i / disturbed)
		name := c.victim(i%3 != 0)
		switch i % 5 {
		case 0, 1, 2:
			c.kill(name)
			c.start(name[0])
		case 3:
			c.stop(name, rand.N(c.stale/2))
		case 4:
			c.stop(name, c.stale+c.stale/4)
		}
	}
	c.until(n)
	c.verdict()
}

// TestSoakLockKillsReal is the same with the limit that clients have.
func TestSoakLockKillsReal(t *testing.T) {
	t.Parallel()
	kills := count(t, "kills", 1, 5)
	c := newCrowd(t, 10*time.Second)
	for i := range kills {
		c.until(c.seen.total() + 40)
		name := c.victim(true)
		t.Logf("kill %d: %s", i+1, name)
		c.kill(name)
		c.start(name[0])
	}
	c.until(c.seen.total() + 40)
	c.verdict()
}
