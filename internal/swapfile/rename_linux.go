package swapfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	noReplace = unix.RENAME_NOREPLACE
	exchange  = unix.RENAME_EXCHANGE
)

func renameAt(dir *os.File, from, to string, how uint) error {
	err := with(dir, func(fd int) error { return unix.Renameat2(fd, from, fd, to, how) })
	if err == unix.EINVAL { // a file system that does not know the flag
		err = errors.ErrUnsupported
	}
	return err
}
