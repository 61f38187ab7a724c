package swapfile

import (
	"io/fs"
	"path/filepath"
)

// Stamp is what the file system says about a file without its content. Two equal
// stamps of one name mean that nobody replaced the file, and that nobody wrote to
// it since, if its MTime is older than the file system's clock tick or was set by
// this package.
type Stamp struct {
	Ino   uint64 // which file it is; the number may be used again when it is gone
	Size  int64
	MTime int64 // when it was written, in nanoseconds since 1970
	CTime int64 // when it was written, renamed, linked or its mode changed; on Windows when it was created
}

// Lstat says what stands under a name, opening nothing and following nothing. Of
// the mode only the permissions and fs.ModeDir are to be relied on: everything
// that is neither file nor folder is fs.ModeIrregular.
func Lstat(d *Dir, name string) (Stamp, fs.FileMode, error) {
	if err := single(name); err != nil {
		return Stamp{}, 0, err
	}
	s, mode, err := lstat(d, name)
	if err != nil {
		return Stamp{}, 0, &fs.PathError{Op: "lstat", Path: filepath.Join(d.root.Name(), name), Err: err}
	}
	return s, mode, nil
}

// Stat is Lstat for a plain file, and ErrIrregular for anything else.
func Stat(d *Dir, name string) (Stamp, error) {
	s, _, err := regular(d, name)
	return s, err
}

func regular(d *Dir, name string) (Stamp, fs.FileMode, error) {
	s, mode, err := Lstat(d, name)
	if err == nil && !mode.IsRegular() {
		err = &fs.PathError{Op: "stat", Path: filepath.Join(d.root.Name(), name), Err: ErrIrregular}
	}
	if err != nil {
		return Stamp{}, 0, err
	}
	return s, mode, nil
}
