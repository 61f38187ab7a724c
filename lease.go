package cadre

import "time"

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
	return decideOn(s, c, v.ID, func(d *draft, t *Task) error {
		if v.Lease <= 0 {
			return refuse(RuleValue, "a lease needs a length")
		}
		if err := t.fenced(v.Fence); err != nil {
			return err
		}
		if t.Owner != d.me || !t.Open() {
			return refuse(RuleFence, "task %s is not held by %s any more", t.ID, d.me).hint("cadre task show %s", t.ID)
		}
		next := t.Clone()
		next.Lease = &Lease{Boot: d.cmd.Now.Boot, Until: d.cmd.Now.Up + v.Lease}
		return d.putTask(t, next)
	})
}

// Answer gives the task.
func (v *TaskRenew) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID, c) }

// LeasesExpire gives back every task whose lease ran out. Whoever runs may call
// it at any time.
type LeasesExpire struct{}

// Decide requeues.
func (v *LeasesExpire) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := d.expireLeases(); err != nil {
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

func (d *draft) expireLeases() error {
	leased, err := collect(d.Tasks(TaskQuery{Index: IndexLeased}))
	if err != nil {
		return err
	}
	for _, t := range leased {
		if t.Lease.expired(d.cmd.Now) {
			if _, err := d.requeue(t, "its lease ran out"); err != nil {
				return err
			}
		}
	}
	return nil
}

// requeue takes a task from an owner that was lost: pending, one more attempt, a
// new fencing number that a late write fails on, and the lead is told once.
func (d *draft) requeue(t *Task, why string) (*Task, error) {
	lost := t.Owner
	next := t.Clone()
	next.Status, next.Owner, next.Lease, next.StartedAt = Pending, "", nil, nil
	next.Attempts++
	next.Fence = d.Head().Fence + 1
	if next.Attempts >= DefaultAttempts {
		next.flag(FlagPerson)
	}
	if err := d.putTask(t, next); err != nil {
		return nil, err
	}
	if next.has(FlagPerson) {
		d.ask(&Ask{Kind: AskPerson, Task: t.ID, From: "cadre", Text: "task " + string(t.ID) + " was given out " + taskIDText(uint64(next.Attempts)) + " times and never finished"})
	}
	if err := d.setMemberState(lost, StateUnreachable, why); err != nil {
		return nil, err
	}
	return next, d.notice(LeadName, t.ID, "task %s is pending again: %s was lost (%s)", t.ID, lost, why)
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
	leased, err := collect(d.Tasks(TaskQuery{Index: IndexLeased}))
	if err != nil {
		return err
	}
	for _, t := range leased {
		next := t.Clone()
		next.Status, next.Owner, next.Lease, next.StartedAt = Pending, "", nil, nil
		next.Fence = d.Head().Fence + 1
		if err := d.putTask(t, next); err != nil {
			return err
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
		next := a.Clone()
		next.State, next.Answer = AskVoid, "the log lost events: ask again"
		d.put(a, next)
	}
	return nil
}

// ask records something that waits for an answer.
func (d *draft) ask(a *Ask) *Ask {
	a.N = d.number()
	a.ID = AskID("a" + taskIDText(a.N))
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
	return decideOn(s, c, v.ID, func(d *draft, t *Task) error {
		next := t.Clone()
		next.Refusals++
		if next.Refusals >= DefaultAttempts && !next.has(FlagPerson) {
			next.flag(FlagPerson)
			d.ask(&Ask{Kind: AskPerson, Task: t.ID, From: "cadre", Text: "a hook refused task " + string(t.ID) + " " + taskIDText(uint64(next.Refusals)) + " times, the last time with: " + clip(v.Reason, 2000)})
		}
		return d.putTask(t, next)
	})
}

// Answer gives the task.
func (v *TaskRefused) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID, c) }
