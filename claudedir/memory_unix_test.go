//go:build unix

package claudedir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cadre/internal/swapfile"
)

// A pipe in the place of what is remembered is an error, and nobody waits for it.
func TestMemoryIsNoPipe(t *testing.T) {
	for _, part := range []string{".files", ".slots"} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := syscall.Mkfifo(filepath.Join(dir, "docs"+part), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadMemory(root, "docs"); !errors.Is(err, swapfile.ErrIrregular) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
