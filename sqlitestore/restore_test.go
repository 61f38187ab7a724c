package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"cadre"
	"cadre/sqlitestore"
)

// rewrite makes another past: the same folder's history with one word changed
// and every hash made to fit, as an owner of the file could.
func rewrite(t *testing.T, dir string) {
	t.Helper()
	forged := t.TempDir()
	s, err := sqlitestore.Open(forged)
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, list, &cadre.TaskAdd{Subject: "what never was"})
	for range 12 {
		do(t, s, list, &cadre.TaskAdd{Subject: "more of it"})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(forged, "cadre.db"), dir)
}

// replace puts another database into a closed store's folder.
func replace(t *testing.T, from, dir string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cadre.db-wal", "cadre.db-shm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cadre.db"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func headOf(t *testing.T, s *sqlitestore.Store, scope cadre.Scope) (h cadre.Head) {
	t.Helper()
	if err := s.View(t.Context(), scope, func(snap cadre.Snap) error {
		h = snap.Head()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestKeptAnchorFindsARewrittenLog(t *testing.T) {
	dir := lived(t)
	s, err := sqlitestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	anchor := cadre.Anchor{Scope: list, Head: headOf(t, s, list), From: "a safe"}
	if r := audit(t, s, anchor); len(r.Findings) > 0 {
		t.Fatalf("an untouched store does not fit its anchor: %+v", r.Findings)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, dir)
	removeHead(t, dir)
	if err := os.Remove(filepath.Join(dir, "heads", "beside")); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if r := audit(t, s); len(r.Findings) > 0 {
		t.Fatalf("without an anchor the forged log must look whole: %+v", r.Findings)
	}
	if r := audit(t, s, anchor); !names(r, "event 13") {
		t.Fatalf("the anchor found %+v", r.Findings)
	}
}

func TestDayOldBackup(t *testing.T) {
	dir := t.TempDir()
	backup := filepath.Join(t.TempDir(), "yesterday.db")
	s, err := sqlitestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, list, &cadre.TaskAdd{Subject: "old"})
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), backup); !errors.Is(err, cadre.ErrConflict) {
		t.Fatalf("a backup over another one: %v", err)
	}
	do(t, s, list, &cadre.TaskAdd{Subject: "today's"})
	r := do(t, s, list, &cadre.TaskClaim{ID: "2"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	replace(t, backup, dir)
	s = open(t, dir)
	if report := audit(t, s); !names(report, "event 3") {
		t.Fatalf("the audit found %+v", report.Findings)
	}
	after := do(t, s, list, &cadre.TaskAdd{Subject: "goes on"})
	mark, ok := after.Events[0].After.(*cadre.Log)
	if !ok || mark.Missing == nil || mark.Missing.From != 3 || mark.Missing.To != r.Head.Seq || mark.Missing.Head != r.Head {
		t.Fatalf("the first event of the new epoch is %+v", after.Events[0])
	}
	if after.Head.Epoch == r.Head.Epoch || after.Head.Seq <= r.Head.Seq || after.Head.Fence <= r.Head.Fence || after.Head.Next != 4 {
		t.Fatalf("the head went from %+v to %+v", r.Head, after.Head)
	}
	if report := audit(t, s); len(report.Findings) > 0 {
		t.Fatalf("what the epoch owns up to is still found: %+v", report.Findings)
	}
	if again := do(t, s, list, &cadre.TaskAdd{Subject: "once"}); again.Head.Epoch != after.Head.Epoch {
		t.Fatal("the next command opened another epoch")
	}
	for _, err := range s.Events(t.Context(), list, r.Head, false) {
		if e, ok := errors.AsType[*cadre.EpochError](err); !ok || e.Head.Epoch != after.Head.Epoch {
			t.Fatalf("an old cursor: %v", err)
		}
	}
}

// What one store remembers of its last commit must not outlive another's.
func TestTwoStoresTakeTurns(t *testing.T) {
	dir := t.TempDir()
	stores := []*sqlitestore.Store{open(t, dir), open(t, dir)}
	var last cadre.Receipt
	for i, turn := range []int{0, 0, 1, 0, 1, 1, 0} {
		id := cadre.TaskID(fmt.Sprint(i + 1))
		r := do(t, stores[turn], list, &cadre.TaskAdd{Subject: "in turn"})
		if h := r.Head; h.Next != uint64(i)+2 || i > 0 && r.Events[0].Prev != last.Head.Hash {
			t.Fatalf("task %s: the head went from %+v to %+v", id, last.Head, h)
		}
		last = do(t, stores[turn], list, &cadre.TaskClaim{ID: id})
	}
	if r := audit(t, stores[0]); len(r.Findings) > 0 {
		t.Fatalf("%+v", r.Findings)
	}
}

func TestLostDatabase(t *testing.T) {
	dir := lived(t)
	if err := os.Remove(filepath.Join(dir, "cadre.db")); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if r := audit(t, s); len(r.Findings) == 0 {
		t.Fatal("an audit of a lost database finds nothing")
	}
	r := do(t, s, list, &cadre.TaskAdd{Subject: "a new start"})
	mark, ok := r.Events[0].After.(*cadre.Log)
	if !ok || mark.Missing == nil || mark.Missing.From != 1 || mark.Missing.To != 13 || r.Head.Next != 12 {
		t.Fatalf("the log begins with %+v, head %+v", r.Events[0].After, r.Head)
	}
}

// A damaged file must be reported, whatever the damage, and never end the program.
func TestDamagedFile(t *testing.T) {
	dir := lived(t)
	whole, err := os.ReadFile(filepath.Join(dir, "cadre.db"))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	damages := map[string]func([]byte) []byte{
		"garbage":     func(b []byte) []byte { return append([]byte("not a database at all"), b[21:]...) },
		"cut in half": func(b []byte) []byte { return b[:len(b)/2/4096*4096] },
		"cut oddly":   func(b []byte) []byte { return b[:len(b)-1000] },
		"zeroed page": func(b []byte) []byte { clear(b[4096:8192]); return b },
	}
	for len(damages) < 44 {
		place := 100 + rng.IntN(len(whole)-200)
		kind := whole[place/4096*4096]
		if bytes.IndexByte(whole[place:place+64], 0) >= 0 || kind == 2 || kind == 5 {
			continue // unused, or what a page held before it became an inner one
		}
		damages[fmt.Sprintf("64 bytes at %d", place)] = func(b []byte) []byte {
			for j := range 64 {
				b[place+j] ^= 0x5a
			}
			return b
		}
	}
	var missed []string
	for name, damage := range damages {
		b := damage(append([]byte(nil), whole...))
		if err := os.WriteFile(filepath.Join(dir, "cadre.db"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlitestore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		report, err := s.Audit(context.Background(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(report.Findings) == 0 {
			missed = append(missed, name)
		}
		_ = s.View(t.Context(), list, func(snap cadre.Snap) error {
			for range snap.Tasks(cadre.TaskQuery{}) {
			}
			return nil
		})
		_ = s.Close()
	}
	if len(missed) > 0 {
		t.Fatalf("of %d damages %d were not found: %v", len(damages), len(missed), missed)
	}
}

// TestBackupBesideAnOldLog puts a backup in the database's place and leaves the
// write-ahead log of the old one there, as a person in a hurry does.
func TestBackupBesideAnOldLog(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	backup := filepath.Join(t.TempDir(), "yesterday.db")
	s, err := sqlitestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, list, &cadre.TaskAdd{Subject: "old"})
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, other) // a log that is no backup's, with pages that would not fit
	for range 20 {
		do(t, b, "elsewhere", &cadre.TaskAdd{Subject: "in another database"})
	}
	wal, err := os.ReadFile(filepath.Join(other, "cadre.db-wal"))
	if err != nil || len(wal) == 0 {
		t.Fatalf("%d bytes, %v", len(wal), err)
	}
	replace(t, backup, dir)
	if err := os.WriteFile(filepath.Join(dir, "cadre.db-wal"), wal, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	do(t, s, list, &cadre.TaskAdd{Subject: "goes on"})
	if r := audit(t, s); len(r.Findings) > 0 {
		t.Fatalf("the audit found %+v", r.Findings)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "cadre.db-wal.set-aside-1")); err != nil || !bytes.Equal(kept, wal) {
		t.Fatalf("the old log was not kept: %v", err)
	}
}
