package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"cadre"
	"cadre/sqlitestore"
)

// Whoever puts the whole folder back as it was yesterday puts its head records back too:
// the records elsewhere find it.
func TestTheWholeFolderOfYesterday(t *testing.T) {
	dir, beside := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "heads")
	session := func(do func(*sqlitestore.Store)) {
		t.Helper()
		s, err := sqlitestore.Open(dir, sqlitestore.Beside(beside))
		if err != nil {
			t.Fatal(err)
		}
		do(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	session(func(s *sqlitestore.Store) { do(t, s, list, &cadre.TaskAdd{Subject: "old"}) })
	backup := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(backup, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var last cadre.Receipt
	session(func(s *sqlitestore.Store) {
		do(t, s, list, &cadre.TaskAdd{Subject: "today's"})
		last = do(t, s, list, &cadre.TaskClaim{ID: "2"})
		do(t, s, "new", &cadre.TaskAdd{Subject: "in a list of today"})
	})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	session(func(s *sqlitestore.Store) {
		if report := audit(t, s); !names(report, "event 3") {
			t.Errorf("the audit found %+v", report.Findings)
		}
		r := do(t, s, list, &cadre.TaskAdd{Subject: "goes on"})
		mark, ok := r.Events[0].After.(*cadre.Log)
		if !ok || mark.Missing == nil || mark.Missing.Head != last.Head || r.Lost() == "" {
			t.Errorf("the first event of the new epoch is %+v", r.Events[0])
		}
		if r.Head.Fence <= last.Head.Fence || r.Head.Next != last.Head.Next+1 {
			t.Errorf("the head went from %+v to %+v", last.Head, r.Head)
		}
		if r := do(t, s, "new", &cadre.TaskAdd{Subject: "once more"}); r.Lost() == "" {
			t.Error("a list that is gone altogether is not missed")
		}
		if report := audit(t, s); len(report.Findings) > 0 {
			t.Errorf("what the epochs own up to is still found: %+v", report.Findings)
		}
	})
}

// A log that lost events and said so is not accused again by a record that could not be
// written since.
func TestARecordThatStaysBehind(t *testing.T) {
	dir, beside, elsewhere := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "heads"), filepath.Join(t.TempDir(), "heads")
	add := func(beside string) cadre.Receipt {
		t.Helper()
		s, err := sqlitestore.Open(dir, sqlitestore.Beside(beside))
		if err != nil {
			t.Fatal(err)
		}
		r := do(t, s, list, &cadre.TaskAdd{Subject: "one more"})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	add(beside)
	yesterday, err := os.ReadFile(filepath.Join(dir, "cadre.db"))
	if err != nil {
		t.Fatal(err)
	}
	add(beside)
	if err := os.WriteFile(filepath.Join(dir, "cadre.db"), yesterday, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := add(elsewhere); r.Lost() == "" {
		t.Fatal("yesterday's database was not noticed")
	}
	if r := add(beside); r.Lost() != "" {
		t.Errorf("what is known is told again: %s", r.Lost())
	}
}

// A name that no longer means a list leaves no record that looks like a lost one.
func TestBesideForgetsNames(t *testing.T) {
	dir, beside := t.TempDir(), filepath.Join(t.TempDir(), "heads")
	s, err := sqlitestore.Open(dir, sqlitestore.Beside(beside))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do(t, s, list, &cadre.TaskAdd{Subject: "erased"})
	do(t, s, "old-name", &cadre.TaskAdd{Subject: "renamed"})
	for scope, to := range map[cadre.Scope]cadre.Dest{list: {Where: cadre.Gone}, "old-name": {Name: "new-name"}} {
		if _, err := s.Move(t.Context(), scope, command("move"), to); err != nil {
			t.Fatal(err)
		}
	}
	for _, scope := range []cadre.Scope{list, "old-name", "new-name"} {
		if r := do(t, s, scope, &cadre.TaskAdd{Subject: "anew"}); r.Lost() != "" {
			t.Errorf("%s: %s", scope, r.Lost())
		}
	}
	if report := audit(t, s); len(report.Findings) > 0 || report.Anchors != 6 {
		t.Errorf("the audit found %+v", report)
	}
}

// Two stores that share the folder do not take each other's records for their own, and
// without the folder around it there are none.
func TestBesideIsShared(t *testing.T) {
	beside := filepath.Join(t.TempDir(), "heads")
	for range 2 {
		s, err := sqlitestore.Open(t.TempDir(), sqlitestore.Beside(beside))
		if err != nil {
			t.Fatal(err)
		}
		if r := do(t, s, list, &cadre.TaskAdd{Subject: "first"}); r.Lost() != "" {
			t.Errorf("a new store is told: %s", r.Lost())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if folders, err := os.ReadDir(beside); err != nil || len(folders) != 2 {
		t.Errorf("there are %v, %v", folders, err)
	}
	nowhere := filepath.Join(t.TempDir(), "nobody", "heads")
	s, err := sqlitestore.Open(t.TempDir(), sqlitestore.Beside(nowhere))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do(t, s, list, &cadre.TaskAdd{Subject: "alone"})
	if _, err := os.Stat(filepath.Dir(nowhere)); err == nil {
		t.Error("a folder was made that nobody has")
	}
}
