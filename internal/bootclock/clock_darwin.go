package bootclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now reads the clock.
func Now() Reading {
	var ts unix.Timespec
	// The raw monotonic clock counts the time asleep too.
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		return wall()
	}
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return wall()
	}
	return Reading{id, time.Duration(ts.Nano())}
}
