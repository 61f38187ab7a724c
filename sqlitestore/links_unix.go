//go:build unix

package sqlitestore

import (
	"io/fs"
	"syscall"
)

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) // its type differs between systems
	}
	return 1
}

// ownedBy says whether a file is a user's own; to the superuser all are.
func ownedBy(info fs.FileInfo, user int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || user == 0 || int(st.Uid) == user
}
