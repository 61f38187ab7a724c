//go:build unix

package swapfile

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func lstat(d *Dir, name string) (Stamp, fs.FileMode, error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstatat(int(d.file.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return Stamp{}, 0, err
	}
	s, mode := stampOf(&st)
	return s, mode, nil
}

func fstat(f *os.File) (Stamp, fs.FileMode, error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return Stamp{}, 0, err
	}
	s, mode := stampOf(&st)
	return s, mode, nil
}

func stampOf(st *unix.Stat_t) (Stamp, fs.FileMode) {
	mode := fs.FileMode(st.Mode) & fs.ModePerm
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	default:
		mode |= fs.ModeIrregular
	}
	return Stamp{Ino: uint64(st.Ino), Size: st.Size, MTime: st.Mtim.Nano(), CTime: st.Ctim.Nano()}, mode
}

// openNoFollow opens without waiting, so that a pipe stops nobody.
func openNoFollow(d *Dir, name string) (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(int(d.file.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), filepath.Join(d.root.Name(), name)), nil
	case unix.ELOOP, unix.EMLINK, unix.ENXIO, unix.EOPNOTSUPP: // a link, or a socket
		return nil, ErrIrregular
	}
	return nil, err
}

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
