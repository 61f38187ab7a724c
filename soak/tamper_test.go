package soak_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cadre"
)

// attack is something done to the database behind the program's back, and where
// the audit must point: to a place, or to one of several where it may show.
type attack struct {
	name string
	sql  string
	want []string // any of these in "SCOPE: PLACE WHAT"
}

// retyped is an attack that first makes the tables take values of any type, and
// in the end leaves them declared as they were.
func retyped(statement string) string {
	const schema = "PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql=replace(replace(sql,%s),%s) WHERE type='table'; PRAGMA writable_schema=RESET;"
	return fmt.Sprintf(schema, "') STRICT',')/* STRICT*/'", "',STRICT','/*,STRICT*/'") + statement + ";" +
		fmt.Sprintf(schema, "'/* STRICT*/',' STRICT'", "'/*,STRICT*/',',STRICT'")
}

// In the attacks, $docs is the number of the list and $first its first event; the
// log of docs is made by evidence.
var attacks = []attack{
	{"event, edit", `UPDATE event SET line=CAST(replace(CAST(line AS TEXT),'beta','zeta') AS BLOB) WHERE id=$first+4`, []string{"docs: event 5 "}},
	{"event, edit of its hash", `UPDATE event SET hash=upper(hash) WHERE id=$first+4`, []string{"docs: event 5 "}},
	{"event, edit of what it is found by", `UPDATE event SET command='another' WHERE id=$first+4`, []string{"docs: event 5 "}},
	{"event, removal", `DELETE FROM event WHERE id=$first+4`, []string{"docs: event 6 "}},
	{"event, removal of the first", `DELETE FROM event WHERE id=$first`, []string{"docs: event 2 "}},
	{"event, removal of the last", `DELETE FROM event WHERE id=(SELECT max(id) FROM event WHERE scope=$docs)`, []string{"docs: event 11 "}},
	{
		"event, swap", `
		CREATE TEMP TABLE two AS SELECT * FROM event WHERE id IN ($first+4,$first+5);
		UPDATE event SET (kind,object,command,hash,line)=(SELECT kind,object,command,hash,line FROM two WHERE two.id=2*$first+9-event.id) WHERE id IN ($first+4,$first+5)`,
		[]string{"docs: event 5 "},
	},
	{"event, insertion at the end", `INSERT INTO event SELECT id+1,scope,kind,object,command,hash,line FROM event WHERE scope=$docs ORDER BY id DESC LIMIT 1`, []string{"docs: event 12 "}},
	{"event, insertion in between", `
		UPDATE event SET id=id+1000 WHERE id>=$first+5 AND scope=$docs; UPDATE event SET id=id-999 WHERE id>$first+1000 AND scope=$docs;
		INSERT INTO event SELECT id+1,scope,kind,object,command,hash,line FROM event WHERE id=$first+4`, []string{"docs: event 6 "}},
	{"event, insertion into no list", `INSERT INTO event SELECT (99<<40)+1,99,kind,object,command,hash,line FROM event WHERE id=$first`, []string{"table event"}},
	{"object, edit", `UPDATE object SET data=CAST(replace(CAST(data AS TEXT),'beta','zeta') AS BLOB) WHERE scope=$docs AND kind='task' AND name='2'`, []string{"docs: task 2 "}},
	{"object, removal", `DELETE FROM object WHERE scope=$docs AND kind='task' AND name='2'`, []string{"docs: task 2 "}},
	{"object, swap", `UPDATE object SET name=CASE name WHEN '1' THEN '-2' WHEN '2' THEN '-1' END WHERE scope=$docs AND kind='task' AND name IN ('1','2');
		UPDATE object SET name=substr(name,2) WHERE scope=$docs AND kind='task' AND name LIKE '-%'`, []string{"docs: task 1 ", "docs: task 2 "}},
	{"object, insertion", `INSERT INTO object(scope,kind,name,data) SELECT scope,kind,'99',data FROM object WHERE scope=$docs AND kind='task' AND name='2'`, []string{"docs: task 99 "}},
	{"object, insertion into no list", `INSERT INTO object(scope,kind,name,data) SELECT 99,kind,name,data FROM object WHERE scope=$docs`, []string{"table object"}},
	{"entry, edit", `UPDATE entry SET key=CAST('zz' AS BLOB) WHERE scope=$docs AND list='task' AND object=(SELECT id FROM object WHERE scope=$docs AND kind='task' AND name='2')`, []string{"docs: index task "}},
	{"entry, removal", `DELETE FROM entry WHERE scope=$docs AND list='ready'`, []string{"docs: index ready "}},
	{"entry, swap", `UPDATE entry SET object=(SELECT id FROM object WHERE scope=$docs AND kind='task' AND name=CASE entry.object WHEN (SELECT id FROM object WHERE scope=$docs AND kind='task' AND name='1') THEN '2' ELSE '1' END)
		WHERE scope=$docs AND list='task' AND object IN (SELECT id FROM object WHERE scope=$docs AND kind='task' AND name IN ('1','2'))`, []string{"docs: index task "}},
	{"entry, insertion", `INSERT INTO entry SELECT scope,'ready',CAST('zz' AS BLOB),object FROM entry WHERE scope=$docs AND list='task' LIMIT 1`, []string{"docs: index ready "}},
	{"entry, insertion into no list", `INSERT INTO entry SELECT 99,list,key,object FROM entry WHERE scope=$docs`, []string{"table entry"}},
	{"scope, edit of the number", `UPDATE scope SET seq=seq+1 WHERE id=$docs`, []string{"docs: scope docs "}},
	{"scope, edit of the fence", `UPDATE scope SET fence=0 WHERE id=$docs`, []string{"docs: scope docs "}},
	{"scope, edit of the next id", `UPDATE scope SET next=1 WHERE id=$docs`, []string{"docs: scope docs "}},
	{"scope, edit of the place", `UPDATE scope SET place='nowhere' WHERE id=$docs`, []string{"docs: scope docs "}},
	{"scope, edit of the place to another", `UPDATE scope SET place='archive' WHERE id=$docs`, []string{"docs: scope docs "}},
	{"scope, edit of the place back", `UPDATE scope SET place='live' WHERE name='shelf'`, []string{"shelf: scope shelf "}},
	{"scope, the name as bytes", retyped(`UPDATE scope SET name=CAST(name AS BLOB) WHERE id=$docs`), []string{"docs: scope docs "}},
	{"scope, the number as text", retyped(`UPDATE scope SET seq='many' WHERE id=$docs`), []string{"docs: scope docs "}},
	{"event, the object as bytes", retyped(`UPDATE event SET object=CAST(object AS BLOB) WHERE id=$first+4`), []string{"docs: event 5 "}},
	{"event, the command as bytes", retyped(`UPDATE event SET command=CAST(command AS BLOB) WHERE id=$first+4`), []string{"docs: event 5 "}},
	{"object, the name as bytes", retyped(`UPDATE object SET name=CAST(name AS BLOB) WHERE scope=$docs AND kind='task' AND name='2'`), []string{"docs: task 2 "}},
	{"entry, the key as text", retyped(`UPDATE entry SET key=CAST(key AS TEXT) WHERE scope=$docs AND list='ready'`), []string{"docs: index ready "}},
	{"entry, the list as bytes", retyped(`UPDATE entry SET list=CAST(list AS BLOB) WHERE scope=$docs AND list='ready'`), []string{"docs: index ready "}},
	{"scope, edit of the name", `UPDATE scope SET name='other' WHERE id=$docs`, []string{"docs: event 1 ", "other: "}},
	{"scope, removal", `DELETE FROM scope WHERE id=$docs`, []string{"docs: event 1 "}},
	{"scope, swap", `UPDATE scope SET name=CASE name WHEN 'docs' THEN ' site' ELSE ' docs' END WHERE name IN ('docs','site'); UPDATE scope SET name=trim(name)`, []string{"docs: event ", "site: event "}},
	{"scope, insertion", `INSERT INTO scope(name,place,epoch,seq,hash,fence,next) VALUES('fake','live','e',3,'h',0,1)`, []string{"fake: "}},
}

// evidence makes a machine whose list docs has 11 events: the log's opening, a
// team, tasks, members, mail, comments. A second list is there to swap with.
func evidence(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t)
	for _, args := range [][]string{
		{"team", "create", "docs"}, // the opening, the team, its lead
		{"task", "add", "alpha", "--scope", "docs"},
		{"task", "add", "beta", "--scope", "docs"},
		{"task", "claim", "1", "--scope", "docs", "--as", "ann"}, // also joins, also mail
		{"task", "comment", "1", "half of it", "--scope", "docs"},
		{"msg", "send", "ann", "please hurry", "--scope", "docs"},
		{"task", "done", "1", "--scope", "docs", "--as", "ann"},
		{"task", "add", "gamma", "--scope", "docs"},
		{"task", "add", "delta", "--scope", "site"},
		{"task", "add", "epsilon", "--scope", "site"},
		{"team", "create", "shelf"},
		{"team", "delete", "shelf"},
	} {
		m.must(args...)
	}
	return m
}

// TestSoakTampering changes the database in every way between two processes, and
// has the audit find each of them, and nothing in a database left alone.
func TestSoakTampering(t *testing.T) {
	t.Parallel()
	m := evidence(t)
	clean := m.audited()
	if log := ask[[]cadre.Event](m, "log", "--limit", "0", "--scope", "docs"); len(log) != 11 {
		t.Fatalf("the log of docs has %d events, and the attacks are made for 11", len(log))
	}
	for i, a := range attacks {
		hurt := m.copyOf(filepath.Join(t.TempDir(), fmt.Sprint(i)))
		hurt.audited()
		hurt.sql(a.sql)
		found := hurt.findings()
		if !names(found, a.want) {
			t.Errorf("%s: the audit must name %q and says\n%s", a.name, a.want, strings.Join(found, "\n"))
		}
	}
	m.audited()
	t.Logf("%d attacks on a record of %d events, %d objects and %d head records: the audit named the place of each, and found nothing in %d untouched copies",
		len(attacks), clean.Events, clean.Objects, clean.Anchors, len(attacks)+2)
}

// findings has a record verified that must not hold.
func (m *machine) findings(args ...string) []string {
	m.t.Helper()
	r := m.run(append([]string{"audit", "verify", "--json"}, args...)...)
	var report cadre.AuditReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		m.t.Errorf("an audit without a report: %s", r)
	}
	if r.code != 1 || len(report.Findings) == 0 {
		m.t.Errorf("the audit found nothing: %s", r)
	}
	var out []string
	for _, f := range report.Findings {
		out = append(out, fmt.Sprintf("%s: %s %s", f.Scope, f.Place, f.What))
	}
	return out
}

// names says whether the findings point to where they must.
func names(found, want []string) bool {
	for _, f := range found {
		for _, w := range want {
			if strings.Contains(f, w) {
				return true
			}
		}
	}
	return false
}
