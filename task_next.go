package cadre

import "time"

// TaskNext shows what is right for this caller to do now, and with Claim takes
// and starts it in one commit: its own unfinished task, then one assigned to it,
// then the open ones by priority and lowest id.
type TaskNext struct {
	Claim bool          `json:"claim,omitempty" help:"take it and start it"`
	Lease time.Duration `json:"lease,omitempty" door:"-" help:"ends by itself unless renewed"`
	Runs  bool          `json:"runs,omitempty" door:"-" help:"only a task that has a command to run"`
}

// Decide chooses, and claims and starts where asked to.
func (v *TaskNext) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if v.Claim {
		if err := d.expire(); err != nil {
			return nil, err
		}
	}
	t, err := d.nextOwn(v.Runs)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, d.nothingReady()
	}
	if !v.Claim {
		return nil, nil
	}
	if err := d.take(t, v.Lease); err != nil {
		return nil, err
	}
	return d.finish()
}

// takeUp takes what is right to do next, where there is something.
func (d *draft) takeUp(runs bool, lease time.Duration) error {
	if err := d.expire(); err != nil {
		return err
	}
	t, err := d.nextOwn(runs)
	if err != nil || t == nil {
		return err
	}
	return d.take(t, lease)
}

// expire ends the leases and the asks whose time is over.
func (d *draft) expire() error {
	if err := d.expireLeases(false); err != nil {
		return err
	}
	return d.expireAsks(d.late(d.now()))
}

// ReadOnly says that without Claim nothing is written.
func (v *TaskNext) ReadOnly() bool { return !v.Claim }

// Answer gives the task.
func (v *TaskNext) Answer(s Snap, c Command, r Receipt) (any, error) {
	if id := nextTaken(r); id != "" {
		return s.viewTask(id)
	}
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	t, err := d.nextOwn(v.Runs)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, d.nothingReady()
	}
	return s.viewTask(t.ID)
}

// nextTaken is the task that a receipt of next --claim took: the one that got an
// owner or was started, not one whose lease had merely run out.
func nextTaken(r Receipt) TaskID {
	for _, e := range r.Events {
		if t, ok := e.After.(*Task); ok && t.Owner != "" && t.Open() {
			return t.ID
		}
	}
	return ""
}

// nextOwn chooses the caller's next task, but for a member that is handed its work:
// that takes nothing that is not its own.
func (d *draft) nextOwn(runs bool) (*Task, error) {
	t, err := d.next(runs)
	if err != nil || t == nil || t.Owner != "" {
		return t, err
	}
	handed, err := d.isHanded()
	if handed {
		t = nil
	}
	return t, err
}

// isHanded says whether the caller is a member that the supervisor hands its work.
func (d *draft) isHanded() (bool, error) {
	team, err := d.Team()
	if err != nil || team == nil || !team.Settings.Dispatched() || d.cmd.Actor.Kind == ActorCadre {
		return false, err
	}
	m, err := d.Member(d.me)
	return m != nil && m.Backend.Supervised(), err
}

// mayTake refuses open work to a member that is handed its work.
func (d *draft) mayTake(t *Task) error {
	if t.Owner != "" {
		return nil
	}
	handed, err := d.isHanded()
	if handed {
		err = refuse(RuleLead, "%s takes no work that it was not handed: the supervisor of %s gives it out", d.me, d.Scope()).hint("cadre task next")
	}
	return err
}

// next chooses the caller's next task, nil where nothing is ready; if it is to be
// run, only one that has a command.
func (d *draft) next(runs bool) (*Task, error) {
	if t, err := d.mine(runs); err != nil || t != nil {
		return t, err
	}
	for t, err := range d.Tasks(TaskQuery{Index: IndexReady}) {
		if err != nil || !runs || t.Run != "" {
			return t, err
		}
	}
	return nil, nil
}

// mine chooses among the caller's own tasks: what it works on, else the most urgent
// that is ready and waits for no answer.
func (d *draft) mine(runs bool) (best *Task, err error) {
	for t, err := range d.Tasks(TaskQuery{Index: IndexOwner, Key: d.me}) {
		if err != nil {
			return nil, err
		}
		if t.Kind == KindInternal || runs && t.Run == "" {
			continue
		}
		if t.Status == InProgress {
			return t, nil
		}
		if !t.Ready() || best != nil && t.Priority <= best.Priority {
			continue
		}
		asked, err := d.Count(IndexTaskAsk, prefixKey(string(t.ID)))
		if err != nil {
			return nil, err
		}
		if asked == 0 { // else other work need not wait for that
			best = t
		}
	}
	return best, nil
}

// nothingReady says why there is nothing to do.
func (d *draft) nothingReady() error {
	pending, err := countTasks(d.Snap, Pending)
	if err != nil {
		return err
	}
	running, err := countTasks(d.Snap, InProgress)
	if err != nil {
		return err
	}
	if pending == 0 {
		if running > 0 {
			return refuse(RuleNothing, "nothing is ready in %s: no task is pending, %d in progress", d.Scope(), running).hint("cadre task list")
		}
		return refuse(RuleNothing, "nothing is ready in %s: it has no open task", d.Scope()).hint(`cadre task add "what is to be done"`)
	}
	for t, err := range d.Tasks(TaskQuery{Index: IndexStatus, Key: string(Pending)}) {
		if err != nil {
			return err
		}
		if t.OpenBlockers == 0 {
			continue
		}
		open, err := d.openBlockers(t)
		if err != nil {
			return err
		}
		return refuse(RuleNothing, "nothing is ready in %s: %d pending; task %s waits for %s", d.Scope(), pending, t.ID, listTasks(open)).
			hint("cadre task why %s", t.ID)
	}
	if handed, err := d.isHanded(); err != nil || handed {
		if err != nil {
			return err
		}
		return refuse(RuleNothing, "nothing is %s's in %s: the supervisor hands out what is pending (%d)", d.me, d.Scope(), pending).hint("cadre team show")
	}
	return refuse(RuleNothing, "nothing is ready for %s in %s: what is pending (%d) belongs to others or waits for a person", d.me, d.Scope(), pending).hint("cadre task list --open")
}
