// Package swapfile puts files in place in a folder that has a second writer who
// never asks: one that writes whenever it likes, in place or by rename, and takes
// no lock. Nothing is overwritten unseen. A new file takes a name only if it is
// free, a changed one trades places with the old, a removed one is renamed away,
// and the old file is given back to be looked at.
//
// At every moment a reader finds under the name the whole old or the whole new
// content, also when the process is killed. Nothing is synced: what these files
// say must be durable elsewhere.
//
// A file in the making, or an old one being looked at, stands beside the name as
// .cadre-RANDOM.NAME.tmp. A killed process leaves it there, and in it possibly the
// only copy of what the second writer wrote last: see Sweep. The random part also
// says what was to be written, so that such a copy is told from a file that never
// got its place.
//
// Linux and macOS have a system call for each step. Elsewhere, and on file systems
// that do not know it, a new name is taken by a hard link, or where there are none
// by looking first; and what is renamed onto the name between a look at the old
// file and its replacement is lost unseen.
package swapfile

import (
	"errors"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// Create puts data under a name that must be free; where it is not, exists is true
// and nothing was written. The file's mode is 0600.
//
// The stamp's MTime is set by Create, in the same way as by Exchange, to this
// moment with all its nanoseconds and never to one of the file system's clock
// ticks. So a later write by somebody else always changes it, even one of the same
// length in the same tick, on every file system that keeps nanoseconds.
func Create(d *Dir, name string, data []byte) (now Stamp, exists bool, err error) {
	t, err := d.write(name, data, 0o600)
	if err != nil {
		return Stamp{}, false, err
	}
	defer t.file.Close()
	if err := d.place(t.name, name); err != nil {
		d.root.Remove(t.name)
		if errors.Is(err, fs.ErrExist) {
			return Stamp{}, true, nil
		}
		return Stamp{}, false, err
	}
	return t.placed(), false, nil
}

// Exchange replaces a file, which must be there (fs.ErrNotExist), keeps its mode,
// and gives back the old one.
func Exchange(d *Dir, name string, data []byte) (now Stamp, old *Old, err error) {
	_, mode, err := regular(d, name)
	if err != nil {
		return Stamp{}, nil, err
	}
	t, err := d.write(name, data, mode.Perm())
	if err != nil {
		return Stamp{}, nil, err
	}
	defer t.file.Close()
	err = d.swap(t.name, name)
	if errors.Is(err, errors.ErrUnsupported) {
		old, err = d.replace(t.name, name)
	} else if err == nil {
		if old, err = d.keep(t.name); err != nil {
			err = errors.Join(err, d.swap(t.name, name))
		}
	}
	if err != nil {
		// Only what is ours: the second writer may have replaced it while it was in place.
		if s, _, e := lstat(d, t.name); e == nil && s.Ino == t.stamp.Ino {
			d.root.Remove(t.name)
		}
		return Stamp{}, nil, err
	}
	return t.placed(), old, nil
}

// Remove takes a file away and gives it back as Exchange does.
func Remove(d *Dir, name string) (*Old, error) {
	if _, _, err := regular(d, name); err != nil {
		return nil, err
	}
	away := TempName(name)
	if err := d.root.Rename(name, away); err != nil {
		return nil, err
	}
	old, err := d.keep(away)
	if err != nil {
		return nil, errors.Join(err, d.place(away, name))
	}
	return old, nil
}

// Old is a file that no longer has its name. A writer that had it open may still
// be writing to it. Losing the name changed its CTime.
type Old struct {
	dir  *Dir
	file *os.File
	temp string // its name for now, if it has one
}

// Read gives what is in the file now, as Read does for one with a name. It may be
// called again to see whether a writer has finished.
func (o *Old) Read(max int64) ([]byte, Stamp, error) { return readSteady(o.file, max) }

// Leave closes the file and lets it stand, for Sweep to find.
func (o *Old) Leave() error { return o.file.Close() }

// Done removes the file for good.
func (o *Old) Done() error {
	err := o.file.Close()
	if o.temp == "" {
		return err
	}
	if gone := o.dir.root.Remove(o.temp); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// keep opens a file that was moved to a temporary name.
func (d *Dir) keep(temp string) (*Old, error) {
	f, err := openPlain(d, temp)
	if err != nil {
		return nil, err
	}
	return &Old{dir: d, file: f, temp: temp}, nil
}

// replace is Exchange in two steps. The old file stays open and so can be read
// when its name is gone.
func (d *Dir) replace(temp, name string) (*Old, error) {
	f, err := openPlain(d, name)
	if err != nil {
		return nil, err
	}
	if err := d.root.Rename(temp, name); err != nil {
		f.Close()
		return nil, err
	}
	return &Old{dir: d, file: f}, nil
}

// place gives a file with a temporary name a free one, by the best way there is.
func (d *Dir) place(temp, name string) error {
	err := d.Move(temp, name)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = d.root.Link(temp, name); err == nil {
		return d.root.Remove(temp)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := d.root.Lstat(name); err == nil {
		return fs.ErrExist
	}
	return d.root.Rename(temp, name)
}

// temporary is a file that is complete but not in place.
type temporary struct {
	name  string
	file  *os.File
	stamp Stamp
}

func (d *Dir) write(name string, data []byte, mode fs.FileMode) (*temporary, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	t := &temporary{name: tempName(name, "-"+sum(data))}
	var err error
	if t.file, err = d.root.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if _, err = t.file.Write(data); err == nil && mode != 0o600 {
		err = t.file.Chmod(mode)
	}
	if err == nil {
		err = t.date(d)
	}
	if err != nil {
		t.file.Close()
		d.root.Remove(t.name)
		return nil, err
	}
	return t, nil
}

// date sets the file's MTime. The kernel dates a write with the last tick of its
// clock, which is what CTime now says; another time within this tick is one that no
// write will ever get.
func (t *temporary) date(d *Dir) error {
	for range 2 {
		now := time.Now()
		err := d.root.Chtimes(t.name, now, now)
		if err == nil {
			t.stamp, _, err = fstat(t.file)
		}
		if err != nil || t.stamp.MTime != t.stamp.CTime {
			return err
		}
	}
	return nil // a file system that keeps no nanoseconds
}

// placed is the stamp of a file that was just put in place, which changed its
// CTime. If somebody has written to it already, it is the stamp of what they did
// not leave.
func (t *temporary) placed() Stamp {
	if s, _, err := fstat(t.file); err == nil && s.MTime == t.stamp.MTime && s.Size == t.stamp.Size {
		return s
	}
	return t.stamp
}

const (
	tempPrefix = ".cadre-"
	tempSuffix = ".tmp"
)

// TempName makes a name that ends in no extension anybody reads, that Sweep knows,
// and that says whose place it is for, if there is room for that.
func TempName(name string) string { return tempName(name, "") }

func tempName(name, sum string) string {
	random := tempPrefix + strconv.FormatUint(rand.Uint64(), 36) + sum
	if len(random)+1+len(name)+len(tempSuffix) > 255 {
		return random + tempSuffix
	}
	return random + "." + name + tempSuffix
}

// sum tells contents apart. It need not withstand anybody who wants two to be one.
func sum(data []byte) string {
	h := fnv.New64a()
	h.Write(data)
	return strconv.FormatUint(h.Sum64(), 36)
}
