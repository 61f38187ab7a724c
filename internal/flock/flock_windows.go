package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// try takes the lock if nobody has it.
func try(f *os.File) (bool, error) {
	err := call(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// block waits for the lock.
func block(f *os.File) error { return call(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

func call(f *os.File, flags uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if err != nil {
		err = &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
	return err
}
