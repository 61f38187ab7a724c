package alone

import (
	"os"
	"syscall"
)

// Sync makes a file durable as a commit does.
func Sync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
