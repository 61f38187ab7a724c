package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cadre"
	"cadre/internal/sqlite"
)

// How much goes into one transaction at most.
const (
	maxCommands = 64
	maxTime     = 5 * time.Millisecond
)

// commit takes what waits into one transaction, and answers. The first that
// waits is the caller's own.
func (s *Store) commit(ctx context.Context) {
	first := s.queue.next()
	c, err := s.connect(ctx) // before the lock: a new database is made under it
	if err != nil {
		first.answer(cadre.Receipt{}, err)
		return
	}
	if err := s.lock.Acquire(ctx); err != nil {
		s.release(c, true)
		first.answer(cadre.Receipt{}, s.fault(err, "waiting for the lock"))
		return
	}
	b := s.transact(c, first, s.queue.next)
	healthy := b.err == nil
	if b.err != nil && len(b.taken) > 1 {
		healthy = s.alone(b, c)
	}
	s.unlock()
	s.release(c, healthy)
	b.answer()
}

func (s *Store) unlock() {
	_ = s.lock.Release() // what cannot be released goes with the file
}

// alone repeats each command of a failed transaction on its own, so that one
// that cannot be written does not take the others with it.
func (s *Store) alone(b *batch, c *sqlite.Conn) bool {
	healthy := true
	b.err, b.scopes, b.ended = nil, nil, nil
	for i, t := range b.taken {
		one := s.transact(c, t.request, func() *request { return nil })
		b.taken[i] = one.taken[0]
		if one.err != nil {
			b.taken[i].receipt, b.taken[i].err = cadre.Receipt{}, one.err
			healthy = false
			continue
		}
		one.wake()
	}
	return healthy
}

// batch is the commands of one transaction and what it knows of their scopes.
type batch struct {
	s      *Store
	pen    pen
	scopes map[cadre.Scope]*scope
	ended  []cadre.Scope // names that no longer mean a scope
	taken  []taken
	err    error // the transaction failed
}

// taken is a command that was decided, with the answer that it gets once the
// transaction is durable.
type taken struct {
	*request
	receipt cadre.Receipt
	err     error
}

// transact runs one transaction: the first command, and those that wait.
func (s *Store) transact(c *sqlite.Conn, r *request, next func() *request) *batch {
	b := &batch{s: s, pen: pen{c: c}}
	began := time.Now()
	b.err = c.Exec("BEGIN IMMEDIATE")
	if b.err == nil {
		b.scopes, b.err = s.recall(c)
	}
	for ; r != nil; r = next() {
		t := taken{request: r}
		if b.err == nil {
			b.err = guard(func() (failed error) {
				t.receipt, t.err, failed = b.run(r)
				return failed
			})
		}
		b.taken = append(b.taken, t)
		if b.err != nil || len(b.taken) == maxCommands || time.Since(began) > maxTime {
			break
		}
	}
	if err := b.pen.stop(); b.err == nil {
		b.err = err
	}
	wrote := false
	if b.err == nil {
		b.err = guard(func() (failed error) {
			wrote, failed = b.finish()
			return failed
		})
	}
	if b.err != nil {
		_ = c.Exec("ROLLBACK") // fails where SQLite has done so itself
		b.err = s.fault(b.err, "writing to the database")
		return b
	}
	b.record()
	if wrote && len(b.ended) == 0 {
		s.remember(c, b.scopes)
	}
	return b
}

// guard makes an error of a panic. What was being written is then not known, so
// the transaction fails; the lock is given up and the callers hear of it.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = cadre.Fault(fmt.Errorf("panic: %v", p), "cadre audit verify", "writing to the database")
		}
	}()
	return do()
}

// run decides one command and writes its events. A refusal is the command's own;
// failed means that the transaction cannot go on.
func (b *batch) run(r *request) (receipt cadre.Receipt, refused, failed error) {
	if err := r.ctx.Err(); err != nil {
		return receipt, err, nil
	}
	sc, err := b.scope(r.scope)
	if err != nil {
		return receipt, nil, err
	}
	if r.to != nil {
		return b.move(r, sc)
	}
	if sc.place == cadre.Archive {
		return receipt, archived(r.scope), nil
	}
	receipt, found, err := b.replay(sc, r.cmd)
	if found || err != nil {
		return receipt, nil, err
	}
	snap, open, err := b.open(sc, r.cmd)
	if err != nil {
		return receipt, nil, err
	}
	events, err := decide(r, snap)
	if err != nil {
		return receipt, err, nil
	}
	if len(events) == 0 {
		return cadre.Receipt{Head: sc.head}, nil, nil
	}
	return b.append(r, sc, open, events)
}

// decide calls the verb. A panic is the fault of one command and must not harm
// the others, or leave the lock held.
func decide(r *request, snap cadre.Snap) (events []cadre.Event, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = cadre.Fault(fmt.Errorf("panic: %v", p), "cadre audit verify", "deciding %s", r.cmd.Verb)
		}
	}()
	return r.decide(snap)
}

// finish writes the scopes' rows and makes everything durable, if there is
// anything.
func (b *batch) finish() (wrote bool, err error) {
	wrote = len(b.ended) > 0
	for _, sc := range b.scopes {
		if !sc.changed {
			continue
		}
		wrote = true
		if err := b.update(sc); err != nil {
			return false, err
		}
	}
	if !wrote {
		return false, b.pen.conn().Exec("ROLLBACK")
	}
	return true, b.pen.conn().Exec("COMMIT")
}

const updateScope = "UPDATE scope SET epoch=?,seq=?,hash=?,fence=?,next=? WHERE id=?"

func (b *batch) update(sc *scope) error {
	h := sc.head
	return b.pen.conn().Exec(updateScope, h.Epoch, int64(h.Seq), h.Hash, int64(h.Fence), int64(h.Next), sc.id)
}

// record notes the new heads. A record that cannot be written says less, and is no
// reason to take back what is durable. It is done under the lock: after it, another
// process may have erased the list, and a record without a log looks like a lost one.
func (b *batch) record() {
	for _, sc := range b.scopes {
		if sc.changed {
			_ = b.s.heads.write(sc.name, sc.head)
			b.s.beside.write(sc.name, sc.head)
			b.s.recent.add(sc.name, sc.added, sc.head)
		}
	}
}

// wake tells those who follow a scope that it changed.
func (b *batch) wake() {
	for _, name := range b.ended {
		b.s.signals.wake(headName(name))
	}
	for name, sc := range b.scopes {
		if sc.changed {
			b.s.signals.wake(headName(name))
		}
	}
}

// answer tells the followers and the callers, after the lock is free.
func (b *batch) answer() {
	if b.err == nil {
		b.wake()
	}
	for _, t := range b.taken {
		if b.err != nil {
			t.answer(cadre.Receipt{}, b.err)
			continue
		}
		t.answer(t.receipt, t.err)
	}
}

func archived(name cadre.Scope) error {
	return cadre.Refuse(cadre.RuleMissing, "cadre team restore "+string(name), "%s is archived", name)
}

var errFull = errors.New("the log is full")
