package bootclock

import (
	"bytes"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Now reads the clock.
func Now() Reading {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return wall()
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return wall()
	}
	return Reading{string(bytes.TrimSpace(id)), time.Duration(ts.Nano())}
}
