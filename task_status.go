package cadre

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// TaskClaim takes a task: it sets the owner and nothing else. With any number of
// claimers exactly one wins.
type TaskClaim struct {
	ID    TaskID        `json:"id" arg:"ID" help:"the task"`
	Force bool          `json:"force,omitempty" help:"although it waits for others (lead or operator; recorded)"`
	Lease time.Duration `json:"lease,omitempty" door:"-" help:"ends by itself unless renewed"`
}

// Decide claims.
func (v *TaskClaim) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		_, err := d.claim(t, v.Force, v.Lease)
		return err
	})
}

// Answer gives the task.
func (v *TaskClaim) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// claim makes the caller the owner, and gives the task as it then is.
func (d *draft) claim(t *Task, force bool, lease time.Duration) (*Task, error) {
	if d.cmd.Actor.Kind == ActorGuest {
		lease = max(lease, GuestLease)
	}
	switch {
	case t.Owner != "" && t.Owner != d.me:
		return nil, refuse(RuleOwned, "task %s belongs to %s", t.ID, t.Owner).hint("cadre task next --claim")
	case t.Status == Completed && t.Owner != d.me:
		return nil, refuse(RuleFinished, "task %s is already completed", t.ID).hint("cadre task next --claim")
	}
	if t.Status == Pending {
		if err := d.unblocked(t, force); err != nil {
			return nil, err
		}
	}
	if t.Owner == d.me && (lease <= 0 || !t.Open()) {
		return t, nil
	}
	if t.Owner == d.me && t.Leased {
		return t, d.hold(d.me, lease)
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	if err := d.mayTake(t); err != nil {
		return nil, err
	}
	next := t.Clone()
	next.Fence, next.Owner, next.Leased = d.Head().Fence+1, d.me, lease > 0
	if err := d.hold(d.me, lease); err != nil {
		return nil, err
	}
	if force && t.OpenBlockers > 0 {
		next.flag(FlagForced)
	}
	return next, d.putTask(t, next)
}

// unblocked refuses a task that waits for others, or for a person, unless the
// caller may force it.
func (d *draft) unblocked(t *Task, force bool) error {
	if force && t.OpenBlockers > 0 {
		return d.mayForce()
	}
	if t.OpenBlockers > 0 {
		open, err := d.openBlockers(t)
		if err != nil {
			return err
		}
		return refuse(RuleWaits, "task %s waits for %s", t.ID, listTasks(open)).hint("cadre task why %s", t.ID)
	}
	if t.has(FlagPerson) && !d.cmd.Actor.Person() && d.rights < leads {
		return refuse(RulePerson, "task %s has used up its attempts and needs a person", t.ID).hint("cadre task show %s", t.ID)
	}
	return nil
}

// listTasks names a few tasks in a message.
func listTasks(tasks []*Task) string {
	const most = 5
	parts := make([]string, 0, most)
	for _, t := range tasks[:min(most, len(tasks))] {
		parts = append(parts, fmt.Sprintf("%s (%s)", t.ID, clip(t.Subject, 40)))
	}
	if len(tasks) > most {
		parts = append(parts, fmt.Sprintf("%d more", len(tasks)-most))
	}
	return strings.Join(parts, ", ")
}

// TaskStart sets a task in progress. One that nobody owns is claimed in the same
// commit.
type TaskStart struct {
	ID    TaskID        `json:"id" arg:"ID" help:"the task"`
	Force bool          `json:"force,omitempty" help:"although it waits for others (lead or operator; recorded)"`
	Lease time.Duration `json:"lease,omitempty" door:"-" help:"ends by itself unless renewed"`
}

// Decide starts.
func (v *TaskStart) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		_, err := d.start(t, v.Force, v.Lease)
		return err
	})
}

// Answer gives the task.
func (v *TaskStart) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// start sets a task of the caller in progress, and gives it as it then is.
func (d *draft) start(t *Task, force bool, lease time.Duration) (*Task, error) {
	if t.Status == Completed && t.Owner == d.me {
		return nil, refuse(RuleMove, "task %s is completed; it can only be reopened, by its author or the lead", t.ID).
			hint("cadre task update %s --status pending", t.ID)
	}
	t, err := d.claim(t, force, lease)
	if err != nil {
		return nil, err
	}
	if t.Status == InProgress {
		return t, nil
	}
	if err := d.planApproved(t); err != nil {
		return nil, err
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	next := t.Clone()
	if err := d.answerByStarting(next); err != nil {
		return nil, err
	}
	next.Status = InProgress
	now := d.now()
	next.StartedAt = &now
	if force && t.OpenBlockers > 0 {
		next.flag(FlagForced)
	}
	return next, d.putTask(t, next)
}

// startFor sets a task in progress that whoever may assign it gives to another in
// the same update.
func (d *draft) startFor(t *Task, force bool) error {
	if err := d.unblocked(t, force); err != nil {
		return err
	}
	if err := d.planApproved(t); err != nil {
		return err
	}
	if err := d.needAuthor(t, "start"); err != nil {
		return err
	}
	next := t.Clone()
	if err := d.answerByStarting(next); err != nil {
		return err
	}
	now := d.now()
	next.Status, next.StartedAt = InProgress, &now
	if force && t.OpenBlockers > 0 {
		next.flag(FlagForced)
	}
	return d.putTask(t, next)
}

// planApproved refuses a task whose plan gate is shut.
func (d *draft) planApproved(t *Task) error {
	gated := t.Plan
	if gated == nil {
		m, err := d.Member(d.me)
		if err != nil {
			return err
		}
		if m == nil || !m.PlanMode {
			return nil
		}
		gated = &PlanGate{}
	}
	if gated.ApprovedBy != "" && (gated.From == "" || gated.From == cmp.Or(t.Owner, d.me)) {
		return nil
	}
	for a, err := range d.OpenAsks() {
		if err != nil {
			return err
		}
		if a.Kind == AskPlan && a.Task == t.ID {
			return refuse(RulePlan, "the plan of task %s still waits for an answer", t.ID).hint("cadre ask show %s", a.ID)
		}
	}
	return refuse(RulePlan, "task %s may start only once its plan is approved", t.ID).hint(`cadre ask for plan "what you are going to do" --task %s`, t.ID)
}

// TaskDone completes a task and frees those that wait for it.
type TaskDone struct {
	ID     TaskID   `json:"id" arg:"ID" help:"the task"`
	Result string   `json:"result,omitempty" help:"what came out of it"`
	Files  []string `json:"files,omitempty" help:"files it changed"`
	Commit string   `json:"commit,omitempty" help:"the commit that holds the change"`
	Force  bool     `json:"force,omitempty" help:"although it waits for others (lead or operator; recorded)"`
	Fence  uint64   `json:"fence,omitempty" door:"-" help:"the claim this is based on"`
	Tell   bool     `json:"tell,omitempty" door:"-" help:"tell the lead"`

	Take *Take `json:"take,omitempty" door:"-" help:"also take up what is next, in the same commit"`
}

// Take is how somebody takes up what is right to do next.
type Take struct {
	Lease time.Duration `json:"lease,omitempty"`
	Runs  bool          `json:"runs,omitempty"` // only a task that has a command to run
}

// Decide completes.
func (v *TaskDone) Decide(s Snap, c Command) ([]Event, error) {
	var result *Result
	check := func(*draft) (err error) {
		if v.Result != "" || v.Commit != "" || len(v.Files) > 0 {
			result, err = checkResult(Result{Summary: v.Result, Files: v.Files, Commit: v.Commit})
		}
		return err
	}
	return decideOn(s, c, v.ID, check, func(d *draft, t *Task) error {
		if err := t.fenced(v.Fence); err != nil {
			return err
		}
		if err := d.complete(t, result, v.Force); err != nil {
			return err
		}
		if t.Status == Completed && result != nil && !v.Tell && !reflect.DeepEqual(result, t.Result) {
			next := t.Clone()
			next.Result = result // said later, or better; what a runtime saw of it counts only before
			if err := d.putTask(t, next); err != nil {
				return err
			}
		}
		if v.Tell && t.Status != Completed {
			if err := d.notice(LeadName, t.ID, "%s completed task %s (%s)", d.me, t.ID, clip(t.Subject, 60)); err != nil {
				return err
			}
		}
		if v.Take == nil {
			return nil
		}
		return d.takeUp(v.Take.Runs, v.Take.Lease)
	})
}

// checkResult checks a result that came from outside.
func checkResult(r Result) (*Result, error) {
	if err := checkText("result", r.Summary, MaxDescription); err != nil {
		return nil, err
	}
	if err := checkText("commit", r.Commit, 4*MaxSubject); err != nil {
		return nil, err
	}
	files, err := checkWords("file", r.Files)
	r.Files = files
	return &r, err
}

// fenced refuses a writer whose claim was lost meanwhile.
func (t *Task) fenced(fence uint64) error {
	if fence != 0 && fence != t.Fence {
		return refuse(RuleFence, "this claim of task %s was lost: it is claim %d, the task is at %d", t.ID, fence, t.Fence).hint("cadre task show %s", t.ID)
	}
	return nil
}

// complete finishes a task; one that only could be started is started first.
func (d *draft) complete(t *Task, result *Result, force bool) error {
	if t.Status == Completed {
		if t.Owner == d.me || t.Owner == "" && d.rights >= leads {
			return nil
		}
		return refuse(RuleFinished, "task %s was already completed by %s", t.ID, orNobody(t.Owner)).hint("cadre task show %s", t.ID)
	}
	if err := d.unblocked(t, force); err != nil {
		return err
	}
	if t.Status == Pending {
		if err := d.planApproved(t); err != nil {
			return err
		}
	}
	if err := firstRefusal(d.needOwner(t, "complete"), d.mayTake(t)); err != nil {
		return err
	}
	if err := d.needMember(); err != nil {
		return err
	}
	next := t.Clone()
	now := d.now()
	if next.Owner == "" {
		next.Owner, next.Fence = d.me, d.Head().Fence+1
	}
	if next.StartedAt == nil {
		next.StartedAt = &now
	}
	next.Status, next.CompletedAt, next.Leased = Completed, &now, false
	if result != nil {
		next.Result = result
	}
	if force && t.OpenBlockers > 0 {
		next.flag(FlagForced)
	}
	next.Refusals = 0
	next.unflag(FlagPerson)
	if err := d.putTask(t, next); err != nil {
		return err
	}
	if err := d.closeAsks(t.ID, "the task was completed"); err != nil {
		return err
	}
	return d.tellFreed(next)
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

// tellFreed tells the owners of tasks that a completion made ready.
func (d *draft) tellFreed(done *Task) error {
	waiting, err := collect(d.Blocks(done.ID))
	if err != nil {
		return err
	}
	for _, w := range waiting {
		if w.OpenBlockers > 0 || w.Status != Pending || w.Owner == "" || w.Owner == d.me {
			continue
		}
		if err := d.notice(w.Owner, w.ID, "task %s is ready: task %s (%s) was completed", w.ID, done.ID, clip(done.Subject, 60)); err != nil {
			return err
		}
	}
	return nil
}

// Done is the answer to a completion: the task, what became free, and what is
// next for the caller.
type Done struct {
	TaskView
	Freed []TaskID  `json:"freed"`
	Next  *TaskView `json:"next,omitempty"`
}

// Answer gives the task, what it freed, and what comes next.
func (v *TaskDone) Answer(s Snap, c Command, r Receipt) (any, error) {
	return s.answerDone(v.ID, c, r, v.Take != nil && v.Take.Runs)
}

// answerDone chooses what comes next among what has a command to run, if only that can
// be done.
func (s Snap) answerDone(id TaskID, c Command, r Receipt, runs bool) (any, error) {
	view, err := s.viewTask(id)
	if err != nil {
		return nil, err
	}
	out := &Done{TaskView: *view, Freed: []TaskID{}}
	for _, e := range r.Events {
		before, ok := e.Before.(*Task)
		after, ok2 := e.After.(*Task)
		if ok && ok2 && before.OpenBlockers > 0 && after.OpenBlockers == 0 && after.Open() {
			out.Freed = append(out.Freed, after.ID)
		}
	}
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	next, err := d.nextOwn(runs)
	if err != nil || next == nil {
		return out, err
	}
	out.Next, err = s.viewTask(next.ID)
	return out, err
}

// TaskRelease gives a task back: pending, without owner.
type TaskRelease struct {
	ID    TaskID `json:"id" arg:"ID" help:"the task"`
	Fence uint64 `json:"fence,omitempty" door:"-" help:"the claim this is based on"`
}

// Decide releases.
func (v *TaskRelease) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		if err := t.fenced(v.Fence); err != nil {
			return err
		}
		return d.release(t)
	})
}

// Answer gives the task.
func (v *TaskRelease) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

func (d *draft) release(t *Task) error {
	if t.Status == Completed {
		return refuse(RuleMove, "task %s is completed and cannot be released; it can be reopened, by its author or the lead", t.ID).
			hint("cadre task update %s --status pending", t.ID)
	}
	if t.Status == Pending && t.Owner == "" {
		return nil
	}
	if err := d.needOwner(t, "release"); err != nil {
		return err
	}
	next := t.Clone()
	next.back(d)
	return d.putTask(t, next)
}

// back makes a task pending again without owner, under a new fencing number that
// a late write of its old owner fails on.
func (t *Task) back(d *draft) {
	t.Status, t.Owner, t.Leased, t.StartedAt, t.CompletedAt = Pending, "", false, nil, nil
	t.Fence = d.Head().Fence + 1
}

// reopen makes a completed task pending again: the author's, lead's, operator's.
func (d *draft) reopen(t *Task) error {
	if err := d.needAuthor(t, "reopen"); err != nil {
		return err
	}
	next := t.Clone()
	next.back(d)
	return d.putTask(t, next)
}

// TaskAccept lets a task that another program completed out of order count.
type TaskAccept struct {
	ID TaskID `json:"id" arg:"ID" help:"the task"`
}

// Decide accepts: from now on the task frees those that wait for it.
func (v *TaskAccept) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		if t.Status != Completed {
			return refuse(RuleMove, "task %s is %s: only a completed task can be accepted", t.ID, t.Status).hint("cadre task show %s", t.ID)
		}
		if err := d.needLead("accept a task"); err != nil {
			return err
		}
		if !t.has(FlagUnaccepted) && !t.has(FlagUngated) {
			return nil
		}
		next := t.Clone()
		next.unflag(FlagUnaccepted, FlagUngated)
		next.flag(FlagAccepted)
		if err := d.putTask(t, next); err != nil {
			return err
		}
		return d.tellFreed(next)
	})
}

// Answer gives the task and what it freed.
func (v *TaskAccept) Answer(s Snap, c Command, r Receipt) (any, error) {
	return s.answerDone(v.ID, c, r, false)
}
