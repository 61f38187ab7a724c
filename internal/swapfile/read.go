package swapfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrTooLarge is for a file that is larger than its reader takes.
var ErrTooLarge = errors.New("the file is too large")

// ErrChanging is for a file that is written so often that no reading of it is of
// one moment.
var ErrChanging = errors.New("the file changes while it is read")

// Read gives a file's content and the stamp that belongs to it: a file that
// changed in the meantime is read again. It never waits, also not for a pipe
// (ErrIrregular), and reads no more than max bytes (ErrTooLarge).
//
// The stamp can miss a second write within one tick of the file system's clock.
// Who keeps it compares the content again while MTime is that fresh.
func Read(d *Dir, name string, max int64) ([]byte, Stamp, error) {
	f, err := openPlain(d, name)
	if err != nil {
		return nil, Stamp{}, err
	}
	defer f.Close()
	return readSteady(f, max)
}

// openPlain opens a plain file for reading, following no link.
func openPlain(d *Dir, name string) (*os.File, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	f, err := openNoFollow(d, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(d.root.Name(), name), Err: err}
	}
	_, mode, err := fstat(f)
	if err == nil && !mode.IsRegular() {
		err = ErrIrregular
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: err}
	}
	return f, nil
}

func readSteady(f *os.File, max int64) ([]byte, Stamp, error) {
	before, _, err := fstat(f)
	for range 5 {
		if err != nil {
			return nil, Stamp{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
		}
		if before.Size > max {
			return nil, Stamp{}, &fs.PathError{Op: "read", Path: f.Name(), Err: ErrTooLarge}
		}
		data := make([]byte, before.Size)
		n, failed := f.ReadAt(data, 0)
		if failed != nil && failed != io.EOF {
			return nil, Stamp{}, failed
		}
		var after Stamp
		after, _, err = fstat(f)
		if err == nil && after == before && n == len(data) {
			return data, after, nil
		}
		before = after
	}
	return nil, Stamp{}, &fs.PathError{Op: "read", Path: f.Name(), Err: ErrChanging}
}
