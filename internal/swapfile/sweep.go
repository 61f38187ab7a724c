package swapfile

import (
	"errors"
	"io/fs"
	"strings"
	"time"
)

// Sweep removes what killed processes left, once it is older than any living one
// would leave it. A leftover file may be an old one that was never looked at: it is
// first given to look, unless that is nil, with the name it belongs to (or ""
// where that was too long to keep), and stays if look returns an error. It may as
// well be an unfinished new one.
func Sweep(d *Dir, olderThan time.Duration, look func(name string, old *Old) error) error {
	list, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer list.Close()
	names, err := list.Readdirnames(-1)
	for _, temp := range names {
		if strings.HasPrefix(temp, tempPrefix) && strings.HasSuffix(temp, tempSuffix) {
			err = errors.Join(err, d.sweep(temp, olderThan, look))
		}
	}
	return err
}

func (d *Dir) sweep(temp string, olderThan time.Duration, look func(name string, old *Old) error) error {
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
	if look != nil {
		_, name, _ := strings.Cut(strings.TrimSuffix(temp, tempSuffix)[len(tempPrefix):], ".")
		if err := look(name, old); err != nil {
			return errors.Join(err, old.file.Close())
		}
	}
	return old.Done()
}
