package cadre

import (
	"fmt"
	"slices"
)

// CheckInvariants holds a scope against what must always be true: edges are the
// same from both sides and lead to tasks that exist, there is no cycle, every
// count of open blockers is right, nothing was completed before what it waited
// for, nothing in progress belongs to nobody, every claim on a lease has one, and no id
// is past the next one; what a file says against that must be flagged. It reads everything, so it is for
// tests and audits.
func CheckInvariants(s Snap) error {
	tasks := map[TaskID]*Task{}
	for t, err := range s.Tasks(TaskQuery{}) {
		if err != nil {
			return err
		}
		if tasks[t.ID] != nil {
			return fmt.Errorf("task %s is listed twice", t.ID)
		}
		if n, ok := t.ID.number(); ok && n >= s.Head().Next {
			return fmt.Errorf("task %s is past the next id, %d", t.ID, s.Head().Next)
		}
		tasks[t.ID] = t
	}
	live := map[TaskID]*Task{}
	for _, t := range tasks {
		if t.Status == Deleted {
			continue
		}
		live[t.ID] = t
		if err := checkTask(s, tasks, t); err != nil {
			return err
		}
	}
	if ordered := topological(live); len(ordered) != len(live) {
		return fmt.Errorf("the dependencies have a cycle among %d tasks", len(live)-len(ordered))
	}
	return nil
}

// checkTask holds one task against those around it.
func checkTask(s Snap, tasks map[TaskID]*Task, t *Task) error {
	open := 0
	for _, id := range t.BlockedBy {
		b := tasks[id]
		if b == nil || b.Status == Deleted {
			return fmt.Errorf("task %s waits for %s, which is not there", t.ID, id)
		}
		if !b.finished() {
			open++
		}
		waiting, err := collect(s.Blocks(id))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(waiting, func(w *Task) bool { return w.ID == t.ID }) {
			return fmt.Errorf("task %s waits for %s, but %s does not block it", t.ID, id, id)
		}
	}
	if open != t.OpenBlockers {
		return fmt.Errorf("task %s has %d open blockers and says %d", t.ID, open, t.OpenBlockers)
	}
	if t.Status == Completed && open > 0 {
		if err := checkOrder(s, tasks, t); err != nil {
			return err
		}
	}
	if t.Status == InProgress && t.Owner == "" && !t.has(FlagNobody) {
		return fmt.Errorf("task %s is in progress and belongs to nobody", t.ID)
	}
	if t.Leased {
		h, err := s.holder(t.Owner)
		if err != nil {
			return err
		}
		if h == nil || h.Lease == nil {
			return fmt.Errorf("task %s is held by %q on a lease that is not there", t.ID, t.Owner)
		}
	}
	waiting, err := collect(s.Blocks(t.ID))
	if err != nil {
		return err
	}
	for _, w := range waiting {
		if !slices.Contains(w.BlockedBy, t.ID) {
			return fmt.Errorf("task %s blocks %s, which does not wait for it", t.ID, w.ID)
		}
	}
	return nil
}

// checkOrder holds a completed task against each blocker that is open: either it was
// let past that one, or the blocker was finished when both began to hold, or later,
// and was only then opened again. The log knows.
func checkOrder(s Snap, tasks map[TaskID]*Task, t *Task) error {
	for _, id := range t.BlockedBy {
		if tasks[id].finished() {
			continue
		}
		since, letPast, err := completedAndWaiting(s, t, id)
		if err != nil {
			return err
		}
		for e, err := range s.History(tasks[id].Ref()) {
			if err != nil {
				return err
			}
			if letPast = letPast || e.After.(*Task).finished(); letPast || e.Seq <= since {
				break
			}
		}
		if !letPast {
			return fmt.Errorf("task %s was completed before task %s, which it waits for", t.ID, id)
		}
	}
	return nil
}

// completedAndWaiting is since when a task is completed and waits for another, and
// whether it was let past that one: what was forced or flagged in that moment is, what
// was forced for another reason, before or after, is not.
func completedAndWaiting(s Snap, t *Task, by TaskID) (since Seq, letPast bool, err error) {
	both := func(o Object) bool {
		t, ok := o.(*Task)
		return ok && t != nil && t.Status == Completed && slices.Contains(t.BlockedBy, by)
	}
	for e, err := range s.History(t.Ref()) {
		if err != nil {
			return 0, false, err
		}
		if !both(e.After) || both(e.Before) {
			continue
		}
		then := e.After.(*Task)
		before, _ := e.Before.(*Task)
		atOnce := before == nil || before.Status != Completed              // it waited already
		byFile := e.Actor.Proof == ProofFile || e.Actor.Proof == ProofTalk // which is fact
		counts := then.has(FlagForced) || then.has(FlagAccepted)           // whatever it waits for
		return e.Seq, then.has(FlagUnaccepted) || counts && (atOnce || byFile), nil
	}
	return 0, false, nil
}
