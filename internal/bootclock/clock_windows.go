package bootclock

import (
	"strconv"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

const bootKey = `SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`

// Now reads the clock. Windows counts its boots in the registry.
func Now() Reading {
	up := windows.DurationSinceBoot()
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, bootKey, registry.QUERY_VALUE)
	if err != nil {
		return Reading{"windows", up}
	}
	defer key.Close()
	n, _, err := key.GetIntegerValue("BootId")
	if err != nil {
		return Reading{"windows", up}
	}
	return Reading{"windows-" + strconv.FormatUint(n, 10), up}
}
