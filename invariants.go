package cadre

import (
	"fmt"
	"slices"
)

// CheckInvariants holds a scope against what must always be true: edges are the
// same from both sides and lead to tasks that exist, there is no cycle, every
// count of open blockers is right, nothing was completed before what it waited
// for, nothing in progress belongs to nobody, and no id is past the next one; what
// a file says against that must be flagged. It reads everything, so it is for
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
	excused := t.has(FlagForced) || t.has(FlagUnaccepted) || t.has(FlagAccepted) || t.has(FlagUngated)
	if t.Status == Completed && open > 0 && !excused {
		reopened, err := reopenedUnder(s, tasks, t)
		if err != nil {
			return err
		}
		if !reopened {
			return fmt.Errorf("task %s was completed before what it waits for", t.ID)
		}
	}
	if t.Status == InProgress && t.Owner == "" && !t.has(FlagNobody) {
		return fmt.Errorf("task %s is in progress and belongs to nobody", t.ID)
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

// reopenedUnder says whether what the task waits for was finished when the task was
// completed, or when it was made to wait for it after that, or later, and was only
// then opened again: the log knows.
func reopenedUnder(s Snap, tasks map[TaskID]*Task, t *Task) (bool, error) {
	for _, id := range t.BlockedBy {
		if tasks[id].finished() {
			continue
		}
		both, err := completedAndWaiting(s, t, id)
		if err != nil {
			return false, err
		}
		then := false
		for e, err := range s.History(tasks[id].Ref()) {
			if err != nil {
				return false, err
			}
			if then = e.After.(*Task).finished(); then || e.Seq <= both {
				break
			}
		}
		if !then {
			return false, nil
		}
	}
	return true, nil
}

// completedAndWaiting is since when a task is completed and waits for another.
func completedAndWaiting(s Snap, t *Task, by TaskID) (since Seq, err error) {
	is := func(o Object) bool {
		t, ok := o.(*Task)
		return ok && t != nil && t.Status == Completed && slices.Contains(t.BlockedBy, by)
	}
	for e, err := range s.History(t.Ref()) {
		if err != nil {
			return 0, err
		}
		if is(e.After) && !is(e.Before) {
			return e.Seq, nil
		}
	}
	return 0, nil
}
