package sqlitestore

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"cadre"
)

// A record of a log that no list can have is not believed: the list would go on
// from there and soon be full.
func TestRecordNearTheEnd(t *testing.T) {
	line, err := encodeRecord("work", cadre.Head{Epoch: "e", Seq: maxSeq - 1, Hash: "h"})
	if err != nil {
		t.Fatal(err)
	}
	if r := decodeRecord(line); r != nil {
		t.Fatalf("decodeRecord() = %+v", r)
	}
}

// A head record that is also another file must not be written to.
func TestRecordWithTwoNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the number of names is not looked at")
	}
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(victim, filepath.Join(s.dir, headsName, "work")); err != nil {
		t.Fatal(err)
	}
	if err := add(s, "one", 1); err != nil {
		t.Errorf("a record with a second name stops a command: %v", err)
	}
	if r, err := s.heads.read("work", cadre.Head{}); err != nil || r == nil {
		t.Errorf("the record was not begun anew: %+v, %v", r, err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
		t.Fatalf("the other file holds %q, %v", b, err)
	}
}
