// Package sqlite is a connection to an SQLite database, for one goroutine at a
// time. It calls SQLite itself and not its driver for database/sql: a process
// that does one thing and ends has no use for a pool that starts goroutines, every
// statement is prepared once, and what is bound is copied once.
package sqlite

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Error is SQLite's own.
type Error struct {
	Code int // the primary result code
	Text string
}

func (e *Error) Error() string { return e.Text }

// Conn is one connection.
type Conn struct {
	tls   *libc.TLS
	db    uintptr
	text  room               // of the statement that is being prepared
	stmts map[string][]*stmt // prepared and not in use, by their text
}

// ready makes SQLite fit for this machine, once.
var ready = sync.OnceFunc(func() {
	lib.PatchIssue199()
	configure()
})

// frames and frameSize are what SQLite's calls use of the stack that stands for C's,
// but for few. They would be made one by one in sizes of their own, and each size is
// asked from the system.
const (
	frames    = 25
	frameSize = 512
)

// patience is how long a statement waits for another connection, in milliseconds.
const patience = 10_000

// Open opens a database file. Options are those of SQLite's URI names.
func Open(path, options string) (*Conn, error) {
	ready()
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	name := (&url.URL{Scheme: "file", Path: slashed, RawQuery: options}).String()
	c := &Conn{tls: libc.NewTLS(), stmts: map[string][]*stmt{}}
	for range frames {
		c.tls.Alloc(frameSize)
	}
	for range frames {
		c.tls.Free(frameSize) // kept for the calls to come
	}
	out := c.tls.Alloc(pointerSize)
	defer c.tls.Free(pointerSize)
	// No lock of SQLite's own: a connection is for one goroutine at a time.
	const flags = lib.SQLITE_OPEN_READWRITE | lib.SQLITE_OPEN_CREATE | lib.SQLITE_OPEN_NOMUTEX | lib.SQLITE_OPEN_URI
	rc := lib.Xsqlite3_open_v2(c.tls, c.text.put(c.tls, name), out, flags, 0)
	c.db = *at[uintptr](out)
	if rc == lib.SQLITE_OK {
		rc = lib.Xsqlite3_busy_timeout(c.tls, c.db, patience)
	}
	if rc != lib.SQLITE_OK {
		err := c.error(rc)
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection. No answer may be open.
func (c *Conn) Close() error {
	for _, list := range c.stmts {
		for _, st := range list {
			lib.Xsqlite3_finalize(c.tls, st.p) // repeats an error that was told before
			st.room.free(c.tls)
		}
	}
	c.stmts = nil
	var err error
	if rc := lib.Xsqlite3_close_v2(c.tls, c.db); rc != lib.SQLITE_OK {
		err = c.error(rc)
	}
	c.text.free(c.tls)
	c.tls.Close()
	return err
}

// error is what SQLite says about a result code.
func (c *Conn) error(rc int32) error {
	text := libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))
	if more := libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db)); c.db != 0 && more != text {
		text += ": " + more
	}
	return &Error{int(rc & 0xff), text}
}

// Script runs statements that answer nothing, without keeping them.
func (c *Conn) Script(ctx context.Context, text string) error {
	defer c.until(ctx)()
	rc := lib.Xsqlite3_exec(c.tls, c.db, c.text.put(c.tls, text), 0, 0, 0)
	if rc == lib.SQLITE_OK {
		return nil
	}
	if err := ctx.Err(); err != nil && rc&0xff == lib.SQLITE_INTERRUPT {
		return err
	}
	return c.error(rc)
}

// until interrupts the connection when a context ends, and gives what ends that.
// SQLite forgets an interrupt that comes before its statement, so there is more
// than one.
func (c *Conn) until(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	stopped, left := make(chan struct{}), make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(left)
		for {
			lib.Xsqlite3_interrupt(c.tls, c.db)
			select {
			case <-stopped:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() {
		close(stopped)
		if !cancel() {
			<-left // whoever has the connection next is not meant
		}
	}
}

const pointerSize = int(unsafe.Sizeof(uintptr(0)))

// at is a place in SQLite's memory, which Go neither moves nor frees.
func at[T any](p uintptr) *T { return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

// span is so many bytes of SQLite's memory.
func span(p uintptr, n int) []byte { return unsafe.Slice(at[byte](p), n) }

// room is some of SQLite's memory, used again and again. The zero value is empty.
type room struct {
	p    uintptr
	size int
}

// fit makes room for so many bytes. What was there may be lost.
func (r *room) fit(tls *libc.TLS, n int) {
	if n <= r.size {
		return
	}
	r.free(tls)
	r.size = max(256, 2*n)
	if r.p = lib.Xsqlite3_malloc64(tls, uint64(r.size)); r.p == 0 {
		panic("out of memory")
	}
}

// put keeps one text with a zero behind it, and says where.
func (r *room) put(tls *libc.TLS, text string) uintptr {
	r.fit(tls, len(text)+1)
	b := span(r.p, len(text)+1)
	b[copy(b, text)] = 0
	return r.p
}

func (r *room) free(tls *libc.TLS) {
	if r.p != 0 {
		lib.Xsqlite3_free(tls, r.p)
	}
	*r = room{}
}
