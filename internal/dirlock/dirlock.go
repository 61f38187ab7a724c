// Package dirlock takes a lock that programs share by making a folder: the lock of
// NAME is held by whoever made NAME.lock, is given up by removing it, and counts as
// left behind when its modification time is older than a limit, which a holder
// therefore keeps moving. It is what npm's proper-lockfile does in its version 4.
//
// Such a lock tells nobody that its holder died. Processes that use this package
// first queue on a file lock, which the kernel frees, and note there which folder
// they are about to put in place. Whoever has the queue and finds that very folder
// knows that its maker is dead, and takes the lock at once.
//
// Among processes with one queue nobody else ever holds the lock at the same time,
// whatever stops or kills them. With other programs it is as good as their own
// protocol: a holder that stands still for longer than the limit loses the lock and
// is told when it looks (Lost, Release); and one of them that stands still between
// finding a lock left behind and removing it may remove that of the next holder.
package dirlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"cadre/internal/flock"
	"cadre/internal/swapfile"
)

// ErrHeld is for a lock that somebody else kept for as long as we wanted to wait.
var ErrHeld = errors.New("somebody else holds the lock")

// ErrLost is for a lock that was taken away from its holder.
var ErrLost = errors.New("the lock was taken away while it was held")

// Options say how a lock is taken.
type Options struct {
	// Queue opens the file that our own processes queue on, for reading and writing,
	// and makes it where it is not there. It lies outside the folder and is never
	// removed. Several locks of one folder may share it; then they exclude one
	// another. Locks of two folders better do not: one that was left behind is looked
	// for in the folder of whoever comes next, and outlasted if it is not there.
	Queue func() (*os.File, error)

	// Stale is how old a lock's modification time must be for the lock to count as
	// left behind: 10 s, if it is zero, which is what other programs take.
	Stale time.Duration

	// Wait is how long to try: if it is zero for Stale and 5 s more, so that a lock
	// left behind is always outlasted.
	Wait time.Duration
}

// Held is a lock that is held.
type Held struct {
	dir   *swapfile.Dir
	lock  string // the folder's name
	stale time.Duration
	move  func(from, to string) error
	queue *flock.Lock
	note  *os.File // the queue's file, opened by who has the lock on it

	mu       sync.Mutex
	ino      uint64 // of the folder we made
	mtime    int64  // that we gave it
	timer    *time.Timer
	released bool
}

// Lock takes the lock of a name in a folder. It waits until Options.Wait is over
// (ErrHeld) or the context ends.
func Lock(ctx context.Context, dir *swapfile.Dir, name string, o Options) (*Held, error) {
	return lock(ctx, dir, name, o, dir.Move)
}

func lock(ctx context.Context, dir *swapfile.Dir, name string, o Options, move func(from, to string) error) (*Held, error) {
	h := &Held{dir: dir, lock: name + ".lock", stale: cmp.Or(o.Stale, 10*time.Second), move: move}
	h.queue = flock.New(func() (*os.File, error) {
		f, err := o.Queue()
		h.note = f
		return f, err
	})
	got, err := h.try()
	if err == nil && !got {
		err = h.wait(ctx, cmp.Or(o.Wait, h.stale+5*time.Second))
	}
	if err != nil {
		h.queue.Close()
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.stale/4, h.refresh)
	return h, nil
}

// try takes the lock if nobody has it, and says whether it did. It asks no context
// for its end: a program may begin to listen for interrupts when it is first asked,
// which costs as much as the lock.
func (h *Held) try() (bool, error) {
	got, err := h.queue.TryAcquire()
	if err == nil && got {
		err = h.tidy()
	}
	if err != nil || !got {
		return false, err
	}
	if _, _, err := swapfile.Lstat(h.dir, h.lock); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = h.put()
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// wait takes the lock once it is free.
func (h *Held) wait(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrHeld)
	defer cancel()
	err := h.queue.Acquire(ctx)
	if err == nil {
		err = h.acquire(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return err
}

// acquire takes the lock while nobody else of ours can.
func (h *Held) acquire(ctx context.Context) error {
	if err := h.tidy(); err != nil {
		return err
	}
	var watched swapfile.Stamp
	var since time.Time
	for ctx.Err() == nil {
		there, mode, err := swapfile.Lstat(h.dir, h.lock)
		if errors.Is(err, fs.ErrNotExist) {
			if err := h.put(); !errors.Is(err, fs.ErrExist) {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if !mode.IsDir() {
			return fmt.Errorf("%s: %w", h.lock, swapfile.ErrIrregular)
		}
		if there != watched {
			watched, since = there, time.Now()
			if err := h.empty(h.lock); err != nil {
				return err
			}
		}
		// Others may date a lock a second or two into the future. One that is dated
		// further, by a clock that was set back, is left behind when it was watched
		// for long enough.
		if time.Since(time.Unix(0, there.MTime)) > h.stale || time.Since(since) > h.stale {
			if err := h.takeAway(h.lock, there); err != nil {
				return err
			}
			continue
		}
		select {
		case <-time.After(time.Millisecond + rand.N(9*time.Millisecond)):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// put makes the lock's folder beside its place, notes it, and moves it there. The
// error is fs.ErrExist where somebody was faster.
func (h *Held) put() error {
	temp := swapfile.TempName(h.lock)
	if err := h.dir.Root().Mkdir(temp, 0o700); err != nil {
		return err
	}
	err := h.sign(temp)
	if err == nil {
		err = h.move(temp, h.lock)
	}
	if err == nil {
		return nil
	}
	h.dir.Root().Remove(temp)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	// Here a kill right after Mkdir leaves a lock that nobody knows to be ours.
	if err := h.dir.Root().Mkdir(h.lock, 0o700); err != nil {
		return err
	}
	if err := h.sign(h.lock); err != nil {
		h.dir.Root().Remove(h.lock)
		return err
	}
	return nil
}

// sign gives a new folder a modification time with all its nanoseconds, by which we
// know it again even when its inode number is given to another, and notes both.
func (h *Held) sign(folder string) error {
	now := time.Now()
	if err := h.dir.Root().Chtimes(folder, now, now); err != nil {
		return err
	}
	s, _, err := swapfile.Lstat(h.dir, folder)
	if err != nil {
		return err
	}
	h.ino, h.mtime = s.Ino, s.MTime
	return h.write(note{h.lock, s.Ino, s.MTime, s.MTime})
}

// takeAway removes a lock that was left behind. Somebody else may have done so and
// hold it by now: so it is moved away first, and put back if it is not the one that
// was judged. A folder with anything in it is no lock and stays.
func (h *Held) takeAway(lock string, judged swapfile.Stamp) error {
	root, away := h.dir.Root(), swapfile.TempName(lock)
	if err := h.empty(lock); err != nil {
		return err
	}
	if err := root.Rename(lock, away); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	moved, _, err := swapfile.Lstat(h.dir, away)
	if err == nil && moved.Ino == judged.Ino && moved.MTime == judged.MTime {
		if err = root.Remove(away); err == nil {
			return nil
		}
	}
	back := h.move(away, lock)
	if errors.Is(back, errors.ErrUnsupported) {
		if back = root.Mkdir(lock, 0o700); back == nil {
			date := time.Unix(0, moved.MTime)
			back = errors.Join(root.Chtimes(lock, date, date), root.Remove(away))
		}
	}
	if errors.Is(back, fs.ErrExist) {
		back = root.Remove(away) // its holder finds another's lock there, as after any other loss
	}
	return errors.Join(err, back)
}

// empty refuses a folder with anything in it.
func (h *Held) empty(lock string) error {
	if inside, _ := fs.ReadDir(h.dir.Root().FS(), lock); len(inside) > 0 {
		return fmt.Errorf("%s is not empty, so it is no lock", lock)
	}
	return nil
}

// Lost says whether the lock has been taken away, or cannot be looked at.
func (h *Held) Lost() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.look() != nil
}

// look is ErrLost where the folder is not the one we made.
func (h *Held) look() error {
	there, _, err := swapfile.Lstat(h.dir, h.lock)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (there.Ino != h.ino || there.MTime != h.mtime) {
		return fmt.Errorf("%s: %w", h.lock, ErrLost)
	}
	return err
}

// Release gives the lock up, once. Its error is ErrLost where somebody took it away
// before: what was done under it may have met what they did.
func (h *Held) Release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	h.timer.Stop()
	err := h.look()
	if err == nil {
		if err = h.dir.Root().Remove(h.lock); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", h.lock, ErrLost)
		}
	}
	return errors.Join(err, h.queue.Release(), h.queue.Close())
}

// refresh keeps a lock from being taken for one left behind. Short holds never get
// here.
func (h *Held) refresh() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return
	}
	if err := h.touch(); !errors.Is(err, ErrLost) {
		h.timer.Reset(h.stale / 4)
	}
}

// touch moves our folder's modification time. It does so through the opened folder
// and so never touches somebody else's.
func (h *Held) touch() error {
	if err := h.look(); err != nil {
		return err
	}
	folder, err := swapfile.Open(h.dir.Root(), h.lock)
	if err != nil {
		return err
	}
	defer folder.Close()
	opened, err := folder.Root().Stat(".")
	if err != nil {
		return err
	}
	if opened.ModTime().UnixNano() != h.mtime {
		return ErrLost
	}
	now := time.Now()
	if err := h.write(note{h.lock, h.ino, h.mtime, now.UnixNano()}); err != nil {
		return err
	}
	if err := folder.Root().Chtimes(".", now, now); err != nil {
		return err
	}
	if opened, err = folder.Root().Stat("."); err != nil {
		return err
	}
	h.mtime = opened.ModTime().UnixNano()
	return nil
}
