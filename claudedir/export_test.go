package claudedir

import (
	"os"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"cadre"
)

// SetLeftover makes a temporary file count as left by a crash after a time.
func SetLeftover(t *testing.T, d time.Duration) {
	old := leftover
	leftover = d
	t.Cleanup(func() { leftover = old })
}

// SetRescan makes followers look by themselves after a time.
func SetRescan(t *testing.T, d time.Duration) {
	old := rescan
	rescan = d
	t.Cleanup(func() { rescan = old })
}

// SetWatcher changes what followers hear with.
func SetWatcher(t *testing.T, n func() (*fsnotify.Watcher, error)) {
	old := newWatcher
	newWatcher = n
	t.Cleanup(func() { newWatcher = old })
}

// SawOldClient says whether a folder of memories knows of an older client.
func SawOldClient(t *testing.T, folder string, scope cadre.Scope) bool {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m, err := loadMemory(root, scope)
	if err != nil || m.saved == "" {
		t.Fatalf("nothing is remembered: %v", err)
	}
	m.close()
	return m.OldAt != 0
}
