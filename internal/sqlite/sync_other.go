//go:build !linux

package sqlite

import "modernc.org/libc"

// syncDataOnly leaves it to SQLite how files are synced.
func syncDataOnly(*libc.TLS) {}
