package soak_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scenario is one command about the list docs on a prepared machine.
type scenario struct {
	name    string
	prepare [][]string
	until   func(*machine) bool // what is prepared last is repeated until this is so for the command
	command []string
}

var scenarios = []scenario{
	{name: "first command", command: []string{"task", "add", "the very first", "--owner", "ann", "--scope", "docs", "--as", "ben"}},
	{
		name: "task add",
		prepare: [][]string{
			{"team", "create", "docs"},
			{"task", "add", "one", "--scope", "docs", "--as", "ann"},
			{"task", "add", "two", "--scope", "docs", "--as", "ben"},
		},
		command: []string{"task", "add", "three", "--blocked-by", "1,2", "--owner", "ann", "--scope", "docs", "--as", "cat"},
	},
	{
		name: "task done",
		prepare: [][]string{
			{"team", "create", "docs"},
			{"task", "add", "one", "--scope", "docs", "--as", "ann"},
			{"task", "claim", "1", "--scope", "docs", "--as", "ann"},
			{"task", "add", "two", "--blocked-by", "1", "--scope", "docs", "--as", "ben"},
			{"task", "update", "2", "--owner", "ben", "--scope", "docs"},
			{"task", "add", "three", "--blocked-by", "1", "--scope", "docs", "--as", "cat"},
			{"task", "update", "3", "--owner", "cat", "--scope", "docs"},
		},
		command: []string{"task", "done", "1", "--result", "it works", "--scope", "docs", "--as", "ann"},
	},
	{
		name:    "task add that moves the write-ahead log",
		prepare: [][]string{{"task", "add", "one of many", "--description", strings.Repeat("what is to be done; ", 200), "--scope", "docs"}},
		until:   (*machine).movedLog,
		command: []string{"task", "add", "the last straw", "--owner", "ann", "--scope", "docs", "--as", "ben"},
	},
	{
		name:    "import",
		prepare: [][]string{{"task", "add", "one", "--scope", "docs"}},
		command: []string{"import", "plan.jsonl", "--scope", "docs"},
	},
}

// movedLog says whether everything stands in the database and nothing in the
// write-ahead log: SQLite moves it there now and then, and any fault may hit that.
func (m *machine) movedLog() bool {
	info, err := os.Stat(filepath.Join(m.state, "cadre.db-wal"))
	return err != nil || info.Size() == 0
}

// ready prepares a machine for a scenario.
func (sc scenario) ready(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t)
	lines := strings.Repeat(`{"subject":"one of many","blockedBy":["1"]}`+"\n", 300)
	if err := os.WriteFile(filepath.Join(m.home, "plan.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range sc.prepare {
		m.must(args...)
	}
	for i := 0; sc.until != nil; i++ {
		try := m.copyOf(filepath.Join(t.TempDir(), "try"))
		try.must(sc.command...)
		if sc.until(try) {
			break
		}
		if i == 200 {
			t.Fatal("what this scenario waits for never happens")
		}
		m.must(sc.prepare[len(sc.prepare)-1]...)
	}
	return m
}
