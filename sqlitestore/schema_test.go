package sqlitestore

import (
	"context"
	"strings"
	"testing"

	"cadre"
)

func TestMigrateOlderAndNewer(t *testing.T) {
	dir := t.TempDir()
	command := cadre.Command{ID: "c", Actor: cadre.Self, Door: "test", Verb: "add"}
	add := func(s *Store, id cadre.CommandID) error {
		c := command
		c.ID = id
		_, err := s.Update(context.Background(), "work", c, func(snap cadre.Snap) ([]cadre.Event, error) {
			return (&cadre.TaskAdd{Subject: "task " + string(id)}).Decide(snap, c)
		})
		return err
	}
	open := func(steps ...string) *Store {
		t.Helper()
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		s.migrations = append(migrations(), steps...)
		return s
	}
	old := open()
	if err := add(old, "one"); err != nil {
		t.Fatal(err)
	}
	newer := open("ALTER TABLE scope ADD COLUMN note TEXT; CREATE TABLE extra(x);", "CREATE INDEX extra_x ON extra(x);")
	if err := add(newer, "two"); err != nil {
		t.Fatal(err)
	}
	if err := add(old, "late"); err == nil || !strings.Contains(err.Error(), "a newer cadre wrote it") {
		t.Errorf("a program that was replaced while it ran still writes: %v", err)
	}
	if report, err := newer.Audit(t.Context(), nil); err != nil || len(report.Findings) > 0 || report.Events != 3 {
		t.Fatalf("after the migration: %+v, %v", report, err)
	}
	c, err := newer.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := version(c); err != nil || v != len(migrations())+2 {
		t.Fatalf("version() = %d, %v", v, err)
	}
	newer.release(c, true)
	for _, s := range []*Store{old, newer} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	behind := open()
	defer behind.Close()
	err = add(behind, "three")
	e := cadre.AsError(err)
	if e == nil || e.Code != cadre.CodeInternal || !strings.Contains(e.Message, "a newer cadre wrote it") || e.Hint == "" {
		t.Fatalf("a database from the future: %+v", e)
	}
	if err := behind.View(t.Context(), "work", func(cadre.Snap) error { return nil }); err == nil {
		t.Fatal("a database from the future was read")
	}
}

// What durability rests on is what SQLite does where it is not told otherwise.
func TestSettings(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 { // the first connection, and any other
		c, err := s.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.release(c, true)
		for pragma, want := range map[string]any{
			"synchronous": int64(2), "journal_mode": "wal", "wal_autocheckpoint": int64(1000),
			"journal_size_limit": int64(8 << 20), "busy_timeout": int64(10_000),
		} {
			if v, err := c.Row("PRAGMA " + pragma); err != nil || v[0] != want {
				t.Errorf("%s is %v, %v, and must be %v", pragma, v, err, want)
			}
		}
	}
}

func TestTriggersGuardTheLog(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := cadre.Command{ID: "c", Actor: cadre.Self, Door: "test", Verb: "add"}
	if _, err := s.Update(t.Context(), "work", c, func(snap cadre.Snap) ([]cadre.Event, error) {
		return (&cadre.TaskAdd{Subject: "kept"}).Decide(snap, c)
	}); err != nil {
		t.Fatal(err)
	}
	db, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(db, true)
	for _, statement := range []string{
		"UPDATE event SET line='x'", "UPDATE event SET id=id+1", "DELETE FROM event",
		"DELETE FROM event WHERE id=(SELECT max(id) FROM event)", "DELETE FROM event WHERE id=(SELECT min(id) FROM event)",
		"UPDATE object SET name=CAST(name AS BLOB)", "UPDATE entry SET key=CAST(key AS TEXT)",
		"UPDATE entry SET list=CAST(list AS BLOB)", "UPDATE scope SET name=CAST(name AS BLOB)",
	} {
		if err := db.Script(t.Context(), statement); err == nil {
			t.Errorf("%s was allowed", statement)
		}
	}
	for _, first := range []string{"UPDATE scope SET place='gone'", "UPDATE scope SET id=id+1", "DELETE FROM scope"} {
		if err := db.Script(t.Context(), "BEGIN; "+first); err != nil {
			t.Fatal(err)
		}
		if err := db.Script(t.Context(), "DELETE FROM event"); err == nil {
			t.Errorf("after %s the log could be emptied", first)
		}
		if err := db.Script(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	line, err := encodeRecord("work", cadre.Head{Epoch: "e", Seq: 7, Hash: "h", Fence: 1, Next: 9})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(line[:100])
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		r := decodeRecord(line)
		if r == nil {
			return
		}
		again, err := encodeRecord(r.Scope, r.Head)
		if err != nil {
			t.Fatal(err)
		}
		if back := decodeRecord(again); back == nil || *back != *r {
			t.Fatalf("%+v became %+v", r, back)
		}
	})
}

func FuzzDecodeEvent(f *testing.F) {
	events := []cadre.Event{{After: &cadre.Task{ID: "1", Subject: "s"}}, {Before: &cadre.Task{ID: "1"}, After: &cadre.Task{ID: "1", Owner: "o"}}}
	_, lines, err := cadre.Seal(cadre.Head{}, "work", cadre.Command{ID: "c", Actor: cadre.Self, Verb: "v"}, events)
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range lines {
		f.Add(line)
	}
	f.Add([]byte(`{"seq":1,"object":{"kind":"task","id":"1"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := decodeEvent(int64(1), "hash", line)
		if err != nil {
			return
		}
		var st cadre.State
		st.Apply(e) // a line that decodes must not break whoever applies it
	})
}

// A record that no log could have written must not end the log.
func TestAbsurdHeadRecord(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, h := range []cadre.Head{{Epoch: "e", Seq: 1 << 62, Hash: "h"}, {Epoch: "e", Seq: 5, Hash: "h", Next: 1 << 63}, {Epoch: "e", Seq: 5, Hash: "h", Fence: 1<<64 - 1}} {
		if err := s.heads.write("work", h); err != nil {
			t.Fatal(err)
		}
		if got, err := s.heads.read("work", cadre.Head{}); got != nil || err != nil {
			t.Fatalf("readHead() = %+v, %v", got, err)
		}
	}
	if err := add(s, "first", 1); err != nil {
		t.Fatal(err)
	}
}

// Leases stood on the tasks once, and their ends in the index that holders are found by.
func TestLeasesOfTasksEndWithTheMigration(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.migrations = migrations()[:1]
	if err := add(s, "one", 1); err != nil {
		t.Fatal(err)
	}
	c, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{
		"INSERT INTO entry SELECT scope,'leased',key,object FROM entry WHERE list='task'",
		`UPDATE object SET data=CAST(replace(CAST(data AS TEXT),',"version":',',"lease":{"boot":"b","until":7},"version":') AS BLOB) WHERE kind='task'`,
	} {
		if err := c.Script(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := c.Row("SELECT count(*) FROM object WHERE CAST(data AS TEXT) LIKE '%lease%'"); err != nil || v[0] != int64(1) {
		t.Fatalf("%v tasks are leased, %v", v, err)
	}
	s.release(c, true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if report, err := s.Audit(t.Context(), nil); err != nil || len(report.Findings) != 1 || !strings.Contains(report.Findings[0].What, "then verify again") {
		t.Errorf("before the migration the audit found %+v, %v", report, err)
	}
	command := cadre.Command{ID: "two", Actor: cadre.Self, Door: "test", Verb: "leases expire"}
	if _, err := s.Update(t.Context(), "work", command, func(snap cadre.Snap) ([]cadre.Event, error) {
		return (&cadre.LeasesExpire{}).Decide(snap, command)
	}); err != nil {
		t.Error(err)
	}
	if report, err := s.Audit(t.Context(), nil); err != nil || len(report.Findings) > 0 {
		t.Errorf("the audit found %+v, %v", report, err)
	}
}
