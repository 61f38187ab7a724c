package cadre

import (
	"slices"
)

// TaskBlock makes a task wait for others.
type TaskBlock struct {
	ID TaskID   `json:"id" arg:"ID" help:"the task that is to wait"`
	By []TaskID `json:"by" help:"the tasks that must be completed first"`
}

// Decide adds the edges.
func (v *TaskBlock) Decide(s Snap, c Command) ([]Event, error) {
	return (&TaskUpdate{ID: v.ID, AddBlocked: v.By, blocking: true}).Decide(s, c)
}

// Answer gives the task.
func (v *TaskBlock) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// TaskUnblock makes a task no longer wait for others.
type TaskUnblock struct {
	ID TaskID   `json:"id" arg:"ID" help:"the task that waits"`
	By []TaskID `json:"by" help:"the tasks it need not wait for any more"`
}

// Decide removes the edges.
func (v *TaskUnblock) Decide(s Snap, c Command) ([]Event, error) {
	check := func(*draft) error {
		if len(v.By) == 0 {
			return refuse(RuleValue, "which task need it not wait for any more?").hint("cadre task unblock %s --by OTHER", v.ID)
		}
		return nil
	}
	return decideOn(s, c, v.ID, check, func(d *draft, t *Task) error {
		return d.dropEdge(t.ID, v.By...)
	})
}

// dropEdge makes a task no longer wait for others.
func (d *draft) dropEdge(id TaskID, by ...TaskID) error {
	t, err := d.task(id)
	if err != nil {
		return err
	}
	next := t.Clone()
	if err := next.unblock(by...); err != nil {
		return err
	}
	if err := d.needAuthor(t, "unblock"); err != nil {
		return err
	}
	return d.putTask(t, next)
}

// unblock takes edges away that are there.
func (t *Task) unblock(by ...TaskID) error {
	for _, id := range by {
		id, err := parseTaskID(id)
		if err != nil {
			return err
		}
		i := slices.Index(t.BlockedBy, id)
		if i < 0 {
			return refuse(RuleTaskMissing, "task %s does not wait for %s", t.ID, id).hint("cadre task why %s", t.ID)
		}
		t.BlockedBy = slices.Delete(t.BlockedBy, i, i+1)
	}
	return nil
}

// Answer gives the task.
func (v *TaskUnblock) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// TaskRemove takes a task out of the list. It stays on record and can be restored.
type TaskRemove struct {
	ID      TaskID `json:"id" arg:"ID" help:"the task"`
	Unblock bool   `json:"unblock,omitempty" help:"also when others wait for it: they need not any more"`
}

// Decide removes.
func (v *TaskRemove) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error { return d.remove(t, v.Unblock) })
}

// Answer gives the task as it was when it was removed.
func (v *TaskRemove) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// remove deletes a task. Deleting never counts as completing: those that wait
// for it are freed only on request, and told so.
func (d *draft) remove(t *Task, unblock bool) error {
	waiting, err := collect(d.Blocks(t.ID))
	if err != nil {
		return err
	}
	if len(waiting) > 0 && !unblock {
		return refuse(RuleBlocks, "task %s cannot be removed while others wait for it: %s", t.ID, listTasks(waiting)).hint("cadre task rm %s --unblock", t.ID)
	}
	if err := d.needAuthor(t, "remove"); err != nil {
		return err
	}
	next := t.Clone()
	next.Status, next.Leased = Deleted, false
	next.Unblocked = nil
	for _, w := range waiting {
		free := w.Clone()
		free.BlockedBy = slices.DeleteFunc(free.BlockedBy, func(id TaskID) bool { return id == t.ID })
		if !t.finished() {
			free.flag(FlagUnblocked)
		}
		if err := d.putTask(w, free); err != nil {
			return err
		}
		next.Unblocked = append(next.Unblocked, w.ID)
		if w.Owner != "" && w.Owner != d.me && !t.finished() {
			if err := d.notice(w.Owner, w.ID, "task %s no longer waits for task %s (%s): it was removed, not completed", w.ID, t.ID, clip(t.Subject, 60)); err != nil {
				return err
			}
		}
	}
	if err := d.closeAsks(t.ID, "the task was removed"); err != nil {
		return err
	}
	return d.putTask(t, next)
}

// TaskRestore brings a removed task back, with the edges that still make sense.
type TaskRestore struct {
	ID TaskID `json:"id" arg:"ID" help:"the task"`
}

// Decide restores.
func (v *TaskRestore) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	id, err := parseTaskID(v.ID)
	if err != nil {
		return nil, err
	}
	t, err := d.Task(id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, refuse(RuleTaskMissing, "there never was a task %s in %s", id, d.Scope()).hint("cadre log")
	}
	if t.Status != Deleted {
		return nil, nil
	}
	if err := d.room(1); err != nil {
		return nil, err
	}
	if err := d.needAuthor(t, "restore"); err != nil {
		return nil, err
	}
	if err := d.restore(t); err != nil {
		return nil, err
	}
	return d.finish()
}

// restore makes a removed task what it was, but for work that was under way,
// which is pending again. Edges to tasks that are gone, or that would now close a
// cycle, are left out.
func (d *draft) restore(t *Task) error {
	was, err := d.beforeRemoval(t)
	if err != nil {
		return err
	}
	next := t.Clone()
	next.Status, next.Leased = Pending, false
	next.Fence = d.Head().Fence + 1
	next.BlockedBy, next.Unblocked = nil, nil
	for _, by := range t.BlockedBy {
		if err := d.addEdge(next, by); err != nil && AsError(err).Code == CodeInternal {
			return err
		}
	}
	open, err := d.countOpen(next.BlockedBy)
	if err != nil {
		return err
	}
	if was == Completed && open == 0 {
		next.Status = Completed
	} else if next.StartedAt, next.CompletedAt = nil, nil; !d.belongs(next.Owner) {
		next.Owner = ""
	}
	if err := d.putTask(t, next); err != nil {
		return err
	}
	for _, id := range t.Unblocked {
		w, err := d.Task(id)
		if err != nil {
			return err
		}
		if w == nil || !w.Open() {
			continue
		}
		waits := w.Clone()
		if err := d.addEdge(waits, t.ID); err != nil {
			if AsError(err).Code == CodeInternal {
				return err
			}
			continue
		}
		waits.unflag(FlagUnblocked)
		if err := d.putTask(w, waits); err != nil {
			return err
		}
	}
	return nil
}

// belongs says whether a name may hold a task now: a member, or one to come.
func (d *draft) belongs(name string) bool {
	m, err := d.Member(name)
	return err == nil && name != "" && (m == nil || m.State != StateDeparted)
}

// beforeRemoval is the status that a removed task had.
func (d *draft) beforeRemoval(t *Task) (Status, error) {
	for e, err := range d.History(t.Ref()) {
		if err != nil {
			return "", err
		}
		if was, ok := e.Before.(*Task); ok && was.Status != Deleted {
			return was.Status, nil
		}
	}
	return Pending, nil
}

// Answer gives the task.
func (v *TaskRestore) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }

// TaskComment adds a note to a task.
type TaskComment struct {
	ID   TaskID `json:"id" arg:"ID" help:"the task"`
	Text string `json:"text" arg:"TEXT" help:"the note"`
}

// Decide adds the comment; anyone in the team may.
func (v *TaskComment) Decide(s Snap, c Command) ([]Event, error) {
	check := func(*draft) error {
		if v.Text == "" {
			return refuse(RuleValue, "a comment needs a text").hint(`cadre task comment %s "…"`, v.ID)
		}
		return checkText("comment", v.Text, MaxComment)
	}
	return decideOn(s, c, v.ID, check, func(d *draft, t *Task) error { return d.comment(t, v.Text) })
}

// comment adds a note of the caller to a task.
func (d *draft) comment(t *Task, text string) error {
	if err := d.needMember(); err != nil {
		return err
	}
	d.put(nil, &Comment{Task: t.ID, N: d.number(), Author: d.me, Content: text, At: d.now()})
	return nil
}

// Answer gives the task with its comments.
func (v *TaskComment) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }
