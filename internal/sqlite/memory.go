package sqlite

import (
	"math/bits"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// memory is what SQLite works in. The library's own asks the system for a page of
// every size, with three calls each, and gives it back when its last piece is free,
// which is some hundredths of every command. This one cuts large blocks into pieces
// and keeps what is freed for the next piece of that size.
var memory struct {
	sync.Mutex
	rest uintptr // of the newest block
	left int     // how long that is
	free [2*largestBits + 1]uintptr
}

const (
	header      = 8 // before each piece: how long it is
	largestBits = 16
	blockSize   = 4 << largestBits
)

// class is which size a piece of n bytes has with its header: the powers of two and
// what lies half between two of them. Past the largest there is none.
func class(n int32) (class, size int) {
	need := max(int(n)+header, 32)
	k := bits.Len(uint(need - 1))
	if k > largestBits {
		return 0, 0
	}
	if size = 3 << (k - 2); need <= size {
		return 2*k - 1, size
	}
	return 2 * k, 1 << k
}

func allocate(tls *libc.TLS, n int32) uintptr {
	c, size := class(n)
	if c == 0 {
		p := libc.Xmalloc(tls, libc.Tsize_t(n)+header)
		if p == 0 {
			return 0
		}
		*at[int64](p) = int64(n)
		return p + header
	}
	memory.Lock()
	defer memory.Unlock()
	if p := memory.free[c]; p != 0 {
		memory.free[c] = *at[uintptr](p)
		return p
	}
	if memory.left < size { // the rest is too small, and lost
		block := libc.Xmalloc(tls, blockSize)
		if block == 0 {
			return 0
		}
		memory.rest, memory.left = block, blockSize
	}
	p := memory.rest
	memory.rest, memory.left = p+uintptr(size), memory.left-size
	*at[int64](p) = int64(size - header)
	return p + header
}

func release(tls *libc.TLS, p uintptr) {
	if p == 0 {
		return
	}
	c, _ := class(sizeOf(tls, p))
	if c == 0 {
		libc.Xfree(tls, p-header)
		return
	}
	memory.Lock()
	defer memory.Unlock()
	*at[uintptr](p) = memory.free[c]
	memory.free[c] = p
}

func resize(tls *libc.TLS, p uintptr, n int32) uintptr {
	old := sizeOf(tls, p)
	if n <= old {
		return p
	}
	larger := allocate(tls, n)
	if larger != 0 {
		copy(span(larger, int(old)), span(p, int(old)))
		release(tls, p)
	}
	return larger
}

// sizeOf is how much fits into a piece.
func sizeOf(_ *libc.TLS, p uintptr) int32 {
	if p == 0 {
		return 0
	}
	return int32(*at[int64](p - header))
}

func roundUp(_ *libc.TLS, n int32) int32 {
	if c, size := class(n); c != 0 {
		return int32(size - header)
	}
	return (n + 7) &^ 7
}

func begin(*libc.TLS, uintptr) int32 { return lib.SQLITE_OK }

func end(*libc.TLS, uintptr) {}

// methods stands where C's code finds it, as long as the process lives.
var methods = lib.Tsqlite3_mem_methods{
	FxMalloc: pointer(allocate), FxFree: pointer(release), FxRealloc: pointer(resize), FxSize: pointer(sizeOf), FxRoundup: pointer(roundUp),
	FxInit: pointer(begin), FxShutdown: pointer(end),
}

// pointer is a function as C's code calls it.
func pointer(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// configure has SQLite use this memory, keep no account of it, and sync files as far as
// it must. Refused, each costs time only.
func configure() {
	tls := libc.NewTLS()
	defer tls.Close()
	for option, value := range map[int32]any{lib.SQLITE_CONFIG_MALLOC: uintptr(unsafe.Pointer(&methods)), lib.SQLITE_CONFIG_MEMSTATUS: int32(0)} {
		args := libc.NewVaList(value)
		lib.Xsqlite3_config(tls, option, args)
		libc.Xfree(tls, args)
	}
	syncDataOnly(tls)
}
