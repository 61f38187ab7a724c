package cadre

import (
	"cmp"
	"fmt"
	"strings"
)

// These are the supervisor's verbs. No door offers them.

// MemberStarted says that a member that was starting runs now.
type MemberStarted struct {
	Name    string
	Process Process
	Host    string
}

// Decide records the process. One that was killed meanwhile stays so.
func (v *MemberStarted) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	m, err := d.recipient(v.Name)
	if err != nil {
		return nil, err
	}
	if m.State != StateStarting {
		return nil, refuse(RuleMove, "%s is %s and was not to be started", m.Name, m.State)
	}
	next := m.Clone()
	next.Process, next.Host = &v.Process, v.Host
	next.State, next.Since, next.Evidence = StateIdle, d.now(), fmt.Sprintf("process %d is ready", v.Process.PID)
	d.put(m, next)
	return d.finish()
}

// Answer gives the member.
func (v *MemberStarted) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.Member(v.Name) }

// MemberKnown says what is known of the program that runs a member: the session in
// which it can go on, the model and the mode that it really has, and that it was told
// its prompt. What is not said stays as it was.
type MemberKnown struct {
	Name, Session, Model, Mode string
	Told                       bool
}

// Decide records it.
func (v *MemberKnown) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	m, err := d.recipient(v.Name)
	if err != nil {
		return nil, err
	}
	next := m.Clone()
	next.Session, next.Told = cmp.Or(v.Session, m.Session), v.Told || m.Told
	next.Model, next.Mode = cmp.Or(v.Model, m.Model), cmp.Or(v.Mode, m.Mode)
	if *next == *m {
		return nil, nil
	}
	d.put(m, next)
	return d.finish()
}

// Answer gives the member.
func (v *MemberKnown) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.Member(v.Name) }

// MemberGone says that the process of a member is gone. For one that was to live it
// is a death: everything it had goes back, and the lead is told, in one commit. Said
// twice it is still one. One that could not be started has left, as if never spawned.
type MemberGone struct {
	Name    string
	Process *Process // which; nil for one that could not be started
	Why     string
}

// Decide gives back what the member had.
func (v *MemberGone) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	m, err := d.Member(v.Name)
	if err != nil || m == nil || !m.Process.same(v.Process) {
		return nil, err
	}
	next := m.Clone()
	next.Process = nil
	if m.State == StateDeparted || m.State == StateDead {
		if m.Process == nil {
			return nil, nil
		}
		d.put(m, next)
		return d.finish()
	}
	said := "died: " + clip(v.Why, MaxSubject)
	next.State = StateDead
	if v.Process == nil {
		next.State, said = StateDeparted, "could not be started: "+clip(v.Why, MaxSubject)
	}
	next.Since, next.Evidence = d.now(), said
	d.put(m, next)
	given, err := d.takeBack(m.Name)
	if err != nil {
		return nil, err
	}
	if err := d.voidShutdown(m.Name, "it "+said); err != nil {
		return nil, err
	}
	text := m.Name + " " + said
	if len(given) > 0 {
		text += "; pending again: task " + strings.Join(given, ", ")
	}
	if err := d.notice(LeadName, "", "%s", text); err != nil {
		return nil, err
	}
	return d.finish()
}

func (p *Process) same(o *Process) bool {
	return p == nil && o == nil || p != nil && o != nil && *p == *o
}

// takeBack gives back all the open tasks of a member; what it worked on counts as an
// attempt.
func (d *draft) takeBack(member string) (given []string, err error) {
	held, err := collect(d.Tasks(TaskQuery{Index: IndexOwner, Key: member}))
	if err != nil {
		return nil, err
	}
	for _, t := range held {
		if !t.Open() {
			continue
		}
		if t.Status == InProgress {
			err = d.requeue(t, nil)
		} else {
			next := t.Clone()
			next.back(d)
			err = d.putTask(t, next)
		}
		if err != nil {
			return nil, err
		}
		given = append(given, string(t.ID))
	}
	return given, nil
}

// Answer gives the member.
func (v *MemberGone) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.Member(v.Name) }

// MembersRecover is the first thing that a supervisor does: members that ran under
// one that is gone are to be started again, and what they worked on goes back. That
// was no attempt of theirs. It is done in the name of whoever starts the supervisor,
// who must lead the team.
type MembersRecover struct{}

// Decide sets them starting.
func (v *MembersRecover) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if _, _, err := d.teamAndLead(); err != nil {
		return nil, err
	}
	if err := d.needLead("run its members"); err != nil {
		return nil, err
	}
	members, err := collect(d.Members())
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if !m.Backend.Supervised() || m.Process == nil {
			continue
		}
		next := m.Clone()
		next.Process = nil
		if m.State != StateDead && m.State != StateDeparted {
			next.State, next.Since, next.Evidence = StateStarting, d.now(), "waits for a supervisor"
			if err := d.putBackRunning(m.Name); err != nil {
				return nil, err
			}
		}
		d.put(m, next)
	}
	return d.finish()
}

// putBackRunning makes what a member works on pending, and leaves it the member's.
func (d *draft) putBackRunning(member string) error {
	held, err := collect(d.Tasks(TaskQuery{Index: IndexOwner, Key: member}))
	if err != nil {
		return err
	}
	for _, t := range held {
		if t.Status != InProgress {
			continue
		}
		next := t.Clone()
		next.back(d)
		next.Owner = member
		if err := d.putTask(t, next); err != nil {
			return err
		}
	}
	return nil
}

// Answer gives the members that are to be started again.
func (v *MembersRecover) Answer(_ Snap, _ Command, r Receipt) (any, error) {
	out := []*Member{}
	for _, e := range r.Events {
		if m, ok := e.After.(*Member); ok && m.State == StateStarting {
			out = append(out, m)
		}
	}
	return out, nil
}

// MemberPosed tells the lead, once until it is read, that a member tried what only
// somebody else may do.
type MemberPosed struct{ Name, Did string }

// Decide tells it.
func (v *MemberPosed) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	text := v.Name + " " + v.Did + ", and was refused"
	for m, err := range d.Unread(LeadName) {
		if err != nil || m.Text == text {
			return nil, err
		}
	}
	if err := d.notice(LeadName, "", "%s", text); err != nil {
		return nil, err
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *MemberPosed) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }

// MsgDeliver says that a member was handed messages of its own.
type MsgDeliver struct{ IDs []MessageID }

// Decide marks them as delivered.
func (v *MsgDeliver) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	for _, id := range v.IDs {
		m, err := d.Message(id)
		if err != nil {
			return nil, err
		}
		if m == nil || m.To != d.me || m.DeliveredAt != nil {
			continue
		}
		next, now := m.Clone(), d.now()
		next.DeliveredAt = &now
		d.put(m, next)
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *MsgDeliver) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }

// TaskFail says that an attempt at a task failed: it is pending again, with what came
// of it, until the attempts are used up. With Final they are: trying again would be no
// use.
type TaskFail struct {
	ID     TaskID
	Fence  uint64
	Result string
	Final  bool
}

// Decide gives the task back and tells the lead.
func (v *TaskFail) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		if err := t.fenced(v.Fence); err != nil {
			return err
		}
		if err := d.holds(t); err != nil {
			return err
		}
		attempt, why := t.Attempts+1, fmt.Sprintf("task %s was given out %d times and never finished", t.ID, t.Attempts+1)
		if v.Final {
			attempt, why = max(attempt, t.MostAttempts()), fmt.Sprintf("task %s cannot be done as it is: %s", t.ID, clip(v.Result, 2000))
		}
		if err := d.requeueAs(t, &Result{Summary: v.Result}, attempt, why); err != nil {
			return err
		}
		return d.notice(LeadName, t.ID, "task %s (%s) failed, attempt %d of %d by %s: %s", t.ID, clip(t.Subject, 60), attempt, t.MostAttempts(), d.me, v.Result)
	})
}

// Answer gives the task.
func (v *TaskFail) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// holds refuses somebody who does not have an open task any more.
func (d *draft) holds(t *Task) error {
	if t.Owner != d.me || !t.Open() {
		return refuse(RuleFence, "task %s is not held by %s any more", t.ID, d.me).hint("cadre task show %s", t.ID)
	}
	return nil
}

// TaskDefer puts a task off: it is pending again and stays its member's, and that was
// no attempt.
type TaskDefer struct {
	ID    TaskID
	Fence uint64
}

// Decide puts it off.
func (v *TaskDefer) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		if err := t.fenced(v.Fence); err != nil {
			return err
		}
		if err := d.holds(t); err != nil {
			return err
		}
		next := t.Clone()
		next.back(d)
		next.Owner = d.me
		return d.putTask(t, next)
	})
}

// Answer gives the task.
func (v *TaskDefer) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// Running says whose process one is; only in the Host scope. It is how a command
// that runs inside a member is known to. A supervisor has one too, without a member.
type Running struct {
	Process Process `json:"process"`
	Scope   Scope   `json:"scope"`
	Member  string  `json:"member"`
	Joined  uint64  `json:"joined"` // which membership: a name that comes back is another
}

// Supervises says that the process runs members and is none.
func (r *Running) Supervises() bool { return r.Member == "" }

// RunningRef names the record of a process.
func RunningRef(p Process) Ref { return Ref{KindRunning, fmt.Sprintf("%d-%s", p.PID, p.Start)} }

func (r *Running) Ref() Ref                  { return RunningRef(r.Process) }
func (r *Running) order() string             { return string(r.Scope) + "/" + r.Ref().ID }
func (r *Running) index(func(Index, string)) {}

// Processes gives the processes that run members of a scope; only in the Host scope.
func (s Snap) Processes(of Scope) ([]*Running, error) {
	return collect(scan[*Running](s, Index(KindRunning), string(of)+"/", ""))
}

// AllProcesses gives the processes that run members of any scope; only in the Host scope.
func (s Snap) AllProcesses() ([]*Running, error) {
	return collect(scan[*Running](s, Index(KindRunning), "", ""))
}

// RunningSet records a process, or with Ended takes the record away; only in the Host
// scope.
type RunningSet struct {
	Running Running
	Ended   bool
}

// Decide records it.
func (v *RunningSet) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	before, err := d.Get(v.Running.Ref())
	if err != nil || (before == nil) == v.Ended {
		return nil, err
	}
	if v.Ended {
		d.put(before, nil)
	} else {
		r := v.Running
		d.put(nil, &r)
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *RunningSet) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }
