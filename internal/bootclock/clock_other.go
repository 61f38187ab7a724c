//go:build !linux && !darwin && !windows

package bootclock

// Now reads the wall clock: this system has no better one that all processes share.
func Now() Reading { return wall() }
