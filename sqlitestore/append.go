package sqlitestore

import (
	"context"
	"slices"

	"cadre"
)

const (
	eventsOfCommand = "SELECT id,hash,line FROM event WHERE scope=? AND command=? AND command NOT GLOB '" + cadre.DrawnMark + "*' ORDER BY id"
	insertScope     = "INSERT INTO scope(id,name,place,epoch,seq,hash,fence,next) VALUES(" + freeNumber + ",?,'live','',0,'',0,0)"
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
	each(b.pen.conn(), func(e cadre.Event, err error) bool {
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
		c := b.pen.conn()
		if err := c.Exec(insertScope, string(sc.name)); err != nil {
			return receipt, nil, err
		}
		sc.id = c.Inserted()
	}
	more := len(events) > maxBehind || b.s.queue.waits()
	for i := range events {
		ch, err := sc.change(&events[i], lines[i])
		if err == nil {
			err = b.pen.write(ch, more)
		}
		if err != nil {
			return receipt, nil, err
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

// change makes of a sealed event what is to be written, and remembers it.
func (sc *scope) change(e *cadre.Event, line []byte) (ch change, err error) {
	sc.cache[e.Object] = e.After
	ch = change{scope: sc.id, event: e, line: line}
	ch.remove, ch.add = cadre.Reindex(e.Before, e.After)
	for _, e := range ch.add {
		delete(sc.empty, e.Index)
	}
	if e.After != nil {
		ch.image, err = cadre.EncodeObject(e.After)
	}
	return ch, err
}

// rebuild makes the tables of a scope again from the log that is left. The row
// and the head record change only with the event that says what is missing: a
// command that is refused must not take away the proof.
func (b *batch) rebuild(sc *scope) error {
	clear(sc.cache)
	clear(sc.empty)
	for _, table := range []string{"DELETE FROM entry WHERE scope=?", "DELETE FROM object WHERE scope=?"} {
		if err := b.pen.conn().Exec(table, sc.id); err != nil {
			return err
		}
	}
	then, err := stateAt(context.Background(), b.pen.conn(), sc, sc.head.Seq)
	if err != nil {
		return err
	}
	for ref := range then.Refs() {
		o, err := then.Get(ref)
		if err != nil {
			return err
		}
		image, err := cadre.EncodeObject(o)
		if err != nil {
			return err
		}
		_, add := cadre.Reindex(nil, o)
		if err := b.pen.replace(sc.id, ref, image, true, nil, add); err != nil {
			return err
		}
	}
	head := then.Head()
	sc.head.Epoch = head.Epoch
	sc.head.Fence, sc.head.Next = max(sc.head.Fence, head.Fence), max(sc.head.Next, head.Next)
	sc.rebuild = false
	return nil
}
