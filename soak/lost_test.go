package soak_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cadre"
)

// loss is a way to lose the end of a log that is afterwards whole in itself.
type loss struct {
	name  string
	inure func(*machine) // before the events that are lost
	lose  func(*machine)
}

// losses: attackers that cut the newest events, mend the row of the list, and
// make the tables fit, each more thorough than the one before; a backup put back
// as the manual says; and files that somebody had copied while nothing ran.
var losses = []loss{
	{"a cut tail", func(*machine) {}, func(m *machine) { m.sql(cutTail) }},
	{"a cut tail with a row that fits", func(*machine) {}, func(m *machine) { m.sql(cutTail + mendRow) }},
	{"a cut tail with tables that fit", func(*machine) {}, func(m *machine) { m.sql(cutTail + mendRow + mendTables) }},
	{
		"a backup put back",
		func(m *machine) { m.must("backup", filepath.Join(m.home, "cadre.db")) },
		func(m *machine) { m.move(m.home, m.state) },
	},
	{
		"files of yesterday put back",
		func(m *machine) { m.move(m.state, m.home) },
		func(m *machine) { m.move(m.home, m.state) },
	},
}

// What is lost are tasks 4 and 5 of docs, its events 12 and 13.
const (
	cutTail    = `DELETE FROM event WHERE id IN ($first+11,$first+12);`
	mendRow    = `UPDATE scope SET seq=11, next=4, hash=(SELECT hash FROM event WHERE id=$first+10) WHERE name='docs';`
	mendTables = `DELETE FROM entry WHERE object IN (SELECT id FROM object WHERE scope=$docs AND kind='task' AND name IN ('4','5'));
		DELETE FROM object WHERE scope=$docs AND kind='task' AND name IN ('4','5')`
)

// move copies the database's files to another folder, and removes those there
// that would not belong to it.
func (m *machine) move(from, to string) {
	m.t.Helper()
	for _, name := range []string{"cadre.db", "cadre.db-wal", "cadre.db-shm"} {
		if err := os.Remove(filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(name, "-shm") {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestSoakLostEvents takes the newest events away. The audit says which, the next
// command opens a new epoch that says so too, no number is ever used again, and
// from then on the record holds.
func TestSoakLostEvents(t *testing.T) {
	t.Parallel()
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			m := evidence(t)
			l.inure(m)
			m.must("task", "add", "to be lost", "--scope", "docs")
			lost := m.must("task", "add", "to be lost too", "--scope", "docs")
			m.audited()
			l.lose(m)
			if found := m.findings(); !names(found, []string{"docs: event 12 to 13 are missing: the anchor in " + filepath.Join(m.state, "heads", "docs")}) {
				t.Errorf("the audit must say which events are missing: %q", found)
			}
			// Neither a look nor a command that is refused may hide the loss.
			m.must("task", "list", "--scope", "docs")
			if r := m.run("task", "claim", "77", "--scope", "docs"); r.code != 3 {
				t.Errorf("claiming a task that is not there: %s", r)
			}
			id := m.must("task", "add", "after the loss", "--scope", "docs")
			m.newEpoch(id, lost)
			m.audited()
		})
	}
}

// newEpoch checks what the first command after a loss left in the log.
func (m *machine) newEpoch(id, lost string) {
	m.t.Helper()
	log := ask[[]cadre.Event](m, "log", "--limit", "0", "--scope", "docs")
	var marks []*cadre.Log
	for _, e := range log {
		if mark, ok := e.After.(*cadre.Log); ok {
			marks = append(marks, mark)
		}
	}
	if len(marks) != 2 || marks[1].Missing == nil || marks[0].Epoch == marks[1].Epoch {
		m.t.Fatalf("the next command must open a new epoch:\n%s", m.must("log", "--limit", "0", "--scope", "docs"))
	}
	if gap := marks[1].Missing; gap.From != 12 || gap.To != 13 || gap.Head.Seq != 13 {
		m.t.Errorf("the new epoch says that events %d to %d are missing, not 12 to 13", gap.From, gap.To)
	}
	if last := log[len(log)-1]; last.Seq <= 14 || id <= lost {
		m.t.Errorf("numbers are used again: task %s after %s, event %d", id, lost, last.Seq)
	}
	for id, v := range m.tasks("--scope", "docs") {
		if strings.HasPrefix(v.Subject, "to be lost") {
			m.t.Errorf("task %s stands in the list and not in the log", id)
		}
	}
}
