package swapfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// ErrIrregular is for what is neither a plain file nor a plain folder where one
// of them is expected: a link, a pipe, a socket, a device.
var ErrIrregular = errors.New("neither a plain file nor a plain folder")

// Dir is an opened folder. Whatever happens to its path afterwards, all work is
// done in this very folder. Goroutines may share it.
type Dir struct {
	root  *os.Root
	file  *os.File    // the same folder, for system calls that want a descriptor
	basic atomic.Bool // the file system knows neither exchange nor no-replace
}

// Open opens a folder below root, given as a path with slashes. No part of it may
// be a link (ErrIrregular), not even one that stays inside the root.
func Open(root *os.Root, path string) (*Dir, error) {
	at := root
	for part := range strings.SplitSeq(path, "/") {
		next, err := step(at, part)
		if at != root {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	file, err := at.Open(".")
	if err != nil {
		at.Close()
		return nil, err
	}
	return &Dir{root: at, file: file}, nil
}

// step opens one folder and makes sure that it is what stands under the name.
func step(at *os.Root, name string) (*os.Root, error) {
	if err := single(name); err != nil && name != "." {
		return nil, err
	}
	seen, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(at.Name(), name), Err: ErrIrregular}
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = &fs.PathError{Op: "open", Path: next.Name(), Err: ErrIrregular}
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// Root gives the folder itself, for what this package does not do. It is closed
// with the Dir.
func (d *Dir) Root() *os.Root { return d.root }

// Close closes the folder.
func (d *Dir) Close() error {
	return errors.Join(d.file.Close(), d.root.Close())
}

// Move renames a file or folder to a name that must be free (fs.ErrExist), as one
// step. Where the system has no such step it does nothing and the error is
// errors.ErrUnsupported.
func (d *Dir) Move(from, to string) error { return d.rename("move", noReplace, from, to) }

// swap exchanges two names as one step, or is errors.ErrUnsupported.
func (d *Dir) swap(a, b string) error { return d.rename("swap", exchange, a, b) }

func (d *Dir) rename(op string, how uint, from, to string) error {
	if err := errors.Join(single(from), single(to)); err != nil {
		return err
	}
	err := errors.ErrUnsupported
	if !d.basic.Load() {
		if err = renameAt(d.file, from, to, how); errors.Is(err, errors.ErrUnsupported) {
			d.basic.Store(true)
		}
	}
	if err != nil {
		return &os.LinkError{Op: op, Old: filepath.Join(d.root.Name(), from), New: to, Err: err}
	}
	return nil
}

// single refuses what is not the name of something right inside a folder.
func single(name string) error {
	if name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return fmt.Errorf("%w: %q is not a plain file name", fs.ErrInvalid, name)
	}
	return nil
}
