package sqlite

import (
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite syncs with fdatasync where it was built to, and this one was not. With fsync
// a file system also stores when the file was last written to, at a place of its own,
// for every commit.

// files is SQLite's way to files, with another way to sync them. What C's code looks
// at stands in C's memory, as long as the process lives.
var files struct {
	open func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32

	sync.Mutex
	methods map[uintptr]uintptr // by those that they replace: a log has others than its database
}

// syncDataOnly makes it the way that is taken. Where it cannot, fsync is as safe.
func syncDataOnly(tls *libc.TLS) {
	theirs := lib.Xsqlite3_vfs_find(tls, 0)
	if theirs == 0 {
		return
	}
	vfs := copied(tls, at[lib.Tsqlite3_vfs](theirs))
	if vfs == nil {
		return
	}
	files.open = *(*func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{vfs.FxOpen}))
	files.methods = map[uintptr]uintptr{}
	vfs.FxOpen = pointer(openFile)
	lib.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(vfs)), 1)
}

// copied is something in C's memory a second time, nil where that is full.
func copied[T any](tls *libc.TLS, of *T) *T {
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*of)))
	if p == 0 {
		return nil
	}
	*at[T](p) = *of
	return at[T](p)
}

func openFile(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	rc := files.open(tls, vfs, name, file, flags, out)
	opened := at[lib.TunixFile](file)
	if rc != lib.SQLITE_OK || opened.FpMethod == 0 {
		return rc
	}
	files.Lock()
	defer files.Unlock()
	ours := files.methods[opened.FpMethod]
	if ours == 0 {
		methods := copied(tls, at[lib.Tsqlite3_io_methods](opened.FpMethod))
		if methods == nil {
			return rc
		}
		methods.FxSync = pointer(syncFile)
		ours = uintptr(unsafe.Pointer(methods))
		files.methods[opened.FpMethod] = ours
	}
	opened.FpMethod = ours
	return rc
}

// syncFile is SQLite's own way to sync a file, but for the call that does so.
func syncFile(_ *libc.TLS, file uintptr, _ int32) int32 {
	opened := at[lib.TunixFile](file)
	err := unix.Fdatasync(int(opened.Fh))
	for err == unix.EINTR {
		err = unix.Fdatasync(int(opened.Fh))
	}
	if err != nil {
		errno, _ := err.(unix.Errno)
		opened.FlastErrno = int32(errno)
		return lib.SQLITE_IOERR_FSYNC
	}
	if opened.FctrlFlags&lib.UNIXFILE_DIRSYNC != 0 { // once, because the file may be new
		opened.FctrlFlags &^= lib.UNIXFILE_DIRSYNC
		if dir, err := unix.Open(filepath.Dir(libc.GoString(opened.FzPath)), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.Fsync(dir) // not every file system can
			_ = unix.Close(dir)
		}
	}
	return lib.SQLITE_OK
}
