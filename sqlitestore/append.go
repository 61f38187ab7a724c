package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"cadre"
)

const (
	eventsOfCommand = "SELECT id,hash,line FROM event WHERE scope=? AND command=? AND command NOT GLOB '" + cadre.DrawnMark + "*' ORDER BY id"
	insertScope     = "INSERT INTO scope(id,name,place,epoch,seq,hash,fence,next) VALUES(" + freeNumber + ",?,'live','',0,'',0,0)"
	insertEvent     = "INSERT INTO event(id,scope,kind,object,command,hash,line) VALUES(?,?,?,?,?,?,?)"
	findObject      = "SELECT id FROM object WHERE scope=? AND kind=? AND name=?"
	insertObject    = "INSERT INTO object(scope,kind,name,data) VALUES(?,?,?,?)"
	updateObject    = "UPDATE object SET data=? WHERE id=?"
	deleteObject    = "DELETE FROM object WHERE scope=? AND kind=? AND name=?"
	insertEntries   = "INSERT OR FAIL INTO entry(scope,list,key,object) VALUES(?,?,?,?)"
	anotherEntry    = ",(?,?,?,?)"
	replaceEntry    = "INSERT OR REPLACE INTO entry(scope,list,key,object) VALUES(?,?,?,?)"
	deleteEntry     = "DELETE FROM entry WHERE scope=? AND list=? AND key=?"
)

// freeNumber is past every list's, and past those of rows whose list was removed
// behind the program's back: a new list must not run into what is left of it.
const freeNumber = `1+max(ifnull((SELECT max(id) FROM scope),0),ifnull((SELECT max(id)>>40 FROM event),0),
 ifnull((SELECT max(scope) FROM object),0),ifnull((SELECT max(scope) FROM entry),0))`

// replay finds what a command did when it was committed before.
func (b *batch) replay(sc *scope, c cadre.Command) (cadre.Receipt, bool, error) {
	if c.ID == "" || c.ID.Drawn() || sc.id == 0 {
		return cadre.Receipt{}, false, nil
	}
	receipt := cadre.Receipt{Head: sc.head, Replayed: true}
	var failed error
	each(b.c, func(e cadre.Event, err error) bool {
		receipt.Events, failed = append(receipt.Events, e), err
		return err == nil
	}, eventsOfCommand, sc.id, string(c.ID))
	if failed != nil || len(receipt.Events) == 0 {
		return cadre.Receipt{}, false, failed
	}
	return receipt, true, nil
}

// append seals a command's events and writes them: the log, the objects, their
// indexes. What cannot be encoded is the command's fault, the rest is not.
func (b *batch) append(r *request, sc *scope, open, events []cadre.Event) (receipt cadre.Receipt, refused, failed error) {
	if len(open) > 0 {
		events = slices.Concat(open, events)
	}
	head, lines, err := cadre.Seal(sc.head, sc.name, r.cmd, events)
	if err != nil {
		return receipt, err, nil
	}
	if head.Seq >= maxSeq {
		return receipt, cadre.Fault(errFull, "cadre team create", "writing to %s", sc.name), nil
	}
	if sc.id == 0 {
		if err := b.c.Exec(insertScope, string(sc.name)); err != nil {
			return receipt, nil, err
		}
		sc.id = b.c.Inserted()
	}
	for i := range events {
		if err := b.write(sc, &events[i], lines[i]); err != nil {
			return receipt, nil, fmt.Errorf("event %d about %s: %w", events[i].Seq, events[i].Object, err)
		}
		if (i+1)%1000 == 0 {
			cadre.ReportProgress(r.ctx, i+1, len(events))
		}
	}
	cadre.ReportProgress(r.ctx, len(events), len(events))
	sc.head, sc.missing, sc.changed = head, nil, true
	sc.added = append(sc.added, events...)
	return cadre.Receipt{Head: head, Events: events}, nil, nil
}

// write stores one sealed event and what it makes of its object.
func (b *batch) write(sc *scope, e *cadre.Event, line []byte) error {
	if err := b.c.Exec(insertEvent, eventID(sc.id, e.Seq), sc.id, string(e.Object.Kind), e.Object.ID, string(e.Command), e.Hash, line); err != nil {
		return err
	}
	sc.cache[e.Object] = e.After
	return b.put(sc, e.Object, e.Before, e.After)
}

// put replaces an object and its index entries.
func (b *batch) put(sc *scope, ref cadre.Ref, before, after cadre.Object) error {
	remove, add := cadre.Reindex(before, after)
	for _, e := range add {
		delete(sc.empty, e.Index)
	}
	scope := sc.id
	for _, e := range remove {
		if err := b.c.Exec(deleteEntry, scope, string(e.Index), []byte(e.Key)); err != nil {
			return err
		}
	}
	if after == nil {
		return b.c.Exec(deleteObject, scope, string(ref.Kind), ref.ID)
	}
	image, err := cadre.EncodeObject(after)
	if err != nil {
		return err
	}
	row, err := b.store(scope, ref, image, before == nil)
	if err != nil {
		return err
	}
	return b.index(scope, add, row)
}

// index adds entries, all of an object's with one statement. OR FAIL, because a
// statement that might have to be taken back is a slower one.
func (b *batch) index(scope int64, add []cadre.Entry, row int64) error {
	if len(add) == 0 {
		return nil
	}
	args := make([]any, 0, 4*len(add))
	for _, e := range add {
		args = append(args, scope, string(e.Index), []byte(e.Key), row)
	}
	err := b.c.Exec(insertEntries+strings.Repeat(anotherEntry, len(add)-1), args...)
	if code(err) != lib.SQLITE_CONSTRAINT {
		return err
	}
	for ; len(args) > 0; args = args[4:] { // a verb was wrong about what was there before
		if err := b.c.Exec(replaceEntry, args[:4]...); err != nil {
			return err
		}
	}
	return nil
}

// store writes an object's image and gives its row. An upsert would be shorter,
// and has SQLite copy every page it touches in case it must take it back.
func (b *batch) store(scope int64, ref cadre.Ref, image []byte, fresh bool) (int64, error) {
	if fresh {
		err := b.c.Exec(insertObject, scope, string(ref.Kind), ref.ID, image)
		if err == nil {
			return b.c.Inserted(), nil
		}
		if code(err) != lib.SQLITE_CONSTRAINT {
			return 0, err
		}
	}
	v, err := b.c.Row(findObject, scope, string(ref.Kind), ref.ID)
	if err != nil {
		return 0, err
	}
	if v == nil {
		return b.store(scope, ref, image, true)
	}
	row, err := number(v[0])
	if err != nil {
		return 0, err
	}
	return row, b.c.Exec(updateObject, image, row)
}

// rebuild makes the tables of a scope again from the log that is left. The row
// and the head record change only with the event that says what is missing: a
// command that is refused must not take away the proof.
func (b *batch) rebuild(sc *scope) error {
	clear(sc.cache)
	for _, table := range []string{"DELETE FROM entry WHERE scope=?", "DELETE FROM object WHERE scope=?"} {
		if err := b.c.Exec(table, sc.id); err != nil {
			return err
		}
	}
	then, err := stateAt(context.Background(), b.c, sc, sc.head.Seq)
	if err != nil {
		return err
	}
	for ref := range then.Refs() {
		o, err := then.Get(ref)
		if err == nil {
			err = b.put(sc, ref, nil, o)
		}
		if err != nil {
			return err
		}
	}
	head := then.Head()
	sc.head.Epoch = head.Epoch
	sc.head.Fence, sc.head.Next = max(sc.head.Fence, head.Fence), max(sc.head.Next, head.Next)
	sc.rebuild = false
	return nil
}
