package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// keyByKey has a terminal hand over each key at once and show none of them; what
// interrupts still does. The function gives back how it was.
func keyByKey(f *os.File) (func(), error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &now); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil // the terminal may be gone
}
