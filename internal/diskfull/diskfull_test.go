package diskfull_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"cadre/internal/diskfull"
)

func TestHint(t *testing.T) {
	dir := t.TempDir()
	full := fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	for _, tt := range []struct {
		err     error
		folders []string
		want    string
	}{
		{full, []string{dir}, "df -h " + dir},
		{full, []string{filepath.Join(dir, "not", "yet"), dir}, "df -h " + dir},
		{full, []string{dir, filepath.Dir(dir)}, "df -h " + dir + " " + filepath.Dir(dir)},
		{errors.Join(fs.ErrClosed, syscall.EDQUOT), []string{dir}, "df -h " + dir},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EACCES}, []string{dir}, "cadre doctor"},
	} {
		if got := diskfull.Hint(tt.err, "cadre doctor", tt.folders...); got != tt.want {
			t.Errorf("%v in %v: %q, not %q", tt.err, tt.folders, got, tt.want)
		}
	}
}
