package sqlitestore

import (
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// SetRescan makes followers look by themselves after a time.
func SetRescan(t *testing.T, d time.Duration) {
	old := rescan
	rescan = d
	t.Cleanup(func() { rescan = old })
}

// SetWatcher changes what other processes' commits are heard with.
func SetWatcher(t *testing.T, n func() (*fsnotify.Watcher, error)) {
	old := newWatcher
	newWatcher = n
	t.Cleanup(func() { newWatcher = old })
}
