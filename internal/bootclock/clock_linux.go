package bootclock

import (
	"bytes"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Now reads the clock.
func Now() Reading {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return wall()
	}
	id := boot()
	if id == "" {
		return wall()
	}
	return Reading{id, time.Duration(ts.Nano())}
}

// boot is this boot's name, which no process lives long enough to see change.
// It is read without package os, which would have the file polled. Without a name
// the wall clock stands in.
var boot = sync.OnceValue(func() string {
	fd, err := unix.Open("/proc/sys/kernel/random/boot_id", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var id [64]byte
	n, err := unix.Read(fd, id[:])
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id[:n]))
})
