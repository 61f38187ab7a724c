package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"cadre"
)

// Backup writes a whole copy of the database to a new file while the store is in
// use. A file that exists is never written over. The copy gets its name when it
// is whole and durable: what a process leaves that was killed has another.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return cadre.Fault(err, "pwd", "finding the folder of the backup")
	}
	exists := cadre.Refuse(cadre.RuleExists, "cadre backup "+path+".new", "%s already exists", path)
	if _, err := os.Lstat(path); err == nil {
		return exists
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".unfinished-*")
	if err != nil {
		return cadre.Fault(err, "ls -ld "+filepath.Dir(path), "creating the backup")
	}
	temp := f.Name()
	err = f.Close()
	if err == nil {
		err = s.copyTo(ctx, temp)
	}
	if err == nil {
		err = publish(temp, path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = exists
	}
	if err != nil {
		err = s.fault(err, "writing the backup")
		if gone := os.Remove(temp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// publish gives a file its name, unless something else has that name, and
// makes that durable. A link never replaces anything; where a file system has no
// links, looking first must do.
func publish(temp, path string) error {
	err := os.Link(temp, path)
	switch {
	case err == nil:
		err = os.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return err
	default:
		if _, taken := os.Lstat(path); taken == nil {
			return fs.ErrExist
		}
		err = os.Rename(temp, path)
	}
	if err != nil || runtime.GOOS == "windows" { // where folders cannot be synced
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// copyTo writes the copy into an empty file.
func (s *Store) copyTo(ctx context.Context, path string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	r, err := c.Query(ctx, "VACUUM INTO ?", path)
	if err == nil {
		_, err = r.Next()
		r.Close()
	}
	s.release(c, err == nil)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// setAside looks for a write-ahead log that belongs to another database: a backup
// was put in the database's place and the old one's log was left beside it.
// SQLite would play it onto the backup and wreck it. A copy that Backup made says
// in its header that it has no such log, which a database in use never does.
func (s *Store) setAside(ctx context.Context) error {
	return s.exclusively(ctx, func(context.Context) error {
		if s.mode() != withoutLog || s.walSize() == 0 {
			return nil // or another process was faster
		}
		for n := 1; ; n++ {
			name := fmt.Sprintf("%s-wal.set-aside-%d", dbName, n)
			if _, err := s.root.Lstat(name); err == nil {
				continue
			}
			if err := s.root.Rename(dbName+"-wal", name); err != nil {
				return err
			}
			err := s.root.Remove(dbName + "-shm")
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		}
	})
}

// mode is what a database's header says about how it is written to, 0 where that
// cannot be read.
func (s *Store) mode() byte {
	f, err := s.root.Open(dbName)
	if err != nil {
		return 0
	}
	defer f.Close()
	var mode [1]byte
	_, _ = f.ReadAt(mode[:], writeVersion)
	return mode[0]
}

// The place of the mode in the header, and what stands there.
const (
	writeVersion = 18
	withoutLog   = 1
	withLog      = 2
)
