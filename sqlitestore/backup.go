package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cadre"
)

// Backup writes a whole copy of the database to a new file while the store is in
// use. A file that exists is never written over.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cadre.Refuse(cadre.RuleExists, "cadre backup "+path+".new", "%s already exists", path)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return cadre.Fault(err, "ls -ld "+filepath.Dir(path), "creating the backup")
	}
	if err := s.copyTo(ctx, path); err != nil {
		return errors.Join(s.fault(err, "writing the backup"), os.Remove(path))
	}
	return nil
}

func (s *Store) copyTo(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	r, err := c.query(ctx, "VACUUM INTO ?", path)
	if err == nil {
		_, err = r.next()
		r.close()
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
	if !s.strangeLog() {
		return nil
	}
	if err := s.creating.Acquire(ctx); err != nil {
		return err
	}
	defer func() { _ = s.creating.Release() }()
	if !s.strangeLog() {
		return nil // another process was faster
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
}

// The place in a database's header that says how it is written to, and the value
// of one that has no write-ahead log.
const (
	writeVersion = 18
	withoutLog   = 1
)

func (s *Store) strangeLog() bool {
	if s.walSize() == 0 {
		return false
	}
	f, err := s.root.Open(dbName)
	if err != nil {
		return false
	}
	defer f.Close()
	var version [1]byte
	_, err = f.ReadAt(version[:], writeVersion)
	return err == nil && version[0] == withoutLog
}
