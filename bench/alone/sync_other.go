//go:build !linux

package alone

import "os"

// Sync makes a file durable as a commit does.
func Sync(f *os.File) error { return f.Sync() }
