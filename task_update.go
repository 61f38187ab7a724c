package cadre

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// TaskUpdate changes fields of a task. A field that is not given stays.
type TaskUpdate struct {
	ID          TaskID                     `json:"id" arg:"ID" help:"the task"`
	Subject     *string                    `json:"subject,omitempty" help:"a new subject"`
	Description *string                    `json:"description,omitempty" short:"d" help:"a new description"`
	ActiveForm  *string                    `json:"activeForm,omitempty" help:"what to show while it runs"`
	Status      *string                    `json:"status,omitempty" values:"pending,in_progress,completed,deleted" help:"pending, in_progress, completed or deleted"`
	Owner       *string                    `json:"owner,omitempty" help:"who is to do it; empty for nobody"`
	Priority    *Level                     `json:"priority,omitempty" values:"low,normal,high,urgent" help:"low, normal, high, urgent or a number"`
	Labels      *[]string                  `json:"labels,omitempty" help:"new labels, in place of the old"`
	Paths       *[]string                  `json:"paths,omitempty" help:"files it will touch, in place of the old"`
	Run         *string                    `json:"run,omitempty" help:"another command that does it, for shell members"`
	MaxAttempts *int                       `json:"maxAttempts,omitempty" help:"how often it is tried before it needs a person"`
	Parent      *TaskID                    `json:"parent,omitempty" help:"the task this is a part of; empty for none"`
	AddBlocks   []TaskID                   `json:"addBlocks,omitempty" help:"tasks that are to wait for this one"`
	AddBlocked  []TaskID                   `json:"addBlockedBy,omitempty" help:"tasks that this one is to wait for"`
	DropBlocks  []TaskID                   `json:"removeBlocks,omitempty" help:"tasks that need not wait for this one any more"`
	DropBlocked []TaskID                   `json:"removeBlockedBy,omitempty" help:"tasks that this one need not wait for any more"`
	Reference   []TaskID                   `json:"reference,omitempty" help:"tasks that this one has to do with"`
	Unreference []TaskID                   `json:"unreference,omitempty" help:"tasks that it has nothing to do with any more"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" help:"key=value, repeated; null removes a key"`
	Result      *string                    `json:"result,omitempty" help:"what came out of it"`
	Comment     string                     `json:"comment,omitempty" help:"a note to add"`
	IfVersion   *uint64                    `json:"ifVersion,omitempty" help:"refuse if somebody changed the same fields after this version"`
	Force       bool                       `json:"force,omitempty" help:"override a rule (lead or operator; recorded)"`
	Fence       uint64                     `json:"fence,omitempty" door:"-" help:"the claim this is based on"`

	blocking bool // called as task block: to say which task is the point of it
}

// Decide changes the fields; a new status goes through the verb of that status.
func (v *TaskUpdate) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, v.check, func(d *draft, t *Task) error {
		next := t.Clone()
		if err := v.apply(next); err != nil {
			return err
		}
		if err := v.resolve(d, next); err != nil {
			return err
		}
		stale := firstRefusal(t.fenced(v.Fence), v.current(d, t))
		allowed := v.allowed(d, t)
		edged := v.edges(d, t, next)
		if stale != nil || edged != nil {
			return firstRefusal(stale, edged, allowed)
		}
		return firstRefusal(v.move(d, t, next), allowed)
	})
}

// Answer gives the task; a completion also gives what it freed.
func (v *TaskUpdate) Answer(s Snap, c Command, r Receipt) (any, error) {
	if v.Status != nil {
		if st, _ := ParseStatus(*v.Status); st == Completed {
			return s.answerDone(v.ID, c, r, false)
		}
	}
	return s.viewTask(v.ID)
}

// check looks at the call alone: is there something to change, and can each value
// be one.
func (v *TaskUpdate) check(d *draft) error {
	if v.blocking && len(v.AddBlocked) == 0 {
		return refuse(RuleValue, "which task must be completed first?").hint("cadre task block %s --by OTHER", v.ID)
	}
	if len(v.fields())+len(v.AddBlocks)+len(v.DropBlocks)+len(v.Reference)+len(v.Unreference) == 0 && v.Comment == "" {
		return refuse(RuleValue, "nothing is to be changed").hint("cadre task update --help")
	}
	if v.IfVersion != nil && *v.IfVersion == 0 {
		return refuse(RuleValue, "no task has a version 0: they begin at 1").hint("cadre task show %s", v.ID)
	}
	if err := d.mayMark(v.Metadata); err != nil {
		return err
	}
	if err := checkText("comment", v.Comment, MaxComment); err != nil {
		return err
	}
	return v.apply(&Task{})
}

// apply sets the plain fields.
func (v *TaskUpdate) apply(t *Task) (err error) {
	if v.Subject != nil {
		t.Subject = strings.TrimSpace(*v.Subject)
		if err := checkSubject(t.Subject); err != nil {
			return err
		}
	}
	if v.Description != nil {
		t.Description = *v.Description
		if err := checkText("description", t.Description, MaxDescription); err != nil {
			return err
		}
	}
	if v.ActiveForm != nil {
		t.ActiveForm = *v.ActiveForm
		if err := checkText("active form", t.ActiveForm, MaxMetadata); err != nil {
			return err
		}
	}
	if v.Run != nil && *v.Run != t.Run {
		if err := checkRun(*v.Run); err != nil {
			return err
		}
		if t.Run = *v.Run; t.Plan != nil {
			t.Plan = t.Plan.shut() // another command was not approved
		}
	}
	if v.MaxAttempts != nil {
		t.MaxAttempts = *v.MaxAttempts
		if err := checkAttempts(t.MaxAttempts); err != nil {
			return err
		}
	}
	if v.Status != nil {
		if _, err := ParseStatus(*v.Status); err != nil {
			return err
		}
	}
	if v.Priority != nil {
		if t.Priority, err = ParsePriority(string(*v.Priority)); err != nil {
			return err
		}
	}
	if v.Labels != nil {
		if t.Labels, err = checkLabels(*v.Labels); err != nil {
			return err
		}
	}
	if v.Paths != nil {
		if t.Paths, err = checkWords("path", *v.Paths); err != nil {
			return err
		}
	}
	if v.Result != nil {
		if t.Result, err = checkResult(Result{Summary: *v.Result}); err != nil {
			return err
		}
	}
	return t.setMetadata(v.Metadata)
}

// resolve finds what the call names: the owner, the parent, and every task.
func (v *TaskUpdate) resolve(d *draft, t *Task) error {
	for _, id := range slices.Concat(v.AddBlocked, v.AddBlocks, v.DropBlocks, v.Reference, v.Unreference) {
		if _, err := d.task(id); err != nil {
			return err
		}
	}
	if v.Owner != nil {
		owner := ""
		if *v.Owner != "" {
			name, err := d.ownerName(*v.Owner)
			if err != nil {
				return err
			}
			owner = name
		}
		if owner != t.Owner {
			t.Owner, t.Leased = owner, false
			t.Fence = d.Head().Fence + 1
			if t.Status == InProgress {
				t.Status, t.StartedAt = Pending, nil
			}
		}
	}
	if v.Parent == nil {
		return nil
	}
	if t.Parent = *v.Parent; t.Parent == "" {
		return nil
	}
	parent, err := d.task(t.Parent)
	if err != nil {
		return err
	}
	t.Parent = parent.ID
	for up := parent; up != nil; {
		if up.ID == t.ID {
			return refuse(RuleValue, "task %s cannot be a part of itself", t.ID).hint("cadre task show %s", parent.ID)
		}
		if up.Parent == "" {
			return nil
		}
		if up, err = d.Task(up.Parent); err != nil {
			return err
		}
	}
	return nil
}

// edges records the changed fields, and then what they have to do with others:
// dependencies in both directions, references, and a new owner's mail.
func (v *TaskUpdate) edges(d *draft, t, next *Task) error {
	if err := next.unblock(v.DropBlocked...); err != nil {
		return err
	}
	for _, by := range v.AddBlocked {
		if err := d.beginWait(t, next, by); err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(t, next) {
		if err := d.putTask(t, next); err != nil {
			return err
		}
	}
	var refusals []error
	for _, id := range v.AddBlocks {
		other, err := d.task(id)
		if err != nil {
			return err
		}
		waiting := other.Clone()
		if err := d.beginWait(other, waiting, t.ID); err != nil {
			return err
		}
		refusals = append(refusals, d.needOwner(other, "add a blocker to"))
		if len(waiting.BlockedBy) > len(other.BlockedBy) {
			if err := d.putTask(other, waiting); err != nil {
				return err
			}
		}
	}
	for _, id := range v.DropBlocks {
		refusals = append(refusals, d.dropEdge(id, t.ID))
	}
	for _, id := range v.Reference {
		refusals = append(refusals, d.reference(t, id, true))
	}
	for _, id := range v.Unreference {
		refusals = append(refusals, d.reference(t, id, false))
	}
	if next.Owner != t.Owner {
		refusals = append(refusals, d.assigned(next))
	}
	if v.Comment != "" {
		refusals = append(refusals, d.comment(t, v.Comment))
	}
	return firstRefusal(refusals...)
}

// reference ties two tasks together, or loosens the tie.
func (d *draft) reference(t *Task, id TaskID, tie bool) error {
	other, err := d.task(id)
	if err != nil {
		return err
	}
	if other.ID == t.ID {
		return refuse(RuleValue, "task %s cannot refer to itself", t.ID)
	}
	if err := d.needMember(); err != nil {
		return err
	}
	r := newReference(t.ID, other.ID)
	if _, twice := d.place[r.Ref()]; twice {
		return refuse(RuleValue, "task %s is named twice among the references", other.ID)
	}
	have, err := d.Get(r.Ref())
	if err != nil {
		return err
	}
	switch {
	case tie && have == nil:
		d.put(nil, r)
	case !tie && have != nil:
		d.put(have, nil)
	}
	return nil
}

// current refuses an update that is based on an old version, if what was changed
// since then is what it wants to change.
func (v *TaskUpdate) current(d *draft, t *Task) error {
	if v.IfVersion == nil || *v.IfVersion == t.Version {
		return nil
	}
	if *v.IfVersion > t.Version {
		return refuse(RuleVersion, "task %s has no version %d yet: it is at %d", t.ID, *v.IfVersion, t.Version).hint("cadre task show %s", t.ID)
	}
	mine := v.fields()
	for e, err := range d.History(t.Ref()) {
		if err != nil {
			return err
		}
		after, ok := e.After.(*Task)
		if !ok || after.Version <= *v.IfVersion {
			break
		}
		for _, f := range changedFields(e.Before, e.After) {
			if slices.Contains(mine, f) {
				return refuse(RuleVersion, "task %s is at version %d, not %d: %s changed its %s", t.ID, t.Version, *v.IfVersion, e.Actor, f).
					hint("cadre task show %s, then --if-version %d", t.ID, t.Version)
			}
		}
	}
	return nil
}

// fields names the task's fields that the update wants to change.
func (v *TaskUpdate) fields() []string {
	var out []string
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"subject", v.Subject != nil},
		{"description", v.Description != nil},
		{"activeForm", v.ActiveForm != nil},
		{"status", v.Status != nil},
		{"owner", v.Owner != nil},
		{"priority", v.Priority != nil},
		{"labels", v.Labels != nil},
		{"paths", v.Paths != nil},
		{"run", v.Run != nil},
		{"maxAttempts", v.MaxAttempts != nil},
		{"parent", v.Parent != nil},
		{"blockedBy", len(v.AddBlocked)+len(v.DropBlocked) > 0},
		{"metadata", len(v.Metadata) > 0},
		{"result", v.Result != nil},
	} {
		if f.given {
			out = append(out, f.name)
		}
	}
	return out
}

// allowed checks the rights that the given fields need. Priority is the plan's,
// also where it is set through metadata.
func (v *TaskUpdate) allowed(d *draft, t *Task) error {
	if v.Run != nil && *v.Run != t.Run {
		if err := d.mayRun(*v.Run); err != nil {
			return err
		}
	}
	var refusals []error
	_, ranked := v.Metadata["priority"]
	if v.Subject != nil || v.Description != nil || v.Priority != nil || v.Parent != nil || v.Run != nil || v.MaxAttempts != nil || len(v.DropBlocked) > 0 || ranked {
		refusals = append(refusals, d.needAuthor(t, "replan"))
	}
	if v.Owner != nil {
		refusals = append(refusals, v.mayAssign(d, t))
	}
	if v.ActiveForm != nil || v.Labels != nil || v.Paths != nil || v.Result != nil || len(v.Metadata) > 0 || len(v.AddBlocked) > 0 {
		refusals = append(refusals, d.needOwner(t, "change"))
	}
	return firstRefusal(refusals...)
}

// mayAssign: who does a task is the author's to say. Taking a task of nobody by
// naming oneself is a claim, which any member may, if it waits for nothing.
func (v *TaskUpdate) mayAssign(d *draft, t *Task) error {
	if t.Owner == "" && *v.Owner != "" && d.rights >= works {
		if name, err := d.ownerName(*v.Owner); err == nil && name == d.me {
			return d.unblocked(t, v.Force)
		}
	}
	return d.needAuthor(t, "assign")
}

// move changes the status, through the verb that the status has.
func (v *TaskUpdate) move(d *draft, t, next *Task) error {
	if v.Status == nil {
		return nil
	}
	to, err := ParseStatus(*v.Status)
	if err != nil {
		return err
	}
	switch {
	case to == InProgress && v.Owner != nil && next.Owner != "" && next.Owner != d.me:
		err = d.startFor(next, v.Force)
	case to == InProgress:
		_, err = d.start(next, v.Force, 0)
	case to == Completed:
		err = d.complete(next, nil, v.Force)
	case to == Deleted:
		err = d.remove(next, v.Force)
	case t.Status == Completed:
		err = d.reopen(next)
	case t.Status == InProgress && next.Status == InProgress:
		err = d.release(next)
	}
	return err
}

// changedFields names the top-level fields in which two images of an object
// differ, leaving out what changes with every event.
func changedFields(before, after Object) []string {
	a, b := fieldsOf(before), fieldsOf(after)
	var out []string
	for k := range b {
		if string(a[k]) != string(b[k]) {
			out = append(out, k)
		}
	}
	for k := range a {
		if _, ok := b[k]; !ok {
			out = append(out, k)
		}
	}
	out = slices.DeleteFunc(out, func(k string) bool { return k == "version" || k == "updatedAt" })
	slices.Sort(out)
	return out
}

// fieldsOf gives an object's JSON, field by field.
func fieldsOf(o Object) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	if o == nil {
		return out
	}
	data, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic("an object of the rule book is not JSON: " + err.Error())
	}
	return out
}
