//go:build unix

package soak_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planted are the names in a state folder that a link could stand under.
var planted = []string{"cadre.db", "cadre.db-wal", "cadre.db-shm", "cadre.db-journal", "cadre.lock", "heads", "heads/docs", "heads/@host", "anchor.key"}

// TestSoakPlantedLinks puts symbolic links into the state folder that lead out of
// it, to files, to folders and to nothing. Commands refuse with an error or work
// without following, and never touch what the links lead to.
func TestSoakPlantedLinks(t *testing.T) {
	t.Parallel()
	prepared := newMachine(t)
	prepared.must("team", "create", "docs")
	prepared.must("task", "add", "one", "--scope", "docs")
	refused, worked := 0, 0
	for _, name := range planted {
		for _, target := range []string{"file", "folder", "nothing", "own"} {
			outer := t.TempDir()
			m := prepared.copyOf(filepath.Join(outer, "home"))
			m.plant(name, filepath.Join(outer, target))
			before := listing(t, outer, m.state)
			for _, args := range [][]string{
				{"task", "add", "two", "--scope", "docs"},
				{"task", "list", "--scope", "docs"},
				{"team", "create", "more"},
				{"audit", "anchor"},
				{"audit", "verify"},
			} {
				r := m.run(args...)
				switch {
				case r.code == 0:
					worked++
				case r.code != 1 || r.out == "" && !strings.HasPrefix(r.err, "cadre: ") || strings.Contains(r.err, "panic"):
					t.Errorf("%s as a link to %s must be refused with exit code 1: %s", name, target, r)
				default:
					refused++
				}
			}
			if after := listing(t, outer, m.state); after != before {
				t.Errorf("%s as a link to %s: something outside of the state folder changed:\n%s\nwas\n%s", name, target, after, before)
			}
			if err := os.Remove(filepath.Join(m.state, name)); err != nil {
				t.Errorf("the link %s was replaced or removed: %v", name, err)
			}
		}
	}
	t.Logf("%d links: %d commands refused, %d worked without following, nothing outside was touched", len(planted)*4, refused, worked)
}

// plant puts a link in the place of a file of the state folder, and makes what it
// leads to: a file, a folder, nothing, or the very file that it replaces.
func (m *machine) plant(name, target string) {
	m.t.Helper()
	path := filepath.Join(m.state, name)
	var err error
	switch filepath.Base(target) {
	case "file":
		err = os.WriteFile(target, []byte("do not touch"), 0o600)
	case "folder":
		err = os.MkdirAll(filepath.Join(target, "in"), 0o700)
	case "own":
		if err = os.Rename(path, target); os.IsNotExist(err) {
			err = os.WriteFile(target, nil, 0o600)
		}
	}
	if err == nil {
		err = os.RemoveAll(path)
	}
	if err == nil {
		err = os.Symlink(target, path)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}
