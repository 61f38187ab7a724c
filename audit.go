package cadre

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// Anchor is a head that was kept somewhere, to hold a log against later.
type Anchor struct {
	Scope Scope  `json:"scope"`
	Head  Head   `json:"head"`
	From  string `json:"from,omitempty"` // where it was kept

	// Own marks a store's own head record. A log that lost events and says so
	// has answered its own record; whoever kept an anchor elsewhere is still told.
	Own bool `json:"-"`
}

// Finding is one place where a record is not what it must be.
type Finding struct {
	Scope Scope  `json:"scope"`
	Place string `json:"place"` // "event 57", "task 3", "database"
	What  string `json:"what"`
}

// AuditReport is what an audit looked at and what it found.
type AuditReport struct {
	Scopes   int       `json:"scopes"`
	Events   int       `json:"events"`
	Objects  int       `json:"objects"`
	Anchors  int       `json:"anchors"`
	Findings []Finding `json:"findings"`
}

// Auditor is a store that can hold its record against itself and against
// anchors. It writes nothing.
type Auditor interface {
	Audit(context.Context, []Anchor) (*AuditReport, error)
}

// Backuper is a store that can write a whole copy of itself while it is in use.
type Backuper interface {
	Backup(ctx context.Context, path string) error
}

// ChainCheck walks one scope's stored events in order and finds the first place
// where the chain does not hold, and every anchor that does not fit.
type ChainCheck struct {
	scope   Scope
	name    Scope // what the scope was called at this point of the log
	anchors []*held
	state   State
	head    Head
	broken  bool
	out     []Finding
}

// held is an anchor that the log is held against, and whether the event it saw
// was met.
type held struct {
	Anchor
	met bool
}

// NewChainCheck begins a check of one scope against the anchors that are its own.
func NewChainCheck(s Scope, anchors []Anchor) *ChainCheck {
	c := &ChainCheck{scope: s, state: State{Name: s}}
	for _, a := range anchors {
		if a.Scope == s {
			c.anchors = append(c.anchors, &held{Anchor: a})
		}
	}
	return c
}

// Add checks the next stored event: its bytes against its hash, its place in the
// chain, and its before image against what was there.
func (c *ChainCheck) Add(seq Seq, hash string, line []byte) {
	if c.broken {
		return
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		c.fail(seq, "cannot be read: %v", err)
		return
	}
	want := c.head.advance(e.After)
	if c.name == "" {
		c.name = e.Scope
	}
	switch {
	case HashLine(line) != hash:
		c.fail(seq, "was changed: its bytes do not have its hash")
	case e.Prev != c.head.Hash:
		c.fail(seq, "does not follow the event before it: something was removed, inserted, swapped or rewritten here")
	case e.Seq != seq || want.Seq != seq:
		c.fail(seq, "stands in the wrong place: %d was expected, its own number is %d", want.Seq, e.Seq)
	case e.Scope != c.name:
		c.fail(seq, "belongs to the list %s and stands in that of %s", e.Scope, c.name)
	case !c.fits(e):
		c.fail(seq, "says that %s was something else before than the log does", e.Object)
	}
	if c.broken {
		return
	}
	c.explain(e)
	if mark, ok := e.After.(*Log); ok && mark.Name != "" {
		c.name = mark.Name
	}
	e.Hash = hash
	c.state.Apply(e)
	c.head = c.state.Head()
	for _, a := range c.anchors {
		if a.Head.Seq != seq || a.Head.Epoch != c.head.Epoch {
			continue
		}
		if a.met = a.Head.Hash == hash; !a.met {
			c.fail(seq, "is not the event that the anchor in %s saw", a.From)
		}
	}
}

// fits compares an event's before image with the object as the log left it.
func (c *ChainCheck) fits(e Event) bool {
	have := c.state.objects[e.Object]
	if have == nil || e.Before == nil {
		return have == nil && e.Before == nil
	}
	return reflect.DeepEqual(fieldsOf(have), fieldsOf(e.Before))
}

// explain counts the store's own head records as met that an epoch owned up to
// missing.
func (c *ChainCheck) explain(e Event) {
	for _, a := range c.anchors {
		if a.Own && e.OwnsUp(a.Head) {
			a.met = true
		}
	}
}

// OwnsUp says whether an event begins an epoch that says itself that what a head saw is
// missing.
func (e Event) OwnsUp(h Head) bool {
	mark, ok := e.After.(*Log)
	if !ok || mark.Missing == nil {
		return false
	}
	gap := mark.Missing
	before, ok := e.Before.(*Log)
	return gap.Head == h || ok && before.Epoch == h.Epoch && gap.From <= h.Seq && h.Seq <= gap.To
}

func (c *ChainCheck) fail(seq Seq, format string, args ...any) {
	c.broken = true
	c.out = append(c.out, Finding{c.scope, fmt.Sprintf("event %d", seq), fmt.Sprintf(format, args...)})
}

// State is the scope as the log alone makes it, to compare current objects with.
func (c *ChainCheck) State() *State { return &c.state }

// Finish gives what was found. Every anchor must have been met.
func (c *ChainCheck) Finish() []Finding {
	if c.broken {
		return c.out
	}
	if c.name != "" && c.name != c.scope {
		c.fail(c.head.Seq, "leaves the list with the name %s, not %s", c.name, c.scope)
		return c.out
	}
	for _, a := range c.anchors {
		switch {
		case a.met || a.Head.Seq == 0:
			continue
		case a.Head.Seq > c.head.Seq:
			c.fail(c.head.Seq+1, "to %d are missing: the anchor in %s saw them", a.Head.Seq, a.From)
		case c.knows(a.Head):
			c.fail(a.Head.Seq, "is missing: the anchor in %s saw it, and the log says itself that it lost events there", a.From)
		default:
			c.fail(a.Head.Seq, "of epoch %s, which the anchor in %s saw, is not in the log", a.Head.Epoch, a.From)
		}
		break
	}
	return c.out
}

// knows says whether an anchor's epoch is one of the log's.
func (c *ChainCheck) knows(h Head) bool {
	for _, e := range c.state.history[(&Log{}).Ref()] {
		if mark, ok := e.After.(*Log); ok && mark.Epoch == h.Epoch {
			return true
		}
	}
	return false
}
