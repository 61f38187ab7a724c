package sqlitestore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"cadre"
	"cadre/internal/sqlite"
)

// scope is a scope's row, and what a transaction does to it.
type scope struct {
	id      int64 // 0: never written to
	name    cadre.Scope
	place   cadre.Where
	head    cadre.Head
	missing *cadre.Head // what a head record proves to have been there
	rebuild bool        // the tables do not belong to the log that is left
	changed bool
	added   []cadre.Event              // by this transaction
	cache   map[cadre.Ref]cadre.Object // what this transaction has read or written
	empty   gaps                       // where it has found nothing
}

const getScope = "SELECT id,place,epoch,seq,hash,fence,next FROM scope WHERE name=?"

// readScope reads a scope's row; id 0 where there is none.
func readScope(c *sqlite.Conn, name cadre.Scope) (*scope, error) {
	v, err := c.Row(getScope, string(name))
	if err != nil || v == nil {
		return &scope{name: name, place: cadre.Live}, err
	}
	return scanScope(name, v)
}

// scanScope makes a scope of the columns id, place, epoch, seq, hash, fence, next.
func scanScope(name cadre.Scope, v []any) (*scope, error) {
	sc := &scope{name: name, place: cadre.Where(text(v[1]))}
	sc.head.Epoch, sc.head.Hash = text(v[2]), text(v[4])
	var n [4]int64
	for i, col := range []int{0, 3, 5, 6} {
		var err error
		if n[i], err = number(v[col]); err != nil {
			return nil, fmt.Errorf("reading the row of %s: %w", name, err)
		}
	}
	sc.id, sc.head.Seq, sc.head.Fence, sc.head.Next = n[0], cadre.Seq(n[1]), uint64(n[2]), uint64(n[3])
	return sc, nil
}

func (s *Store) source(p *pen, sc *scope) *source {
	return &source{pen: p, id: sc.id, name: sc.name, head: sc.head, objects: &s.objects, cache: sc.cache, empty: sc.empty}
}

// scope gives a scope as this transaction left it. The first time it holds the
// log against its own row and against its head records.
func (b *batch) scope(name cadre.Scope) (*scope, error) {
	if sc := b.scopes[name]; sc != nil {
		return sc, nil
	}
	sc, err := readScope(b.pen.conn(), name)
	if err != nil {
		return nil, err
	}
	if err := b.compare(sc); err != nil {
		return nil, err
	}
	sc.cache, sc.empty = map[cadre.Ref]cadre.Object{}, gaps{}
	b.scopes[name] = sc
	return sc, nil
}

const (
	hashAt     = "SELECT hash FROM event WHERE id=?"
	eventsFrom = "SELECT id,hash FROM event WHERE id>=?"
	lastEvent  = "SELECT id,hash FROM event WHERE id>? AND id<=? ORDER BY id DESC LIMIT 1"
)

// ends says whether the log ends where the scope's row says.
func (b *batch) ends(sc *scope) (bool, error) {
	last := eventID(sc.id, sc.head.Seq)
	r, err := b.pen.conn().Query(context.Background(), eventsFrom, last)
	if err != nil {
		return false, err
	}
	defer r.Close()
	ok, err := r.Next()
	if !ok || err != nil || r.Val[0] != last || text(r.Val[1]) != sc.head.Hash {
		return false, err
	}
	ok, err = r.Next()
	if !ok || err != nil {
		return err == nil, err
	}
	next, err := number(r.Val[0])
	return next > eventID(sc.id, maxSeq), err
}

// compare finds what the log must have had and has not. A row that is ahead of
// its log proves as much as a head record does.
func (b *batch) compare(sc *scope) error {
	if sc.id != 0 {
		ends, err := b.ends(sc)
		if err != nil {
			return err
		}
		if !ends {
			if err := b.setBack(sc); err != nil {
				return err
			}
		}
	}
	record, err := b.s.heads.read(sc.name, sc.head)
	if err != nil {
		return b.s.fault(err, "reading a head record")
	}
	if err := b.hold(sc, record); err != nil {
		return err
	}
	return b.hold(sc, b.s.beside.read(sc.name, sc.head))
}

// hold holds the log of a scope against a head record.
func (b *batch) hold(sc *scope, record *cadre.Head) error {
	if record == nil || record.Seq == 0 {
		return nil
	}
	hash := sc.head.Hash
	if record.Seq != sc.head.Seq {
		hash = ""
		if sc.id != 0 && record.Seq < sc.head.Seq {
			v, err := b.pen.conn().Row(hashAt, eventID(sc.id, record.Seq))
			if err != nil {
				return err
			}
			if v != nil {
				hash = text(v[0])
			}
		}
	}
	if hash != record.Hash && (sc.missing == nil || sc.missing.Seq < record.Seq) && !b.ownsUp(sc, *record) {
		sc.missing = record
		sc.rebuild = sc.id != 0 // whoever cut the log may have left the tables
	}
	return nil
}

// ownsUp says whether the log says already that what a record saw is missing. The record is
// then one that could not be written since.
func (b *batch) ownsUp(sc *scope, record cadre.Head) bool {
	for e, err := range b.s.source(&b.pen, sc).History((*cadre.Log)(nil).Ref()) {
		if err != nil || e.OwnsUp(record) {
			return err == nil
		}
	}
	return false
}

// setBack makes of a scope what is left of its log.
func (b *batch) setBack(sc *scope) error {
	v, err := b.pen.conn().Row(lastEvent, eventID(sc.id, 0), eventID(sc.id, maxSeq))
	if err != nil {
		return err
	}
	was := sc.head
	sc.missing, sc.rebuild = &was, true
	sc.head.Seq, sc.head.Hash = 0, ""
	if v == nil {
		return nil
	}
	id, err := number(v[0])
	sc.head.Seq, sc.head.Hash = seqOf(id), text(v[1])
	return err
}

// open gives a snapshot to decide on. Where a log is to begin, or begins anew
// because events are missing, the snapshot already has the events that say so.
func (b *batch) open(sc *scope, c cadre.Command) (cadre.Snap, []cadre.Event, error) {
	if sc.rebuild {
		if err := b.rebuild(sc); err != nil {
			return cadre.Snap{}, nil, err
		}
	}
	snap := cadre.Snap{Source: b.s.source(&b.pen, sc)}
	if sc.head.Epoch != "" && sc.missing == nil {
		return snap, nil, nil
	}
	events, err := cadre.OpenLog(snap, newEpoch(), sc.missing, c.Now)
	if err != nil {
		return cadre.Snap{}, nil, err
	}
	if mark, ok := events[0].After.(*cadre.Log); ok && sc.place != cadre.Live {
		mark.Where = sc.place // a lost event is not what brings a list back
	}
	return cadre.Overlay(snap, events), events, nil
}

// newEpoch names a new epoch.
func newEpoch() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never returns an error
	return hex.EncodeToString(b)
}
