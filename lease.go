package cadre

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// DefaultAttempts is how often a task is given out again before it needs a person.
const DefaultAttempts = 3

// TaskRenew keeps a claim alive. The runtime and a door's connection use it.
type TaskRenew struct {
	ID    TaskID        `json:"id" help:"the task"`
	Fence uint64        `json:"fence" help:"the claim to renew"`
	Lease time.Duration `json:"lease" help:"for how long from now"`
}

// Decide renews.
func (v *TaskRenew) Decide(s Snap, c Command) ([]Event, error) {
	check := func(*draft) error {
		if v.Lease <= 0 {
			return refuse(RuleValue, "a lease needs a length")
		}
		return nil
	}
	return decideOn(s, c, v.ID, check, func(d *draft, t *Task) error {
		if err := t.fenced(v.Fence); err != nil {
			return err
		}
		if t.Owner == d.me && t.Status == Completed {
			return nil // whoever did it still says what it did
		}
		if err := d.holds(t); err != nil {
			return err
		}
		if !t.Leased {
			next := t.Clone()
			next.Leased = true
			d.put(t, next) // the same version: nobody changed what it says, and no hook need be asked again
		}
		return d.renew(t.Owner, v.Lease)
	})
}

// Answer gives the task.
func (v *TaskRenew) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// LeasesExpire gives back every task whose lease ran out. Whoever runs may call
// it at any time.
type LeasesExpire struct {
	Guests bool // only what guests had: nobody else sees to it
}

// Decide requeues.
func (v *LeasesExpire) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := d.expireLeases(v.Guests); err != nil {
		return nil, err
	}
	return d.finish()
}

// Answer lists the tasks that were given back.
func (v *LeasesExpire) Answer(s Snap, c Command, r Receipt) (any, error) {
	ids := []TaskID{}
	for _, e := range r.Events {
		if t, ok := e.After.(*Task); ok {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// Holder is a member that took tasks on a lease, and until when those claims last. It is an
// object of its own, and one for all its tasks, because it is renewed every few seconds
// and each renewal stays in the log.
type Holder struct {
	Name  string `json:"name"`
	Lease *Lease `json:"lease,omitempty"` // nil: it ran out, and what it held was given back
}

func (h *Holder) Ref() Ref      { return Ref{KindHolder, h.Name} }
func (h *Holder) order() string { return h.Name }
func (h *Holder) index(add func(Index, string)) {
	if h.Lease != nil {
		add(IndexLeased, joinKey(h.Lease.Boot, upKey(h.Lease.Until), h.Name))
	}
}

// SignOfLife says whether an event says nothing but that somebody is still there, or
// that its lease on nothing is over. There are many, and people are not shown them.
func (e Event) SignOfLife() bool {
	switch after := e.After.(type) {
	case *Holder:
		return true
	case *Member:
		before, ok := e.Before.(*Member)
		return ok && after.Lease != nil && slices.Equal(changedFields(before, after), []string{"lease"})
	}
	return false
}

// holder gives a member's lease; nil where it never had one.
func (s Snap) holder(name string) (*Holder, error) { return get[Holder](s, Ref{KindHolder, name}) }

// hold sees to it that a member has a lease of about a length. One that was renewed a
// moment ago will do: who works through many short tasks writes no lease with each.
func (d *draft) hold(name string, length time.Duration) error {
	if length <= 0 {
		return nil
	}
	h, err := d.holder(name)
	if err != nil {
		return err
	}
	if now := d.cmd.Now; h != nil && h.Lease != nil && h.Lease.Boot == now.Boot && h.Lease.Until-now.Up >= length*2/3 {
		return nil
	}
	return d.renew(name, length)
}

// renew has a member's lease last for a length from now on, or for as long as it does.
func (d *draft) renew(name string, length time.Duration) error {
	h, err := d.holder(name)
	if err != nil {
		return err
	}
	next := &Holder{Name: name, Lease: d.leaseOf(length)}
	if h == nil {
		d.put(nil, next)
		return nil
	}
	if l := h.Lease; l == nil || l.Boot != next.Lease.Boot || l.Until < next.Lease.Until {
		d.put(h, next)
	}
	return nil
}

// claimIsOver says whether a task is held on a lease that ran out.
func (d *draft) claimIsOver(t *Task) (bool, error) {
	if !t.Leased {
		return false, nil
	}
	h, err := d.holder(t.Owner)
	return err == nil && (h == nil || h.Lease == nil || h.Lease.expired(d.cmd.Now)), err
}

// expireClaim gives a task back, with all that its owner holds, if its lease ran out.
func (d *draft) expireClaim(t *Task) error {
	over, err := d.claimIsOver(t)
	if err != nil || !over {
		return err
	}
	return d.lose(t.Owner, "its lease ran out")
}

// leaseOf is a lease from now on. None is longer than a day: what holds a task
// that long must say now and then that it is still there.
func (d *draft) leaseOf(length time.Duration) *Lease {
	return &Lease{Boot: d.cmd.Now.Boot, Until: d.cmd.Now.Up + min(length, 24*time.Hour)}
}

// lasting is what lasts only for as long as somebody says so.
type lasting interface {
	Object
	lease() *Lease
}

func (h *Holder) lease() *Lease { return h.Lease }
func (m *Member) lease() *Lease { return m.Lease }

// overdue gives what stands in an index of leases and is over. Of what is not over it
// reads one, however much there is: every member asks before it takes up work.
func overdue[P lasting](s Snap, i Index, now Time) (over []P, err error) {
	// What another boot left is over; it stands before and after this boot's leases.
	empty := true
	for _, after := range []string{"", joinKey(now.Boot, "\xff")} {
		if after != "" && empty {
			break
		}
		for o, err := range scan[P](s, i, "", after) {
			if err != nil {
				return nil, err
			}
			empty = false
			if l := o.lease(); !l.expired(now) || after == "" && l.Boot > now.Boot {
				break
			}
			over = append(over, o)
		}
	}
	return over, nil
}

// NextEnd is the first lease of this boot, and the first deadline of an ask, that
// comes after a time; nil where there is none. What was over by then is left out:
// it wakes nobody.
func (s Snap) NextEnd(after Time) (lease *time.Duration, ask *time.Time, err error) {
	boot := prefixKey(after.Boot)
	for h, err := range scan[*Holder](s, IndexLeased, boot, boot+upKey(after.Up)+"\xff") {
		if err != nil {
			return nil, nil, err
		}
		lease = &h.Lease.Until
		break
	}
	for a, err := range scan[*Ask](s, IndexDeadline, "", timeKey(after.Wall)+"\xff") {
		if err != nil {
			return nil, nil, err
		}
		ask = a.Deadline
		break
	}
	return lease, ask, nil
}

// expireLeases gives back what was held by those who did not say in time that they are
// still there; with guests, only by guests.
func (d *draft) expireLeases(guests bool) error {
	lost, err := d.lost(d.cmd.Now, guests)
	if err != nil {
		return err
	}
	for _, name := range lost {
		if err := d.lose(name, "its lease ran out"); err != nil {
			return err
		}
	}
	return nil
}

// lost names those whose lease is over, each once.
func (s Snap) lost(now Time, guests bool) (names []string, err error) {
	gone, err := overdue[*Member](s, IndexGuest, now)
	if err != nil {
		return nil, err
	}
	for _, m := range gone {
		names = append(names, m.Name)
	}
	over, err := overdue[*Holder](s, IndexLeased, now)
	if err != nil {
		return nil, err
	}
	for _, h := range over {
		if slices.Contains(names, h.Name) {
			continue
		}
		m, err := s.Member(h.Name)
		if err != nil {
			return nil, err
		}
		if !guests || m == nil || m.Lease != nil {
			names = append(names, h.Name)
		}
	}
	return names, nil
}

// lose gives back what a member held that was lost: each task pending, with one
// more attempt and a new fencing number, all in this commit; and tells the lead,
// once. A lease that ran out while nothing was held on it lost nothing. A guest cannot
// be relied on to come back: it keeps nothing, leads nothing, and has left once its stay
// is over.
func (d *draft) lose(member, why string) error {
	m, err := d.Member(member)
	if err != nil {
		return err
	}
	guest := m != nil && m.Lease != nil
	held, err := collect(d.Tasks(TaskQuery{Index: IndexOwner, Key: member}))
	if err != nil {
		return err
	}
	var given []string
	for _, t := range held {
		if !t.Leased && !guest {
			continue
		}
		if err := d.requeue(t, nil); err != nil {
			return err
		}
		given = append(given, string(t.ID))
	}
	h, err := d.holder(member)
	if err != nil {
		return err
	}
	if h != nil && h.Lease != nil {
		d.put(h, &Holder{Name: member})
	}
	over := guest && m.Lease.expired(d.cmd.Now)
	if len(given) == 0 && !over {
		return nil
	}
	if guest {
		if err := d.setNoLead(member, true); err != nil {
			return err
		}
	}
	if over {
		err = d.depart(member, guestGone, true)
	} else {
		err = d.setMemberState(member, StateUnreachable, why)
	}
	if err != nil || guest && m.State == StateUnreachable && len(given) == 0 {
		return err
	}
	text := fmt.Sprintf("%s was lost (%s)", member, why)
	if len(given) > 0 {
		text += "; pending again: task " + strings.Join(given, ", ")
	}
	return d.notice(LeadName, "", "%s", text)
}

// requeue gives one task back, with what came of the attempt. After too many attempts
// it needs a person.
func (d *draft) requeue(t *Task, result *Result) error {
	return d.requeueAs(t, result, t.Attempts+1, fmt.Sprintf("task %s was given out %d times and never finished", t.ID, t.Attempts+1))
}

// requeueAs gives one task back with a number of attempts, and with what to tell a
// person if those are too many.
func (d *draft) requeueAs(t *Task, result *Result, attempts int, why string) error {
	next := t.Clone()
	next.back(d)
	if result != nil {
		next.Result = result
	}
	if next.Attempts = attempts; attempts >= t.MostAttempts() && !next.has(FlagPerson) {
		next.flag(FlagPerson)
		d.ask(&Ask{Kind: AskPerson, Task: t.ID, From: "cadre", Text: why})
	}
	return d.putTask(t, next)
}

// MostAttempts is how often the task is given out, or a hook may refuse its
// completion, before it needs a person.
func (t *Task) MostAttempts() int { return cmp.Or(t.MaxAttempts, DefaultAttempts) }

// checkAttempts checks such a number; 0 is the usual one.
func checkAttempts(n int) error {
	const most = 100
	if n < 0 || n > most {
		return refuse(RuleLimit, "%d is no number of attempts: use 1 to %d", n, most)
	}
	return nil
}

// setMemberState records what a member does, with its evidence; the same again
// is no change.
func (d *draft) setMemberState(name string, state MemberState, evidence string) error {
	m, err := d.Member(name)
	if err != nil || m == nil || m.State == state || m.State == StateDeparted {
		return err
	}
	next := m.Clone()
	next.State, next.Since, next.Evidence = state, d.now(), evidence
	d.put(m, next)
	return nil
}

// voidLeases ends every lease, for a log that lost events: nobody can know who
// holds what.
func (d *draft) voidLeases() error {
	holders, err := collect(scan[*Holder](d.Snap, IndexLeased, "", ""))
	if err != nil {
		return err
	}
	for _, h := range holders {
		d.put(h, &Holder{Name: h.Name})
		held, err := collect(d.Tasks(TaskQuery{Index: IndexOwner, Key: h.Name}))
		if err != nil {
			return err
		}
		for _, t := range held {
			if !t.Leased {
				continue
			}
			next := t.Clone()
			next.back(d)
			if err := d.putTask(t, next); err != nil {
				return err
			}
		}
	}
	return nil
}

// voidAsks voids what waits for an answer, for a log that lost events.
func (d *draft) voidAsks() error {
	open, err := collect(d.OpenAsks())
	if err != nil {
		return err
	}
	for _, a := range open {
		d.put(a, a.void("the log lost events: ask again"))
	}
	return nil
}

// voidAsksOf voids what a member that leaves waits for, and what it is asked itself.
func (d *draft) voidAsksOf(name string) error {
	open, err := collect(d.OpenAsks())
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.From == name || a.Member == name {
			d.put(a, a.void(name+" has left"))
		}
	}
	return nil
}

// closeAsks voids what waits for an answer about a task that no answer can change
// any more.
func (d *draft) closeAsks(id TaskID, why string) error {
	open, err := collect(scan[*Ask](d.Snap, IndexTaskAsk, prefixKey(string(id)), ""))
	if err != nil {
		return err
	}
	for _, a := range open {
		d.put(a, a.void(why))
	}
	return nil
}

// answerByStarting ends the wait of a task for a person: whoever may start it then is one, or
// speaks for one. When it fails once more it waits again.
func (d *draft) answerByStarting(t *Task) error {
	if !t.has(FlagPerson) {
		return nil
	}
	t.unflag(FlagPerson)
	open, err := collect(scan[*Ask](d.Snap, IndexTaskAsk, prefixKey(string(t.ID)), ""))
	for _, a := range open {
		if a.Kind == AskPerson {
			d.put(a, a.void("somebody started the task"))
		}
	}
	return err
}

// void is the ask, worth nothing any more.
func (a *Ask) void(why string) *Ask {
	next := a.Clone()
	next.State, next.Answer = AskVoid, why
	return next
}

// ask records something that waits for an answer.
func (d *draft) ask(a *Ask) *Ask {
	a.N = d.number()
	a.ID = AskID("a" + decimal(a.N))
	a.State, a.AskedAt = AskOpen, d.now()
	d.put(nil, a)
	return a
}

// TaskRefused records that a gate hook said no to a task's completion. When the
// attempts are used up the task needs a person.
type TaskRefused struct {
	ID     TaskID `json:"id"`
	Reason string `json:"reason"`
}

// Decide counts the refusal.
func (v *TaskRefused) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		next := t.Clone()
		next.Refusals++
		if next.Refusals >= t.MostAttempts() && !next.has(FlagPerson) {
			next.flag(FlagPerson)
			d.ask(&Ask{Kind: AskPerson, Task: t.ID, From: "cadre", Text: fmt.Sprintf("a hook refused task %s, at attempt %d of %d, with: %s", t.ID, next.Refusals, t.MostAttempts(), clip(v.Reason, 2000))})
		}
		return d.putTask(t, next)
	})
}

// Answer gives the task.
func (v *TaskRefused) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }
