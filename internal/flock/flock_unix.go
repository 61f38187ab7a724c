//go:build unix

package flock

import (
	"errors"
	"os"
	"syscall"
)

// try takes the lock if nobody has it.
func try(f *os.File) (bool, error) {
	err := call(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// block waits for the lock.
func block(f *os.File) error { return call(f, syscall.LOCK_EX) }

func unlock(f *os.File) error { return call(f, syscall.LOCK_UN) }

func call(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = raw.Control(func(fd uintptr) {
		for {
			lockErr = syscall.Flock(int(fd), how)
			if lockErr != syscall.EINTR {
				return
			}
		}
	})
	if err == nil && lockErr != nil {
		err = &os.PathError{Op: "flock", Path: f.Name(), Err: lockErr}
	}
	return err
}
