package cadre

import (
	"fmt"
	"slices"
	"time"
)

// draft is a command while it is being decided: the scope as it will be, and the
// events so far. Each object has at most one event in a command. Whatever is
// derived from a change (the blockers' count on every dependent, versions,
// times) is kept right here and nowhere else.
type draft struct {
	Snap
	over   *overlay
	cmd    Command
	me     string // the caller's name in this scope
	rights rights
	events []Event
	place  map[Ref]int // where an object's event stands in events
	joins  *Member     // a hand-driven member that joins with its first change
}

// newDraft begins a command of Cadre itself, which may do everything.
func newDraft(s Snap, c Command) *draft {
	over := newOverlay(s.Source)
	return &draft{Snap: Snap{over}, over: over, cmd: c, me: c.Actor.Name, rights: leads, place: map[Ref]int{}}
}

// begin starts a command of a caller: who is it here, and what may it do.
func begin(s Snap, c Command) (*draft, error) {
	d := newDraft(s, c)
	var err error
	d.me, d.rights, d.joins, err = d.identify()
	if err != nil {
		return nil, err
	}
	if d.rights == nothing {
		return nil, refuse(RuleRead, "%s has no access to this list", c.Actor)
	}
	return d, nil
}

// finish gives the command's events. A hand-driven newcomer joins with its
// first change, and only then.
func (d *draft) finish() ([]Event, error) {
	if len(d.events) == 0 || d.joins == nil {
		return d.events, nil
	}
	if _, ok := d.place[d.joins.Ref()]; ok {
		return d.events, nil
	}
	if err := d.join(d.joins); err != nil {
		return nil, err
	}
	return d.events, nil
}

func (d *draft) now() time.Time { return d.cmd.Now.Wall.UTC().Truncate(time.Millisecond) }

// number is a number that no event of this log ever had, for new objects' names.
func (d *draft) number() uint64 { return uint64(d.Head().Seq) + 1 }

// put records that an object is replaced. before is nil for a new one, after is
// nil for one that goes away.
func (d *draft) put(before, after Object) {
	e := Event{Before: before, After: after}
	ref := e.ref()
	if i, ok := d.place[ref]; ok {
		e.Before = d.events[i].Before
		d.events[i] = e
		seq := d.over.head.Seq
		d.over.put(e)
		d.over.head.Seq = seq
		return
	}
	d.place[ref] = len(d.events)
	d.events = append(d.events, e)
	d.over.put(e)
}

// putTask records a new image of a task and what follows from it for others:
// its own count of open blockers, and the count of everyone who waits for it.
// The image must be a Clone.
func (d *draft) putTask(before, after *Task) error {
	after.UpdatedAt = d.now()
	after.Version = 1
	if before != nil {
		after.Version = before.Version + 1
		if i, ok := d.place[after.Ref()]; ok {
			after.Version = 1
			if first, ok := d.events[i].Before.(*Task); ok {
				after.Version = first.Version + 1
			}
		}
	}
	if before == nil || before.Status == Deleted || !slices.Equal(before.BlockedBy, after.BlockedBy) {
		open, err := d.countOpen(after.BlockedBy)
		if err != nil {
			return err
		}
		after.OpenBlockers = open
	}
	after.settle()
	if after.Status == Pending && (after.Owner == "" || before != nil && before.Status != Pending) {
		after.unflag(FlagForced) // it is back, and waits like any other
	}
	if d.cmd.Actor.Kind == ActorGuest && after.Owner == d.me && !after.Leased && after.Open() {
		after.Leased = true // however it became the guest's
		if err := d.hold(d.me, GuestLease); err != nil {
			return err
		}
	}
	if after.Plan != nil && before != nil && before.Owner != "" && before.Owner != after.Owner {
		after.Plan = after.Plan.shut() // a plan is approved for the one who made it
	}
	var old Object
	if before != nil {
		old = before
	}
	d.put(old, after)
	if before != nil && before.Leased && after.Open() && (!after.Leased || after.Owner != before.Owner) {
		if err := d.closeTakeover(after.ID); err != nil {
			return err
		}
	}
	if before == nil || before.finished() == after.finished() {
		return nil
	}
	return d.recount(after)
}

// countOpen counts the blockers that are not finished.
func (d *draft) countOpen(blockers []TaskID) (int, error) {
	open := 0
	for _, id := range blockers {
		b, err := d.Task(id)
		if err != nil {
			return 0, err
		}
		if b == nil {
			return 0, fmt.Errorf("task %s is a blocker and does not exist", id)
		}
		if !b.finished() {
			open++
		}
	}
	return open, nil
}

// recount adjusts the tasks that wait for one that was just finished or reopened.
func (d *draft) recount(blocker *Task) error {
	step := 1
	if blocker.finished() {
		step = -1
	}
	waiting, err := collect(d.Blocks(blocker.ID))
	if err != nil {
		return err
	}
	for _, w := range waiting {
		now, err := d.Task(w.ID) // as those before it in this loop left it
		if err != nil {
			return err
		}
		next := now.Clone()
		next.OpenBlockers += step
		if err := d.putTask(now, next); err != nil {
			return err
		}
	}
	return nil
}
