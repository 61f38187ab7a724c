package sqlitestore_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"cadre"
	"cadre/sqlitestore"
)

const list cadre.Scope = "work"

// do runs a verb as the operator.
func do(t testing.TB, s cadre.Store, scope cadre.Scope, v cadre.Change) cadre.Receipt {
	t.Helper()
	c := command(fmt.Sprintf("%T", v))
	r, err := s.Update(context.Background(), scope, c, func(snap cadre.Snap) ([]cadre.Event, error) { return v.Decide(snap, c) })
	if err != nil {
		t.Fatalf("%T in %s: %v", v, scope, err)
	}
	return r
}

func command(verb string) cadre.Command {
	now := time.Now()
	return cadre.Command{
		ID: cadre.CommandID(fmt.Sprintf("c%d", now.UnixNano())), Door: "test", Verb: verb,
		Actor: cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofTerminal},
		Now:   cadre.Time{Wall: now, Boot: "boot", Up: time.Second},
	}
}

// lived is a folder with a store that was used and closed: ten tasks, one of
// them changed twice, so that there are 14 events with those of the log.
func lived(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	s, err := sqlitestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		do(t, s, list, &cadre.TaskAdd{Subject: fmt.Sprintf("task %d", i)})
	}
	do(t, s, list, &cadre.TaskClaim{ID: "3"})
	do(t, s, list, &cadre.TaskStart{ID: "3"})
	do(t, s, "beside", &cadre.TaskAdd{Subject: "untouched"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What makes the tables take values of any type, and what takes it back.
const (
	loose = `PRAGMA writable_schema=1;
		UPDATE sqlite_schema SET sql=replace(replace(sql,') STRICT',')/* STRICT*/'),',STRICT','/*,STRICT*/') WHERE type='table';
		PRAGMA writable_schema=RESET`
	strict = `PRAGMA writable_schema=1;
		UPDATE sqlite_schema SET sql=replace(replace(sql,'/* STRICT*/',' STRICT'),'/*,STRICT*/',',STRICT') WHERE type='table';
		PRAGMA writable_schema=RESET`
)

// raw runs SQL on a closed store's database, past the triggers and the types.
func raw(t testing.TB, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "cadre.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var triggers []string
	rows, err := db.Query("SELECT name, sql FROM sqlite_master WHERE type='trigger'")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		triggers = append(triggers, text)
		statements = append([]string{"DROP TRIGGER " + name}, statements...)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	statements = append([]string{"PRAGMA ignore_check_constraints=1", loose}, statements...)
	for _, st := range append(append(statements, triggers...), strict) {
		if _, err := db.Exec(st); err != nil {
			t.Fatalf("%s: %v", st, err)
		}
	}
}

func at(seq int) string { return fmt.Sprintf("(SELECT id<<40 FROM scope WHERE name='work')+%d", seq) }

// edit rewrites an event's line, with its hash when it is to fit again.
func edit(t testing.TB, dir string, seq int, old, new string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "cadre.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var line string
	if err := db.QueryRow("SELECT line FROM event WHERE id=" + at(seq)).Scan(&line); err != nil {
		t.Fatal(err)
	}
	line = strings.Replace(line, old, new, 1)
	sum := sha256.Sum256([]byte(line))
	raw(t, dir, fmt.Sprintf("UPDATE event SET line=x'%x', hash='%s' WHERE id=%s", line, hex.EncodeToString(sum[:]), at(seq)))
}

func removeHead(t testing.TB, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "heads", string(list))); err != nil {
		t.Fatal(err)
	}
}

const cutTail = "DELETE FROM event WHERE id>(SELECT id<<40 FROM scope WHERE name='work')+9 AND id<(SELECT (id+1)<<40 FROM scope WHERE name='work')"

func setBack(t testing.TB, dir string) {
	raw(t, dir, cutTail, "UPDATE scope SET seq=9, hash=(SELECT hash FROM event WHERE id="+at(9)+"), next=9 WHERE name='work'")
}

func TestAuditFindsEveryTamper(t *testing.T) {
	row := func(set string) func(testing.TB, string) {
		return func(t testing.TB, dir string) { raw(t, dir, "UPDATE scope SET "+set+" WHERE name='work'") }
	}
	run := func(statements ...string) func(testing.TB, string) {
		return func(t testing.TB, dir string) { raw(t, dir, statements...) }
	}
	for _, c := range []struct {
		name, place string
		tamper      func(testing.TB, string)
		proved      bool // the head record or the row proves that something is missing
	}{
		{"nothing", "", func(testing.TB, string) {}, false},
		{"an event's text", "event 5", run("UPDATE event SET line=replace(line,'task 3','task x') WHERE id=" + at(5)), false},
		{"an event's text and hash", "event 6", func(t testing.TB, dir string) { edit(t, dir, 5, "task 3", "task x") }, false},
		{"the last event's text and hash", "event 13", func(t testing.TB, dir string) { edit(t, dir, 13, `"operator"`, `"somebody"`) }, true},
		{"an event replaced", "event 5", run("INSERT OR REPLACE INTO event SELECT id,scope,kind,object,command,hash,CAST(replace(CAST(line AS TEXT),'task 3','task x') AS BLOB) FROM event WHERE id=" + at(5)), false},
		{"an event's hash", "event 5", run("UPDATE event SET hash='00' WHERE id=" + at(5)), false},
		{"an event that is not JSON", "event 5", run("UPDATE event SET line='nonsense' WHERE id=" + at(5)), false},
		{"an event removed", "event 6", run("DELETE FROM event WHERE id=" + at(5)), false},
		{"the first event removed", "event 2", run("DELETE FROM event WHERE id=" + at(1)), false},
		{"two events swapped", "event 5", run("UPDATE event SET id=id+100 WHERE id="+at(5), "UPDATE event SET id=id-1 WHERE id="+at(6), "UPDATE event SET id=id-99 WHERE id="+at(105)), false},
		{"an event inserted", "event 14", run("INSERT INTO event SELECT id+9,scope,kind,object,'forged',hash,line FROM event WHERE id=" + at(5)), true},
		{"an event's command", "event 5", run("UPDATE event SET command='other' WHERE id=" + at(5)), false},
		{"an event's object", "event 5", run("UPDATE event SET object='99' WHERE id=" + at(5)), false},
		{"an event's kind", "event 5", run("UPDATE event SET kind='message' WHERE id=" + at(5)), false},
		{"an event's list", "event 5", run("UPDATE event SET scope=77 WHERE id=" + at(5)), false},
		{"the tail cut off", "event 10", run(cutTail), true},
		{"the tail cut off and the row set back", "event 10", setBack, true},
		{"the tail cut off, the row set back, the record removed", "task 9", func(t testing.TB, dir string) { setBack(t, dir); removeHead(t, dir) }, false},
		{"an object changed", "task 3", run("UPDATE object SET data=replace(data,'in_progress','completed') WHERE name='3'"), false},
		{"an object removed", "task 3", run("DELETE FROM object WHERE name='3'"), false},
		{"an object added", "task 99", run("INSERT INTO object(scope,kind,name,data) SELECT scope,kind,'99',data FROM object WHERE name='3'"), false},
		{"an index entry removed", "index ready", run("DELETE FROM entry WHERE list='ready' AND key=(SELECT min(key) FROM entry WHERE list='ready' AND scope=(SELECT id FROM scope WHERE name='work'))"), false},
		{"an index entry added", "index ready", run("INSERT INTO entry SELECT scope,'ready',x'6162',object FROM entry WHERE list='status' LIMIT 1"), false},
		{"an index entry that leads elsewhere", "index task", run("UPDATE entry SET object=object+1 WHERE list='task' AND scope=(SELECT id FROM scope WHERE name='work')"), false},
		{"the row's fence", "scope work", row("fence=99"), false},
		{"the row's next id", "scope work", row("next=2"), false},
		{"the row's epoch", "scope work", row("epoch='feed'"), false},
		{"the row's number", "scope work", row("seq=12"), true},
		{"the row's hash", "scope work", row("hash='beef'"), true},
		{"the row's place", "scope work", row("place='elsewhere'"), false},
		{"the row's place, to one that there is", "scope work", row("place='archive'"), false},
		{"the row's name as bytes", "scope work", row("name=CAST(name AS BLOB)"), true},
		{"the row's number as text", "scope work", row("seq='many'"), false},
		{"the row's place as bytes", "scope work", row("place=CAST(place AS BLOB)"), false},
		{"an event's object as bytes", "event 5", run("UPDATE event SET object=CAST(object AS BLOB) WHERE id=" + at(5)), false},
		{"an event's command as bytes", "event 5", run("UPDATE event SET command=CAST(command AS BLOB) WHERE id=" + at(5)), false},
		{"an event's kind as bytes", "event 5", run("UPDATE event SET kind=CAST(kind AS BLOB) WHERE id=" + at(5)), false},
		{"an event's hash as bytes", "event 5", run("UPDATE event SET hash=CAST(hash AS BLOB) WHERE id=" + at(5)), false},
		{"an event's list as bytes", "event 5", run("UPDATE event SET scope=CAST(CAST(scope AS TEXT) AS BLOB) WHERE id=" + at(5)), false},
		{"an event's line as text", "event 5", run("UPDATE event SET line=CAST(line AS TEXT) WHERE id=" + at(5)), false},
		{"an object's name as bytes", "task 3", run("UPDATE object SET name=CAST(name AS BLOB) WHERE name='3'"), false},
		{"an object's kind as bytes", "task 3", run("UPDATE object SET kind=CAST(kind AS BLOB) WHERE name='3'"), false},
		{"an object's data as text", "task 3", run("UPDATE object SET data=CAST(data AS TEXT) WHERE name='3'"), false},
		{"an index key as text", "index ready", run("UPDATE entry SET key=CAST(key AS TEXT) WHERE list='ready'"), false},
		{"an index name as bytes", "index ready", run("UPDATE entry SET list=CAST(list AS BLOB) WHERE list='ready'"), false},
		{"the row removed", "event 1", run("DELETE FROM scope WHERE name='work'"), true},
		{"the list removed", "event 1", run("DELETE FROM event WHERE id>"+at(0)+" AND id<"+at(1000), "DELETE FROM object WHERE scope=(SELECT id FROM scope WHERE name='work')",
			"DELETE FROM entry WHERE scope=(SELECT id FROM scope WHERE name='work')", "DELETE FROM scope WHERE name='work'"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := lived(t)
			c.tamper(t, dir)
			s := open(t, dir)
			report := audit(t, s)
			if c.place == "" {
				if len(report.Findings) > 0 || report.Scopes != 2 || report.Events != 15 || report.Anchors != 2 || report.Objects == 0 {
					t.Fatalf("an untouched store: %+v", report)
				}
				return
			}
			if !names(report, c.place) {
				t.Fatalf("no finding names %s: %+v", c.place, report.Findings)
			}
			before := snapshot(t, dir)
			audit(t, s)
			if after := snapshot(t, dir); after != before {
				t.Fatal("the audit wrote to the database or to the head records")
			}
			checkEpoch(t, s, c.proved)
		})
	}
}

// An archived list whose row says that it is live is in the way again, and its
// log does not say who brought it back.
func TestAuditFindsPlaceOfArchivedList(t *testing.T) {
	dir := lived(t)
	s := open(t, dir)
	if _, err := s.Move(t.Context(), list, command("archive"), cadre.Dest{Where: cadre.Archive}); err != nil {
		t.Fatal(err)
	}
	if r := audit(t, s); len(r.Findings) > 0 {
		t.Fatalf("an archived list: %+v", r.Findings)
	}
	raw(t, dir, "UPDATE scope SET place='live' WHERE name='work'")
	if r := audit(t, s); !names(r, "scope work") {
		t.Fatalf("no finding names the row: %+v", r.Findings)
	}
	raw(t, dir, "UPDATE scope SET place='archive' WHERE name='work'", "DELETE FROM event WHERE id="+at(14))
	if _, err := s.Move(t.Context(), list, command("rename"), cadre.Dest{Name: "renamed"}); err != nil {
		t.Fatal(err)
	}
	if r := audit(t, s); len(r.Findings) > 0 {
		t.Fatalf("an archived list that lost an event and says so: %+v", r.Findings)
	}
}

// One row that cannot be read must not hide what is wrong with another list, nor
// must any number of findings make a report that nobody can read.
func TestAuditGoesOnPastABadRow(t *testing.T) {
	dir := lived(t)
	raw(t, dir, "UPDATE scope SET seq='many' WHERE name='beside'", "UPDATE event SET hash='00' WHERE id="+at(5))
	s := open(t, dir)
	if r := audit(t, s); !names(r, "event 5") || r.Scopes != 2 {
		t.Fatalf("the bad row hides the other list: %+v", r)
	}
	for i := range 300 {
		do(t, s, cadre.Scope(fmt.Sprintf("many-%d", i)), &cadre.TaskAdd{Subject: "one"})
	}
	raw(t, dir, "UPDATE event SET hash='00'")
	if n := len(audit(t, s).Findings); n != 200 {
		t.Fatalf("the report has %d findings", n)
	}
}

// A list whose row was removed leaves its events: the next list must not get its
// number.
func TestNewListBesideStrayRows(t *testing.T) {
	dir := lived(t)
	raw(t, dir, "DELETE FROM scope WHERE name='beside'")
	s := open(t, dir)
	do(t, s, "new", &cadre.TaskAdd{Subject: "first"})
	do(t, s, "newer", &cadre.TaskAdd{Subject: "first"})
}

func audit(t testing.TB, s *sqlitestore.Store, anchors ...cadre.Anchor) *cadre.AuditReport {
	t.Helper()
	report, err := s.Audit(context.Background(), anchors)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func names(r *cadre.AuditReport, place string) bool {
	for _, f := range r.Findings {
		if f.Place == place && f.What != "" && (f.Scope == list || f.Scope == "") {
			return true
		}
	}
	return false
}

// snapshot is the bytes of everything that an audit must leave alone.
func snapshot(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	for _, pattern := range []string{"cadre.db", "cadre.db-wal", "heads/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkEpoch has the next command open an epoch where loss is proved, only there.
func checkEpoch(t *testing.T, s *sqlitestore.Store, proved bool) {
	t.Helper()
	c := command("add")
	r, err := s.Update(context.Background(), list, c, func(snap cadre.Snap) ([]cadre.Event, error) {
		return (&cadre.TaskAdd{Subject: "afterwards"}).Decide(snap, c)
	})
	if err != nil {
		if proved {
			t.Fatal(err)
		}
		return // what is damaged may be what the command needs
	}
	mark, opened := r.Events[0].After.(*cadre.Log)
	if opened != proved {
		t.Fatalf("an epoch was opened = %t, want %t: %+v", opened, proved, r.Events[0])
	}
	if opened && (mark.Missing == nil || mark.Missing.To < 13 || r.Head.Seq < 14 || r.Head.Next < 11) {
		t.Fatalf("the epoch says %+v, the head is %+v", mark, r.Head)
	}
}
