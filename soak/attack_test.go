package soak_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the attacker's way into the database

	"cadre"
)

// attack works on the database as an attacker would: not through the program,
// without the triggers that refuse changes, and with those put back at the end.
func (m *machine) attack(work func(exec func(text string, args ...any), db *sql.DB)) {
	m.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(m.state, "cadre.db"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(text string, args ...any) {
		m.t.Helper()
		if _, err := db.Exec(text, args...); err != nil {
			m.t.Fatalf("%v in\n%s", err, text)
		}
	}
	exec("PRAGMA synchronous=OFF") // an attacker is in a hurry
	triggers := column[string](m, db, "SELECT sql FROM sqlite_master WHERE type='trigger'")
	for _, name := range column[string](m, db, "SELECT name FROM sqlite_master WHERE type='trigger'") {
		exec("DROP TRIGGER " + name)
	}
	work(exec, db)
	for _, text := range triggers {
		exec(text)
	}
}

// column reads the only column of a query.
func column[T any](m *machine, db *sql.DB, query string) []T {
	m.t.Helper()
	found, err := db.Query(query)
	if err != nil {
		m.t.Fatal(err)
	}
	defer found.Close()
	var all []T
	for found.Next() {
		var v T
		if err := found.Scan(&v); err != nil {
			m.t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := found.Err(); err != nil {
		m.t.Fatal(err)
	}
	return all
}

// sql runs statements in the database, which must change something.
func (m *machine) sql(text string) {
	m.t.Helper()
	number := "(SELECT id FROM scope WHERE name='docs')"
	text = strings.ReplaceAll(text, "$first", "("+number+"<<40|1)")
	text = strings.ReplaceAll(text, "$docs", number)
	m.attack(func(exec func(string, ...any), db *sql.DB) {
		const changes = "SELECT total_changes()"
		before := column[int](m, db, changes)[0]
		exec(text)
		if column[int](m, db, changes)[0] == before {
			m.t.Fatalf("this attack changes nothing:\n%s", text)
		}
	})
}

// rewrite puts one word for another of the same length wherever it stands, and
// computes every hash again: nothing in the database gives it away.
func (m *machine) rewrite(old, word string) {
	m.t.Helper()
	m.attack(func(exec func(string, ...any), db *sql.DB) {
		const log = " FROM event WHERE scope=(SELECT id FROM scope WHERE name='docs') ORDER BY id"
		lines := column[[]byte](m, db, "SELECT line"+log)
		hashes := column[string](m, db, "SELECT hash"+log)
		was, prev := "", ""
		for i, id := range column[int64](m, db, "SELECT id"+log) {
			line := bytes.ReplaceAll(lines[i], []byte(old), []byte(word))
			if was != "" {
				line = bytes.Replace(line, []byte(was), []byte(prev), 1)
			}
			was, prev = hashes[i], cadre.HashLine(line)
			exec("UPDATE event SET hash=?,line=? WHERE id=?", prev, line, id)
		}
		exec("UPDATE scope SET hash=? WHERE name='docs'", prev)
		exec("UPDATE object SET data=CAST(replace(CAST(data AS TEXT),?,?) AS BLOB)", old, word)
		exec("UPDATE entry SET key=CAST(replace(CAST(key AS TEXT),?,?) AS BLOB) WHERE instr(key,?)", old, word, []byte(old))
	})
}

// TestSoakRewrittenChain has an attacker rewrite a task's subject in the log and
// compute the whole chain again. The record beside the database gives that away,
// and where the attacker removed it too, an anchor that was kept elsewhere.
func TestSoakRewrittenChain(t *testing.T) {
	t.Parallel()
	m := evidence(t)
	kept := filepath.Join(t.TempDir(), "anchor.json")
	if err := os.WriteFile(kept, []byte(m.must("audit", "anchor")), 0o600); err != nil {
		t.Fatal(err)
	}
	m.must("task", "add", "after the anchor", "--scope", "docs")
	if r := m.run("audit", "verify", "--anchors", kept); r.code != 0 {
		t.Errorf("an anchor of an untouched record: %s", r)
	}
	m.rewrite("beta", "zeta")
	if found := m.findings(); !names(found, []string{"docs: event 12 is not the event that the anchor in " + filepath.Join(m.state, "heads", "docs")}) {
		t.Errorf("the head record must give it away: %q", found)
	}
	if found := m.findings("--anchors", kept); !names(found, []string{"docs: event 11 is not the event that the anchor in " + kept}) {
		t.Errorf("the kept anchor must give it away at the earlier event: %q", found)
	}
	next := m.copyOf(filepath.Join(t.TempDir(), "next"))
	if r := next.run("task", "add", "the next command", "--scope", "docs"); r.code != 0 || !strings.Contains(r.err, "the log was changed behind Cadre's back at event 12") {
		t.Errorf("the next command must say so: %s", r)
	}
	if log := next.must("log", "--limit", "0", "--scope", "docs"); strings.Count(log, "log.open") != 3 { // the opening, the new epoch, its mail to the lead
		t.Errorf("the next command must open a new epoch:\n%s", log)
	}
	if err := os.RemoveAll(filepath.Join(m.state, "heads")); err != nil {
		t.Fatal(err)
	}
	if r := m.run("audit", "verify"); r.code != 0 {
		t.Errorf("without any anchor the rewritten chain must be without a flaw, or this test tests less than it says: %s", r)
	}
	if found := m.findings("--anchors", kept); !names(found, []string{"docs: event 11 is not the event that the anchor in " + kept}) {
		t.Errorf("the kept anchor must give it away: %q", found)
	}
	t.Log("a rewritten chain of 12 events was found by the head record, and without it by a kept anchor")
}
