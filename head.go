package cadre

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Head is where a scope's log stands. Receipts, cursors and anchors are heads.
// Fence and Next are never lowered, also not when a log is cut or restored.
type Head struct {
	Epoch string `json:"epoch"`
	Seq   Seq    `json:"seq"`
	Hash  string `json:"hash"`
	Fence uint64 `json:"fence"` // the largest fencing number given out
	Next  uint64 `json:"next"`  // one past every task id ever used
}

// Log is the object that marks an epoch: the first event of every log, and the
// first after a log was found cut or restored from a backup.
type Log struct {
	Epoch   string    `json:"epoch"`
	Fence   uint64    `json:"fence"`
	Next    uint64    `json:"next"`
	Where   Where     `json:"where,omitempty"` // where the scope lives since then; empty: live
	Name    Scope     `json:"name,omitempty"`  // what the scope is called since then, where that changed
	Reason  string    `json:"reason"`
	Missing *Gap      `json:"missing,omitempty"`
	Since   time.Time `json:"since"`
}

// lost says in words what the log no longer has, where something is missing.
func (l *Log) lost() string {
	if l.Missing.To < l.Missing.From {
		return fmt.Sprintf("the log was changed behind Cadre's back at event %d", l.Missing.To)
	}
	return fmt.Sprintf("the log lost its events %d to %d", l.Missing.From, l.Missing.To)
}

// Lost tells the operator what a command found to be missing from the log, and what
// came of it; empty where nothing is.
func (r Receipt) Lost() string {
	for _, e := range r.Events {
		if mark, ok := e.After.(*Log); ok && mark.Missing != nil && !r.Replayed {
			return mark.lost() + ". It was cut, changed or restored from a backup; leases and open asks are void. See: cadre audit verify"
		}
	}
	return ""
}

// Gap says which events an anchor proves to have existed that the log no longer has.
type Gap struct {
	From Seq  `json:"from"`
	To   Seq  `json:"to"`
	Head Head `json:"head"` // as the anchor recorded it
}

func (*Log) Ref() Ref                  { return Ref{KindLog, "log"} }
func (*Log) order() string             { return "log" }
func (*Log) index(func(Index, string)) {}

// advance gives the head after an object was put, the hash not yet known.
func (h Head) advance(o Object) Head {
	h.Seq++
	h.Hash = ""
	switch o := o.(type) {
	case *Log:
		h.Epoch = o.Epoch
		h.Fence, h.Next = max(h.Fence, o.Fence), max(h.Next, o.Next)
		if o.Missing != nil {
			h.Seq = max(h.Seq, o.Missing.To+1)
		}
	case *Task:
		h.Fence = max(h.Fence, o.Fence)
		if n, ok := o.ID.number(); ok {
			h.Next = max(h.Next, n+1)
		}
	}
	return h
}

// Seal chains events onto a log: it fills in what the verb left open, and gives
// the new head and the exact bytes to store, whose SHA-256 is the event's hash.
// The hash of the event before is inside those bytes.
func Seal(h Head, s Scope, c Command, events []Event) (Head, [][]byte, error) {
	lines := make([][]byte, len(events))
	for i := range events {
		e := &events[i]
		prev := h.Hash
		h = h.advance(e.After)
		e.Seq, e.Time, e.Scope, e.Prev, e.Hash = h.Seq, c.Now.Wall.UTC().Truncate(time.Millisecond), s, prev, ""
		if e.Before == nil && e.After == nil {
			return Head{}, nil, fmt.Errorf("an event of %s is about nothing", c.Verb)
		}
		e.Object = e.ref()
		if e.Verb == "" {
			e.Actor, e.Door, e.Verb, e.Command = c.Actor, c.Door, c.Verb, c.ID
		}
		line, err := encodeEvent(e)
		if err != nil {
			return Head{}, nil, fmt.Errorf("encoding an event about %s: %w", e.Object, err)
		}
		lines[i] = line
		h.Hash = HashLine(line)
		e.Hash = h.Hash
	}
	return h, lines, nil
}

// HashLine is the hash of one stored event, in lower-case hex.
func HashLine(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// OpenLog gives the events that begin an epoch on what a store has: the first of
// a new scope, or, where an anchor proves that events are missing, a new epoch
// that says which, keeps every number past the anchor's, and voids what may no
// longer be trusted: leases and answers that the lost events may have changed.
func OpenLog(s Snap, epoch string, anchor *Head, now Time) ([]Event, error) {
	mark := &Log{Epoch: epoch, Next: 1, Reason: "created", Since: now.Wall.UTC().Truncate(time.Millisecond)}
	command := Command{ID: CommandID("epoch-" + epoch), Actor: Self, Door: "store", Verb: "log.open", Now: now}
	if anchor == nil {
		e := sealedAs(command, Event{After: mark})
		return []Event{e}, nil
	}
	h := s.Head()
	mark.Reason = "the log is not the one that its anchor saw: it was cut, changed, or restored from a backup"
	mark.Missing = &Gap{From: h.Seq + 1, To: max(h.Seq, anchor.Seq), Head: *anchor}
	mark.Fence, mark.Next = max(h.Fence, anchor.Fence)+1, max(h.Next, anchor.Next)
	before, err := s.Get(mark.Ref())
	if err != nil {
		return nil, err
	}
	events := []Event{sealedAs(command, Event{Before: before, After: mark})}
	d := newDraft(Overlay(s, events), command)
	if err := d.voidLeases(); err != nil {
		return nil, err
	}
	if err := d.voidAsks(); err != nil {
		return nil, err
	}
	if err := d.notice(LeadName, "", "%s; run: cadre audit verify", mark.lost()); err != nil {
		return nil, err
	}
	for _, e := range d.events {
		events = append(events, sealedAs(command, e))
	}
	return events, nil
}

// MarkMove gives the event that records a scope's move, in the same epoch.
func MarkMove(s Snap, to Dest, now Time) (Event, error) {
	old, err := get[Log](s, (&Log{}).Ref())
	if err != nil {
		return Event{}, err
	}
	if old == nil {
		return Event{}, refuse(RuleMissing, "there is no list %s", s.Scope()).hint("cadre team list --all")
	}
	mark := *old
	mark.Missing, mark.Since, mark.Name = nil, now.Wall.UTC().Truncate(time.Millisecond), to.Name
	mark.Reason = "moved to " + string(to.Where)
	if to.Name != "" {
		mark.Reason = fmt.Sprintf("renamed from %s to %s", s.Scope(), to.Name)
	}
	if to.Where != "" {
		mark.Where = to.Where
	}
	return Event{Before: old, After: &mark}, nil
}

// sealedAs gives an event an author of its own inside another command's commit.
func sealedAs(c Command, e Event) Event {
	e.Actor, e.Door, e.Verb, e.Command = c.Actor, c.Door, c.Verb, c.ID
	return e
}
