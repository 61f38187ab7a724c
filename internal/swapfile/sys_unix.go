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
	if err := with(d.file, func(fd int) error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return Stamp{}, 0, err
	}
	s, mode := stampOf(&st)
	return s, mode, nil
}

func fstat(f *os.File) (Stamp, fs.FileMode, error) {
	var st unix.Stat_t
	if err := with(f, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
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
	var opened int
	err := with(d.file, func(fd int) (err error) {
		opened, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	switch err {
	case nil:
		return os.NewFile(uintptr(opened), filepath.Join(d.root.Name(), name)), nil
	case unix.ELOOP, unix.EMLINK, unix.ENXIO, unix.EOPNOTSUPP: // a link, or a socket
		return nil, ErrIrregular
	}
	return nil, err
}

// with makes a system call on an open file, again if a signal interrupted it. The
// file cannot be closed meanwhile, and its number not be that of another.
func with(f *os.File, call func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	closed := raw.Control(func(fd uintptr) {
		for {
			if err = call(int(fd)); err != unix.EINTR {
				return
			}
		}
	})
	if closed != nil {
		return closed
	}
	return err
}
