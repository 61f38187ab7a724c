// Package flock is a lock between processes that the kernel gives up when its
// holder dies. The lock belongs to an open file, so the file must never be
// removed or replaced while anyone uses it.
package flock

import (
	"context"
	"os"
)

// Lock is a lock file that is kept open. It is for one goroutine at a time.
type Lock struct {
	open func() (*os.File, error)
	kept *os.File
	slow *os.File // the open file that holds the lock, where it had to be waited for
}

// New makes a lock of a file that open opens for writing. Nothing is opened yet.
func New(open func() (*os.File, error)) *Lock { return &Lock{open: open} }

// Acquire takes the lock, waiting for it until the context ends.
func (l *Lock) Acquire(ctx context.Context) error {
	got, err := l.TryAcquire()
	if got || err != nil {
		return err
	}
	return l.wait(ctx)
}

// TryAcquire takes the lock if nobody has it, and says whether it did.
func (l *Lock) TryAcquire() (bool, error) {
	if l.kept == nil {
		f, err := l.open()
		if err != nil {
			return false, err
		}
		l.kept = f
	}
	return try(l.kept)
}

// wait blocks on an open file of its own: one that is given up when the context
// ends can then not undo a later Acquire of this process.
func (l *Lock) wait(ctx context.Context) error {
	f, err := l.open()
	if err != nil {
		return err
	}
	if ctx.Done() == nil {
		if err := block(f); err != nil {
			f.Close()
			return err
		}
		l.slow = f
		return nil
	}
	result := make(chan error)
	go func() {
		err := block(f)
		select {
		case result <- err:
		case <-ctx.Done():
			f.Close()
		}
	}()
	select {
	case err := <-result:
		if err != nil {
			f.Close()
			return err
		}
		l.slow = f
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release gives the lock up.
func (l *Lock) Release() error {
	if f := l.slow; f != nil {
		l.slow = nil
		return f.Close()
	}
	return unlock(l.kept)
}

// Close closes the file, and with it gives up a lock that is still held.
func (l *Lock) Close() error {
	if l.slow != nil {
		l.slow.Close()
		l.slow = nil
	}
	if l.kept == nil {
		return nil
	}
	f := l.kept
	l.kept = nil
	return f.Close()
}
