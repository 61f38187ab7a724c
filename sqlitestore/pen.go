package sqlitestore

import (
	"fmt"
	"strings"
	"sync"

	lib "modernc.org/sqlite/lib"

	"cadre"
	"cadre/internal/sqlite"
)

// pen writes what was decided, in its order. Where more is to come it falls behind:
// SQLite writes on one processor while the next command is decided, or the next line of
// an import encoded, on another. Whoever reads waits until everything is written.
type pen struct {
	c       *sqlite.Conn
	changes chan change // nil until it falls behind
	behind  sync.WaitGroup
	err     error // of the first change that failed: nothing is written after it
}

// maxBehind is how many changes wait to be written at most.
const maxBehind = 64

// change is one sealed event and what it makes of its object.
type change struct {
	scope       int64
	event       *cadre.Event
	line        []byte
	remove, add []cadre.Entry
	image       []byte // of the object after; nil: it is gone
}

// write writes a change, or sees to it that it is written while the caller goes on.
func (p *pen) write(ch change, more bool) error {
	if p.changes == nil {
		if !more {
			return p.put(ch)
		}
		p.changes = make(chan change, maxBehind)
		go p.catchUp()
	}
	p.behind.Add(1)
	p.changes <- ch
	return nil
}

func (p *pen) catchUp() {
	for ch := range p.changes {
		if p.err == nil {
			p.err = guard(func() error { return p.put(ch) })
		}
		p.behind.Done()
	}
}

// conn gives the connection, once everything is written. What was read after a change
// failed is worth nothing, and goes with the transaction.
func (p *pen) conn() *sqlite.Conn {
	p.behind.Wait()
	return p.c
}

// stop waits until everything is written, and says whether it was.
func (p *pen) stop() error {
	if p.changes != nil {
		close(p.changes)
	}
	p.behind.Wait()
	return p.err
}

const (
	insertEvent   = "INSERT INTO event(id,scope,kind,object,command,hash,line) VALUES(?,?,?,?,?,?,?)"
	findObject    = "SELECT id FROM object WHERE scope=? AND kind=? AND name=?"
	insertObject  = "INSERT INTO object(scope,kind,name,data) VALUES(?,?,?,?)"
	updateObject  = "UPDATE object SET data=? WHERE id=?"
	deleteObject  = "DELETE FROM object WHERE scope=? AND kind=? AND name=?"
	insertEntries = "INSERT OR FAIL INTO entry(scope,list,key,object) VALUES(?,?,?,?)"
	anotherEntry  = ",(?,?,?,?)"
	replaceEntry  = "INSERT OR REPLACE INTO entry(scope,list,key,object) VALUES(?,?,?,?)"
	deleteEntry   = "DELETE FROM entry WHERE scope=? AND list=? AND key=?"
)

// put stores an event, its object and the index entries of that.
func (p *pen) put(ch change) error {
	e := ch.event
	err := p.c.Exec(insertEvent, eventID(ch.scope, e.Seq), ch.scope, string(e.Object.Kind), e.Object.ID, string(e.Command), e.Hash, ch.line)
	if err == nil {
		err = p.replace(ch.scope, e.Object, ch.image, e.Before == nil, ch.remove, ch.add)
	}
	if err != nil {
		return fmt.Errorf("event %d about %s: %w", e.Seq, e.Object, err)
	}
	return nil
}

// replace stores an object's image, nil for none, and its index entries.
func (p *pen) replace(scope int64, ref cadre.Ref, image []byte, fresh bool, remove, add []cadre.Entry) error {
	for _, e := range remove {
		if err := p.c.Exec(deleteEntry, scope, string(e.Index), []byte(e.Key)); err != nil {
			return err
		}
	}
	if image == nil {
		return p.c.Exec(deleteObject, scope, string(ref.Kind), ref.ID)
	}
	row, err := p.store(scope, ref, image, fresh)
	if err != nil {
		return err
	}
	return p.index(scope, add, row)
}

// index adds entries, all of an object's with one statement. OR FAIL, because a
// statement that might have to be taken back is a slower one.
func (p *pen) index(scope int64, add []cadre.Entry, row int64) error {
	if len(add) == 0 {
		return nil
	}
	args := make([]any, 0, 4*len(add))
	for _, e := range add {
		args = append(args, scope, string(e.Index), []byte(e.Key), row)
	}
	err := p.c.Exec(insertEntries+strings.Repeat(anotherEntry, len(add)-1), args...)
	if code(err) != lib.SQLITE_CONSTRAINT {
		return err
	}
	for ; len(args) > 0; args = args[4:] { // a verb was wrong about what was there before
		if err := p.c.Exec(replaceEntry, args[:4]...); err != nil {
			return err
		}
	}
	return nil
}

// store writes an object's image and gives its row. An upsert would be shorter,
// and has SQLite copy every page it touches in case it must take it back.
func (p *pen) store(scope int64, ref cadre.Ref, image []byte, fresh bool) (int64, error) {
	if fresh {
		err := p.c.Exec(insertObject, scope, string(ref.Kind), ref.ID, image)
		if err == nil {
			return p.c.Inserted(), nil
		}
		if code(err) != lib.SQLITE_CONSTRAINT {
			return 0, err
		}
	}
	v, err := p.c.Row(findObject, scope, string(ref.Kind), ref.ID)
	if err != nil {
		return 0, err
	}
	if v == nil {
		return p.store(scope, ref, image, true)
	}
	row, err := number(v[0])
	if err != nil {
		return 0, err
	}
	return row, p.c.Exec(updateObject, image, row)
}
