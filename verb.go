package cadre

import "slices"

// A verb is a struct whose fields are its parameters, with the tags that doors
// read: `json` is the name everywhere, `arg` marks a positional argument, `short`
// a one-letter flag, `help` explains, and `door:"-"` keeps a field from people.

// Change is a verb that changes a scope.
type Change interface {
	// Decide gives the events, or the rule that refuses.
	Decide(Snap, Command) ([]Event, error)
	// Answer makes what the caller is told, of the scope as the command left it.
	// The receipt's events may not be sealed yet: their images are all it may use.
	Answer(Snap, Command, Receipt) (any, error)
}

// Query is a verb that only looks.
type Query interface {
	Look(Snap, Command) (any, error)
}

// Keyed is a Change that a caller may repeat safely under a key of its own.
type Keyed interface{ CommandKey() string }

// Scoped is a verb whose own parameter may name the scope it is about.
type Scoped interface{ ScopeName() string }

// ReadOnly is a Change that, as it was called, only looks.
type ReadOnly interface{ ReadOnly() bool }

// look begins a query: it refuses those who may not read.
func look(s Snap, c Command) (*draft, error) { return begin(s, c) }

// lookAtMost begins a query that gives so many, 0 for all.
func lookAtMost(s Snap, c Command, most int) (*draft, error) {
	d, err := look(s, c)
	if err == nil && most < 0 {
		err = refuse(RuleValue, "%d cannot be shown", most)
	}
	return d, err
}

// task loads a task that a verb is about. One that was removed is not found. A
// lease that ran out, or an ask that waited too long, is noticed here, by whoever
// decides on the task.
func (d *draft) task(id TaskID) (*Task, error) {
	id, err := parseTaskID(id)
	if err != nil {
		return nil, err
	}
	t, err := d.Task(id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, refuse(RuleTaskMissing, "there is no task %s in %s", id, d.Scope()).hint("cadre task list --scope %s", d.Scope())
	}
	if t.Status == Deleted {
		return nil, refuse(RuleTaskMissing, "task %s in %s was removed", id, d.Scope()).hint("cadre task restore %s", id)
	}
	before := len(d.events)
	if err := d.expireAsks(scan[*Ask](d.Snap, IndexTaskAsk, prefixKey(string(id)), "")); err != nil {
		return nil, err
	}
	if err := d.expireClaim(t); err != nil {
		return nil, err
	}
	if len(d.events) == before {
		return t, nil
	}
	return d.Task(id)
}

// decideOn is a verb about one task: who may read, is the call itself sensible, is
// the task there, and then the change.
func decideOn(s Snap, c Command, id TaskID, check func(*draft) error, change func(*draft, *Task) error) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if check != nil {
		if err := check(d); err != nil {
			return nil, err
		}
	}
	t, err := d.task(id)
	if err != nil {
		return nil, err
	}
	if err := change(d, t); err != nil {
		return nil, err
	}
	return d.finish()
}

// firstRefusal gives the refusal that comes first in the order that every door
// promises: a lost race before a blocked task, that before a missing right. A
// fault of the machine comes before all.
func firstRefusal(errs ...error) error {
	order := []Code{CodeInternal, CodeUsage, CodeNotFound, CodeConflict, CodeBlocked, CodeForbidden, CodePerson, CodeTimeout}
	var first error
	for _, err := range errs {
		if err != nil && (first == nil || slices.Index(order, AsError(err).Code) < slices.Index(order, AsError(first).Code)) {
			first = err
		}
	}
	return first
}

// changedTask finds the task that a receipt is about: the first of its events.
func changedTask(r Receipt, fallback TaskID) TaskID {
	for _, e := range r.Events {
		if t, ok := e.After.(*Task); ok && e.Verb != "log.open" {
			return t.ID
		}
	}
	return fallback
}
