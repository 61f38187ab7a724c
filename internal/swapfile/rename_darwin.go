package swapfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	noReplace = unix.RENAME_EXCL
	exchange  = unix.RENAME_SWAP
)

func renameAt(dir *os.File, from, to string, how uint) error {
	err := with(dir, func(fd int) error { return unix.RenameatxNp(fd, from, fd, to, uint32(how)) })
	if err == unix.EINVAL { // a file system that does not know the flag
		err = errors.ErrUnsupported
	}
	return err
}
