package sqlitestore

import (
	"context"
	"errors"
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
