package doctor_test

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// likeAnybody takes from the thread of a test, which ends with it, what lets root read
// every file.
func likeAnybody(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		t.Fatal(err)
	}
	data[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if err := unix.Capset(&head, &data[0]); err != nil {
		t.Fatal(err)
	}
}
