package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	lib "modernc.org/sqlite/lib"

	"cadre"
	"cadre/internal/diskfull"
	"cadre/internal/sqlite"
)

// fault says what was being done when the machine failed, and what to type. A
// refusal, and the end of the caller's context or of the store, stay what they are.
func (s *Store) fault(err error, doing string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*cadre.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errClosed) {
		return err
	}
	hint := diskfull.Hint(err, "cadre audit verify", s.dir) // also for a damaged file
	switch code(err) {
	case lib.SQLITE_FULL:
		hint = "df -h " + s.dir
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		hint = "fuser -v " + filepath.Join(s.dir, dbName)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		hint = "ls -la " + s.dir
	case lib.SQLITE_IOERR:
		hint = "df -h " + s.dir + " && dmesg | tail"
	}
	if errors.Is(err, fs.ErrPermission) {
		hint = "ls -la " + s.dir
	}
	return cadre.Fault(err, hint, "%s in %s", doing, s.dir)
}

// code is SQLite's primary result code, 0 for an error that is not SQLite's.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code
	}
	return 0
}
