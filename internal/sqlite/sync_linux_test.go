package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// A database and its log are both synced our way, and what cannot be synced is an
// error. (That a commit fails with it, TestSoakFaults sees.)
func TestSyncFile(t *testing.T) {
	c, err := Open(filepath.Join(t.TempDir(), "a.db"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Script(context.Background(), "PRAGMA journal_mode=WAL; CREATE TABLE t(x)"); err != nil {
		t.Fatal(err)
	}
	if len(files.methods) < 2 {
		t.Errorf("%d kinds of files are synced our way", len(files.methods))
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pipe := &lib.TunixFile{Fh: int32(w.Fd())}
	if rc := syncFile(c.tls, uintptr(unsafe.Pointer(pipe)), 0); rc != lib.SQLITE_IOERR_FSYNC || pipe.FlastErrno == 0 {
		t.Errorf("syncing a pipe gave %d, with error %d", rc, pipe.FlastErrno)
	}
}
