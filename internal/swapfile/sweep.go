package swapfile

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Leftover says whether a name is that of a file in the making or an old one.
func Leftover(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// Sweep finds what killed processes left, once it is older than any living one
// would leave it. A file that never got its place is removed. An old one that was
// possibly never looked at is given to look, with the name it belonged to (or ""
// where that was too long to keep): look has it from then on, and removes it (Done)
// or lets it stand for another time (Leave). With a nil look it is removed.
func Sweep(d *Dir, olderThan time.Duration, look func(name string, old *Old)) error {
	list, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer list.Close()
	names, err := list.Readdirnames(-1)
	for _, temp := range names {
		if Leftover(temp) {
			err = errors.Join(err, d.sweep(temp, olderThan, look))
		}
	}
	return err
}

func (d *Dir) sweep(temp string, olderThan time.Duration, look func(name string, old *Old)) error {
	s, mode, err := Lstat(d, temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if time.Since(time.Unix(0, max(s.MTime, s.CTime))) < olderThan {
		return nil
	}
	if !mode.IsRegular() {
		d.root.Remove(temp) // a lock folder that was never put in place; anything with content stays
		return nil
	}
	old, err := d.keep(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	random, name, _ := strings.Cut(strings.TrimSuffix(temp, tempSuffix)[len(tempPrefix):], ".")
	if look == nil || old.unplaced(random) {
		return old.Done()
	}
	look(name, old)
	return nil
}

// unplaced says whether the file is one that was written and never put in place.
func (o *Old) unplaced(random string) bool {
	_, wanted, ok := strings.Cut(random, "-")
	if !ok {
		return false
	}
	h := fnv.New64a()
	_, err := io.Copy(h, io.NewSectionReader(o.file, 0, 1<<62))
	return err == nil && strconv.FormatUint(h.Sum64(), 36) == wanted
}
