package sqlitestore

import (
	"os"
	"runtime"
	"testing"

	"cadre"
)

func TestFolderOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || cadre.AsError(err).Hint != "chmod 700 "+dir {
		t.Errorf("a folder that everybody can write to: %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if me := os.Geteuid(); !ownedBy(info, me) || !ownedBy(info, 0) || ownedBy(info, me+1) {
		t.Errorf("the folder of user %d is not that of this user alone", me)
	}
}
