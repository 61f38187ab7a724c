package sqlitestore

import (
	"cmp"
	"encoding/json"
	"fmt"

	"cadre"
	"cadre/internal/sqlite"
)

// scope checks one scope: its chain, its row, its objects and their indexes. The
// tables can be judged only by a log that holds.
func (a *audit) scope(sc *scope) {
	defer func() {
		if p := recover(); p != nil {
			a.find(sc.name, "log", "cannot be read: %v", p)
		}
	}()
	check := cadre.NewChainCheck(sc.name, a.anchors)
	whole := a.chain(sc, check)
	found := check.Finish()
	a.add(found...)
	if !whole || len(found) > 0 {
		return
	}
	if head := check.State().Head(); head != sc.head {
		a.find(sc.name, "scope "+string(sc.name), "says that the log stands at %s, and it stands at %s", describeHead(sc.head), describeHead(head))
	}
	a.place(sc, check.State())
	if rows, ok := a.objects(sc, check.State()); ok {
		a.entries(sc, check.State(), rows)
	}
}

// place compares where the scope's row says that it is with its newest mark.
func (a *audit) place(sc *scope, log *cadre.State) {
	want := cadre.Live
	o, err := log.Get((*cadre.Log)(nil).Ref())
	if mark, ok := o.(*cadre.Log); err == nil && ok {
		want = cmp.Or(mark.Where, want)
	}
	if sc.place != want {
		a.find(sc.name, "scope "+string(sc.name), "says that the list is in the place %q, and the log says %q", sc.place, want)
	}
}

func describeHead(h cadre.Head) string {
	b, err := json.Marshal(h)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

const wholeLog = "SELECT id,scope,kind,object,command,hash,line FROM event WHERE id>? AND id<=? ORDER BY id"

// chain walks the log, and says whether all of it could be read.
func (a *audit) chain(sc *scope, check *cadre.ChainCheck) bool {
	r, err := a.c.Query(a.ctx, wholeLog, eventID(sc.id, 0), eventID(sc.id, maxSeq))
	if err != nil {
		a.find(sc.name, "log", "cannot be read: %v", err)
		return false
	}
	defer r.Close()
	last := cadre.Seq(0)
	for {
		ok, err := r.Next()
		if err == nil {
			err = a.ctx.Err()
		}
		if err != nil {
			a.find(sc.name, fmt.Sprintf("event %d", last+1), "cannot be read: %v", err)
			return false
		}
		if !ok {
			return true
		}
		id, err := number(r.Val[0])
		if err != nil {
			a.find(sc.name, fmt.Sprintf("event %d", last+1), "cannot be read: %v", err)
			return false
		}
		last = seqOf(id)
		line := data(r.Val[6])
		check.Add(last, text(r.Val[5]), line)
		a.report.Events++
		a.types(sc.name, fmt.Sprintf("event %d", last), r.Val, "id INTEGER", "scope INTEGER", "kind TEXT", "object TEXT", "command TEXT", "hash TEXT", "line BLOB")
		a.columns(sc, last, r, line)
	}
}

// columns compares what the event is found by with what the event says.
func (a *audit) columns(sc *scope, seq cadre.Seq, r *sqlite.Rows, line []byte) {
	var e struct {
		Object  cadre.Ref `json:"object"`
		Command string    `json:"command"`
	}
	if json.Unmarshal(line, &e) != nil {
		return // the chain says so
	}
	for _, c := range []struct{ what, have, want string }{
		{"list number", text(r.Val[1]), text(sc.id)},
		{"kind", text(r.Val[2]), string(e.Object.Kind)},
		{"object", text(r.Val[3]), e.Object.ID},
		{"command", text(r.Val[4]), e.Command},
	} {
		if c.have != c.want {
			a.find(sc.name, fmt.Sprintf("event %d", seq), "is filed under %s %q and says %q", c.what, c.have, c.want)
		}
	}
}

// objects compares every current object with the one that the log makes, and
// gives the number of each object's row.
func (a *audit) objects(sc *scope, log *cadre.State) (map[cadre.Ref]int64, bool) {
	r, err := a.c.Query(a.ctx, "SELECT id,kind,name,data FROM object WHERE scope=? ORDER BY id", sc.id)
	if err != nil {
		a.find(sc.name, "table object", "cannot be read: %v", err)
		return nil, false
	}
	defer r.Close()
	seen := map[cadre.Ref]int64{}
	for {
		ok, err := r.Next()
		if err != nil {
			a.find(sc.name, "table object", "cannot be read: %v", err)
			return nil, false
		}
		if !ok {
			break
		}
		a.report.Objects++
		ref := cadre.Ref{Kind: cadre.Kind(text(r.Val[1])), ID: text(r.Val[2])}
		a.types(sc.name, ref.String(), r.Val, "id INTEGER", "kind TEXT", "name TEXT", "data BLOB")
		seen[ref], err = number(r.Val[0])
		if err != nil {
			a.find(sc.name, ref.String(), "cannot be read: %v", err)
		}
		a.object(sc, log, ref, data(r.Val[3]))
	}
	for ref := range log.Refs() {
		if _, ok := seen[ref]; !ok {
			a.find(sc.name, ref.String(), "is missing: the log has it")
		}
	}
	return seen, true
}

func (a *audit) object(sc *scope, log *cadre.State, ref cadre.Ref, image []byte) {
	want, err := log.Get(ref)
	if err != nil || want == nil {
		a.find(sc.name, ref.String(), "stands in the database and not in the log")
		return
	}
	right, err := json.Marshal(want)
	if err != nil || string(right) != string(image) {
		a.find(sc.name, ref.String(), "is not what its newest event says")
	}
}

// entries compares every index entry with those that the objects must have.
func (a *audit) entries(sc *scope, log *cadre.State, rows map[cadre.Ref]int64) {
	want := map[cadre.Entry]int64{}
	for ref := range log.Refs() {
		o, err := log.Get(ref)
		if err != nil {
			continue
		}
		for _, e := range cadre.Entries(o) {
			want[e] = rows[ref]
		}
	}
	r, err := a.c.Query(a.ctx, "SELECT list,key,object FROM entry WHERE scope=?", sc.id)
	if err != nil {
		a.find(sc.name, "table entry", "cannot be read: %v", err)
		return
	}
	defer r.Close()
	for {
		ok, err := r.Next()
		if err != nil {
			a.find(sc.name, "table entry", "cannot be read: %v", err)
			return
		}
		if !ok {
			break
		}
		e := cadre.Entry{Index: cadre.Index(text(r.Val[0])), Key: text(r.Val[1])}
		a.types(sc.name, "index "+string(e.Index), r.Val, "list TEXT", "key BLOB", "object INTEGER")
		row, known := want[e]
		switch {
		case !known:
			a.find(sc.name, "index "+string(e.Index), "holds %q, which no object has", e.Key)
		case r.Val[2] != row:
			a.find(sc.name, "index "+string(e.Index), "leads from %q to another object", e.Key)
		}
		delete(want, e)
	}
	for e := range want {
		a.find(sc.name, "index "+string(e.Index), "lacks %q", e.Key)
	}
}
