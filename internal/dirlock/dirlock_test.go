package dirlock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cadre/internal/dirlock"
	"cadre/internal/swapfile"
)

// TestMain lets the test binary be a process that takes a lock, says so, and holds
// it until it is killed.
func TestMain(m *testing.M) {
	if folder := os.Getenv("DIRLOCK_HOLD"); folder != "" {
		if err := hold(folder, os.Getenv("DIRLOCK_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func hold(folder, name string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	dir, err := swapfile.Open(root, "list")
	if err != nil {
		return err
	}
	if _, err := dirlock.Lock(context.Background(), dir, name, short(folder)); err != nil {
		return err
	}
	fmt.Println("held")
	select {}
}

func queueIn(folder string) func() (*os.File, error) {
	return func() (*os.File, error) {
		return os.OpenFile(filepath.Join(folder, "queue"), os.O_RDWR|os.O_CREATE, 0o600)
	}
}

// short are the options of tests: a lock is left behind after 200 ms.
func short(folder string) dirlock.Options {
	return dirlock.Options{Queue: queueIn(folder), Stale: 200 * time.Millisecond, Wait: 30 * time.Second}
}

// patient are options with which only a lock known to be ours is taken over.
func patient(folder string) dirlock.Options {
	return dirlock.Options{Queue: queueIn(folder), Stale: time.Hour, Wait: time.Minute}
}

// place is a folder with a list in it and room for the queue's file beside it.
type place struct {
	t    testing.TB
	path string
	dir  *swapfile.Dir
}

func newPlace(t testing.TB) place {
	t.Helper()
	path := t.TempDir()
	if err := os.Mkdir(filepath.Join(path, "list"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := swapfile.Open(root, "list")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close(); root.Close() })
	return place{t, path, dir}
}

// foreign makes the lock of NAME as another program would, dated some time ago.
func (p place) foreign(name string, ago time.Duration) swapfile.Stamp {
	p.t.Helper()
	if err := os.Mkdir(filepath.Join(p.path, "list", name+".lock"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.date(name, ago)
	return p.stamp(name)
}

func (p place) date(name string, ago time.Duration) {
	p.t.Helper()
	when := time.Now().Add(-ago)
	if err := os.Chtimes(filepath.Join(p.path, "list", name+".lock"), when, when); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) stamp(name string) swapfile.Stamp {
	p.t.Helper()
	s, _, err := swapfile.Lstat(p.dir, name+".lock")
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// empty fails unless nothing at all is left in the folder.
func (p place) empty() {
	p.t.Helper()
	list, err := os.ReadDir(filepath.Join(p.path, "list"))
	if err != nil || len(list) > 0 {
		p.t.Errorf("the folder still holds %v (%v)", list, err)
	}
}

func (p place) release(h *dirlock.Held) {
	p.t.Helper()
	if err := h.Release(); err != nil {
		p.t.Error(err)
	}
}

type locking func(context.Context, *swapfile.Dir, string, dirlock.Options) (*dirlock.Held, error)

// both runs a test with the system's own steps and without them.
func both(t *testing.T, test func(t *testing.T, lock locking)) {
	t.Run("atomic", func(t *testing.T) { test(t, dirlock.Lock) })
	t.Run("basic", func(t *testing.T) { test(t, dirlock.LockBasic) })
}

func TestOneHolderAtATime(t *testing.T) {
	both(t, func(t *testing.T, lock locking) {
		p := newPlace(t)
		var inside atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 50 {
					h, err := lock(t.Context(), p.dir, "1.json", patient(p.path))
					if err != nil {
						t.Error(err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two hold the lock")
					}
					if _, mode, err := swapfile.Lstat(p.dir, "1.json.lock"); err != nil || !mode.IsDir() {
						t.Errorf("other programs do not see it: %v", err)
					}
					inside.Add(-1)
					if err := h.Release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		p.empty()
	})
}

func TestSomebodyElsesLockIsWaitedFor(t *testing.T) {
	both(t, func(t *testing.T, lock locking) {
		p := newPlace(t)
		before := p.foreign("1.json", -time.Second) // as the probe of a client dates it
		o := patient(p.path)
		o.Wait = 30 * time.Millisecond
		if _, err := lock(t.Context(), p.dir, "1.json", o); !errors.Is(err, dirlock.ErrHeld) {
			t.Errorf("Lock() error = %v, want %v", err, dirlock.ErrHeld)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := lock(ctx, p.dir, "1.json", patient(p.path)); !errors.Is(err, context.Canceled) {
			t.Errorf("Lock() error = %v, want %v", err, context.Canceled)
		}
		if p.stamp("1.json") != before {
			t.Error("somebody else's lock was touched")
		}
		time.AfterFunc(20*time.Millisecond, func() { os.Remove(filepath.Join(p.path, "list", "1.json.lock")) })
		h, err := lock(t.Context(), p.dir, "1.json", patient(p.path))
		if err != nil {
			t.Fatal(err)
		}
		p.release(h)
		p.empty()
	})
}

// One of ours that waits in the queue is told the same as one that waits for
// somebody else's lock.
func TestTheQueueIsWaitedFor(t *testing.T) {
	p := newPlace(t)
	h, err := dirlock.Lock(t.Context(), p.dir, "1.json", patient(p.path))
	if err != nil {
		t.Fatal(err)
	}
	o := patient(p.path)
	o.Wait = 20 * time.Millisecond
	if _, err := dirlock.Lock(t.Context(), p.dir, "1.json", o); !errors.Is(err, dirlock.ErrHeld) {
		t.Errorf("Lock() error = %v, want %v", err, dirlock.ErrHeld)
	}
	p.release(h)
	p.empty()
}

func TestAStaleLockIsTakenOver(t *testing.T) {
	both(t, func(t *testing.T, lock locking) {
		for what, ago := range map[string]time.Duration{"old": 30 * time.Second, "fresh": 0, "dated in the future": -time.Hour} {
			p := newPlace(t)
			p.foreign("1.json", ago)
			h, err := lock(t.Context(), p.dir, "1.json", short(p.path))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			p.release(h)
			p.empty()
		}
	})
}

func TestALockThatIsTouchedIsNotStale(t *testing.T) {
	p := newPlace(t)
	p.foreign("1.json", 0)
	o := short(p.path)
	o.Wait = 4 * o.Stale
	done := make(chan error)
	go func() {
		_, err := dirlock.Lock(t.Context(), p.dir, "1.json", o)
		done <- err
	}()
	for touch := time.NewTicker(o.Stale / 10); ; <-touch.C {
		select {
		case err := <-done:
			if !errors.Is(err, dirlock.ErrHeld) {
				t.Errorf("Lock() error = %v, want %v", err, dirlock.ErrHeld)
			}
			return
		default:
			p.date("1.json", 0)
		}
	}
}

// crashed takes a lock in another process and kills that.
func (p place) crashed(name string, after time.Duration) {
	p.t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "DIRLOCK_HOLD="+p.path, "DIRLOCK_NAME="+name)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "held\n" {
		p.t.Errorf("the other process said %q, %v", line, err)
	}
	time.Sleep(after)
	c.Process.Kill()
	c.Wait()
	p.stamp(name)
}

// With a limit of an hour only a lock that is known to be ours can be taken.
func TestACrashLeavesNoLock(t *testing.T) {
	p := newPlace(t)
	p.crashed("1.json", 0)
	h, err := dirlock.Lock(t.Context(), p.dir, "1.json", patient(p.path))
	if err != nil {
		t.Fatal(err)
	}
	p.release(h)
	p.empty()
}

func TestACrashAfterALongHoldLeavesNoLock(t *testing.T) {
	p := newPlace(t)
	p.crashed("1.json", 500*time.Millisecond)
	h, err := dirlock.Lock(t.Context(), p.dir, "1.json", patient(p.path))
	if err != nil {
		t.Fatal(err)
	}
	p.release(h)
	p.empty()
}

func TestLocksMayShareAQueue(t *testing.T) {
	p := newPlace(t)
	p.crashed("1.json", 0)
	for _, name := range []string{"2.json", "1.json"} {
		h, err := dirlock.Lock(t.Context(), p.dir, name, patient(p.path))
		if err != nil {
			t.Fatal(err)
		}
		p.release(h)
	}
	p.empty()
}

// Another program may have taken a crashed process's lock over and have got the
// same inode number; only the time tells.
func TestANotedNumberAloneProvesNothing(t *testing.T) {
	p := newPlace(t)
	p.crashed("1.json", 0)
	p.date("1.json", 0)
	o := patient(p.path)
	o.Wait = 30 * time.Millisecond
	if _, err := dirlock.Lock(t.Context(), p.dir, "1.json", o); !errors.Is(err, dirlock.ErrHeld) {
		t.Errorf("Lock() error = %v, want %v", err, dirlock.ErrHeld)
	}
}

func TestADamagedNoteStopsNobody(t *testing.T) {
	for _, text := range []string{"", "what\n", "1 2 3 \"../x\"\n", strings.Repeat("9", 5000)} {
		p := newPlace(t)
		if err := os.WriteFile(filepath.Join(p.path, "queue"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := dirlock.Lock(t.Context(), p.dir, "1.json", patient(p.path))
		if err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		p.release(h)
	}
}

// A folder with something in it will never be given up by anybody: nobody waits
// for that.
func TestAFolderThatIsNoLock(t *testing.T) {
	p := newPlace(t)
	if err := os.MkdirAll(filepath.Join(p.path, "list", "1.json.lock", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := dirlock.Lock(t.Context(), p.dir, "1.json", patient(p.path)); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("Lock() error = %v, want one that says that it is not empty", err)
	}
}

func TestTheHolderNoticesALoss(t *testing.T) {
	both(t, func(t *testing.T, lock locking) {
		p := newPlace(t)
		h, err := lock(t.Context(), p.dir, "1.json", patient(p.path))
		if err != nil {
			t.Fatal(err)
		}
		if h.Lost() {
			t.Error("Lost() of a lock that is held")
		}
		if err := os.Remove(filepath.Join(p.path, "list", "1.json.lock")); err != nil {
			t.Fatal(err)
		}
		if !h.Lost() {
			t.Error("the loss is not noticed")
		}
		theirs := p.foreign("1.json", 0)
		if !h.Lost() {
			t.Error("somebody else's lock is taken for ours")
		}
		if err := h.Release(); !errors.Is(err, dirlock.ErrLost) {
			t.Errorf("Release() error = %v, want %v", err, dirlock.ErrLost)
		}
		if p.stamp("1.json") != theirs {
			t.Error("somebody else's lock was touched")
		}
	})
}

func TestALongHoldIsKeptFresh(t *testing.T) {
	both(t, func(t *testing.T, lock locking) {
		p := newPlace(t)
		h, err := lock(t.Context(), p.dir, "1.json", short(p.path))
		if err != nil {
			t.Fatal(err)
		}
		first := p.stamp("1.json")
		var last swapfile.Stamp
		for moved, began := 0, time.Now(); moved < 4; time.Sleep(5 * time.Millisecond) {
			if s := p.stamp("1.json"); s.MTime != last.MTime {
				last = s
				moved++
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("in a minute it was touched %d times", moved)
			}
		}
		if last.Ino != first.Ino || h.Lost() {
			t.Error("it is no longer the same lock")
		}
		p.release(h)
		p.empty()
	})
}

// A lock that another program has taken over between our judgement and our taking
// it away goes back, so that its holder knows it again.
func TestTheWrongLockIsPutBack(t *testing.T) {
	both(t, func(t *testing.T, lock locking) {
		p := newPlace(t)
		h, err := lock(t.Context(), p.dir, "1.json", patient(p.path))
		if err != nil {
			t.Fatal(err)
		}
		theirs := p.foreign("2.json", time.Second)
		if err := h.TakeAway("2.json.lock", swapfile.Stamp{Ino: theirs.Ino, MTime: theirs.MTime - 1}); err != nil {
			t.Error(err)
		}
		if back := p.stamp("2.json"); back.MTime != theirs.MTime {
			t.Errorf("it came back as %+v, was %+v", back, theirs)
		}
		if err := h.TakeAway("2.json.lock", p.stamp("2.json")); err != nil {
			t.Error(err)
		}
		if err := h.TakeAway("2.json.lock", theirs); err != nil {
			t.Errorf("nothing is there: %v", err)
		}
		p.release(h)
		p.empty()
	})
}

func TestWhatIsNoLockStays(t *testing.T) {
	both(t, func(t *testing.T, lock locking) {
		p := newPlace(t)
		p.foreign("1.json", time.Hour)
		inside := filepath.Join(p.path, "list", "1.json.lock", "keep")
		if err := os.WriteFile(inside, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p.date("1.json", time.Hour)
		if _, err := lock(t.Context(), p.dir, "1.json", short(p.path)); err == nil || errors.Is(err, dirlock.ErrHeld) {
			t.Errorf("a folder with something in it: %v", err)
		}
		if err := os.WriteFile(filepath.Join(p.path, "list", "2.json.lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lock(t.Context(), p.dir, "2.json", short(p.path)); !errors.Is(err, swapfile.ErrIrregular) {
			t.Errorf("a file: %v, want %v", err, swapfile.ErrIrregular)
		}
		if _, err := os.Stat(inside); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkLock(b *testing.B) {
	p := newPlace(b)
	b.Run("lock and release", func(b *testing.B) {
		for b.Loop() {
			h, err := dirlock.Lock(b.Context(), p.dir, "1.json", patient(p.path))
			if err != nil {
				b.Fatal(err)
			}
			p.release(h)
		}
	})
	b.Run("mkdir and rmdir alone", func(b *testing.B) {
		name := filepath.Join(p.path, "list", "1.json.lock")
		for b.Loop() {
			if err := errors.Join(os.Mkdir(name, 0o700), os.Remove(name)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
