//go:build unix

package swapfile_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cadre/internal/swapfile"
)

// A pipe nobody writes to would hold up whoever opens it.
func TestPipesAndSocketsStopNobody(t *testing.T) {
	both(t, func(t *testing.T, d *swapfile.Dir, path string) {
		if err := syscall.Mkfifo(filepath.Join(path, "1.json"), 0o600); err != nil {
			t.Fatal(err)
		}
		short, err := os.MkdirTemp("", "s") // a socket's path must be short
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(short)
		l, err := net.Listen("unix", filepath.Join(short, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Rename(filepath.Join(short, "s"), filepath.Join(path, "2.json")); err != nil {
			t.Fatal(err)
		}
		irregular(t, d, "1.json")
		irregular(t, d, "2.json")
	})
}
