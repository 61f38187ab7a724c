package cadre

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Undo takes back what one command did, as a new command. It works field by
// field: what nobody changed since is put back, anything else is a conflict.
type Undo struct {
	Events []Event `json:"events"` // of the command, from the log
}

// Decide puts back, last event first. Who joined with the command leaves after all else: it
// would give back what the rest is about.
func (v *Undo) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if len(v.Events) == 0 {
		return nil, refuse(RuleMissing, "there is nothing to undo in %s", d.Scope()).hint("cadre log")
	}
	// What several wrote to files may have come in with one command: each takes back its own.
	mine := slices.DeleteFunc(slices.Clone(v.Events), func(e Event) bool { return d.mayUndo(e) != nil })
	events := mine
	if len(mine) == 0 {
		events = v.Events // what else speaks against it is said first
	}
	for _, joins := range []bool{false, true} {
		for _, e := range slices.Backward(events) {
			if e.joins() != joins {
				continue
			}
			if err := d.undo(e); err != nil {
				return nil, err
			}
		}
	}
	if len(mine) == 0 {
		return nil, d.mayUndo(v.Events[0])
	}
	return d.finish()
}

// mayUndo: everyone their own; the lead and the operator all. A session or a guest
// that leads still takes back only its own.
func (d *draft) mayUndo(e Event) error {
	a, by := d.cmd.Actor, e.Actor
	if a.Kind == by.Kind && a.Name == by.Name && a.Session == by.Session && d.rights >= works {
		return nil
	}
	if d.rights >= leads && a.Kind != ActorSession && a.Kind != ActorGuest {
		return nil
	}
	who := by.String() + " or the operator"
	if by.Kind == ActorOperator {
		who = "the operator"
	}
	return refuse(RuleAuthor, "event %d is by %s: only %s may undo it", e.Seq, by, who).hint("cadre log")
}

// joins says whether an event is that somebody joined, or came back.
func (e Event) joins() bool {
	after, ok := e.After.(*Member)
	before, was := e.Before.(*Member)
	return ok && after.State != StateDeparted && (!was || before.State == StateDeparted)
}

// undo takes back one event.
func (d *draft) undo(e Event) error {
	now, err := d.Get(e.Object)
	if err != nil {
		return err
	}
	switch after := e.After.(type) {
	case *Task:
		t, ok := now.(*Task)
		if !ok {
			return d.undoConflict(e)
		}
		return d.undoTask(e, t, after)
	case *Message:
		m, ok := now.(*Message)
		if ok && m.ReadAt == nil && m.Dead == "" && e.Before == nil {
			next := m.Clone()
			next.Dead = "taken back by " + d.me
			d.put(m, next)
			return nil
		}
		if e.Before == nil {
			return nil // it was read: what was said cannot be unsaid
		}
	case *Holder:
		return nil // it ends by itself
	case *Log, *Ask, *Token:
		return refuse(RuleMove, "event %d cannot be undone: it is about %s", e.Seq, e.Object).hint("cadre log")
	case *Member:
		if m, ok := now.(*Member); e.joins() && (!ok || !m.JoinedAt.Equal(after.JoinedAt)) {
			return d.undoConflict(e) // somebody has come back under the name since
		}
		if e.joins() {
			return d.depart(after.Name, "joining was undone", d.me == LeadName)
		}
	case *Team:
		if e.Before == nil {
			return refuse(RuleMove, "creating a team cannot be undone").hint("cadre team delete %s", d.Scope())
		}
		if before, ok := e.Before.(*Team); ok && !after.sameSettings(before) {
			return refuse(RuleMove, "event %d cannot be undone: it is about what needs a person", e.Seq).hint("cadre team policy KIND ANSWER")
		}
	}
	if !sameFields(now, e.After) {
		return d.undoConflict(e)
	}
	if !sameFields(now, e.Before) {
		d.put(now, e.Before)
	}
	return nil
}

func sameFields(a, b Object) bool {
	return reflect.DeepEqual(fieldsOf(a), fieldsOf(b))
}

func (d *draft) undoConflict(e Event) error {
	return refuse(RuleChanged, "event %d cannot be undone: %s was changed again since", e.Seq, e.Object).hint("cadre blame %s", e.Object.ID)
}

// derivedFields follow from others and are never put back by themselves.
var derivedFields = []string{"openBlockers", "fence", "leased", "unblocked"}

// undoTask puts the changed fields of a task back, one by one.
func (d *draft) undoTask(e Event, now, after *Task) error {
	before, _ := e.Before.(*Task)
	if before == nil {
		if now.Status == Deleted {
			return nil
		}
		if len(changedFields(after, now)) > 0 {
			return d.undoConflict(e)
		}
		return d.remove(now, false)
	}
	was, is, then := fieldsOf(before), fieldsOf(now), fieldsOf(after)
	changed := slices.DeleteFunc(changedFields(before, after), func(f string) bool { return slices.Contains(derivedFields, f) })
	if len(changed) == 0 {
		return nil
	}
	for _, f := range changed {
		if string(is[f]) != string(then[f]) {
			return refuse(RuleChanged, "event %d cannot be undone: the %s of task %s was changed again since", e.Seq, f, now.ID).hint("cadre blame %s", now.ID)
		}
		if old, ok := was[f]; ok {
			is[f] = old
		} else {
			delete(is, f)
		}
	}
	data, err := json.Marshal(is)
	if err != nil {
		return err
	}
	next := &Task{}
	if err := json.Unmarshal(data, next); err != nil {
		return err
	}
	if slices.Contains(changed, "owner") || slices.Contains(changed, "status") {
		next.Fence, next.Leased = d.Head().Fence+1, false
	}
	return d.putBack(now, next)
}

// putBack records an earlier image of a task, checking the edges that come back
// with it as if they were new.
func (d *draft) putBack(now, next *Task) error {
	edges := next.BlockedBy
	next.BlockedBy = nil
	for _, by := range edges {
		if slices.Contains(now.BlockedBy, by) && now.Status != Deleted {
			next.BlockedBy = append(next.BlockedBy, by)
		} else if err := d.addEdge(next, by); err != nil {
			return err
		}
	}
	if next.Status == Deleted && now.Status != Deleted {
		return d.remove(now, false)
	}
	if err := d.standsAgain(now, next); err != nil {
		return err
	}
	return d.putTask(now, next)
}

// standsAgain holds a status that comes back against what is true by now: what
// waits again cannot have been completed, and what may not be started now is
// pending.
func (d *draft) standsAgain(now, next *Task) error {
	if next.Status == now.Status && next.Owner == now.Owner {
		return nil
	}
	open, err := d.countOpen(next.BlockedBy)
	if err != nil {
		return err
	}
	if next.Status == Completed && now.Status != Completed && open > 0 {
		return refuse(RuleWaits, "task %s cannot be completed again: it waits for others now", next.ID).hint("cadre task why %s", next.ID)
	}
	if !d.belongs(next.Owner) && next.Open() {
		next.Owner = ""
	}
	startable := next.Owner != "" && open == 0 && !next.has(FlagPerson) && (next.Plan == nil || next.Plan.ApprovedBy != "")
	if next.Status == InProgress && !startable {
		next.Status, next.StartedAt = Pending, nil
	}
	return nil
}

// Answer says nothing more: the receipt's events are what undid it.
func (v *Undo) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }

// Blame says for every field of a task who set it last.
type Blame struct {
	ID TaskID `json:"id" arg:"ID" help:"the task"`
}

// BlameLine is one field and the event that made it what it is.
type BlameLine struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
	Event Event           `json:"event"`
}

// Look goes back through the task's history until every field is explained.
func (v *Blame) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	view, err := s.viewTask(v.ID)
	if err != nil {
		return nil, err
	}
	t, err := s.Task(view.ID)
	if err != nil {
		return nil, err
	}
	open := fieldsOf(t)
	delete(open, "version")
	delete(open, "updatedAt")
	lines := []BlameLine{}
	for e, err := range s.History(t.Ref()) {
		if err != nil {
			return nil, err
		}
		for _, f := range changedFields(e.Before, e.After) {
			if value, ok := open[f]; ok {
				lines = append(lines, BlameLine{f, value, e})
				delete(open, f)
			}
		}
	}
	names := taskFieldOrder()
	slices.SortStableFunc(lines, func(a, b BlameLine) int { return slices.Index(names, a.Field) - slices.Index(names, b.Field) })
	return lines, nil
}

// taskFieldOrder is the order in which a task's fields stand in its type.
func taskFieldOrder() []string {
	typ := reflect.TypeFor[Task]()
	names := make([]string, 0, typ.NumField())
	for i := range typ.NumField() {
		names = append(names, jsonName(typ.Field(i)))
	}
	return names
}

func jsonName(f reflect.StructField) string {
	name := f.Tag.Get("json")
	for i := range name {
		if name[i] == ',' {
			return name[:i]
		}
	}
	return name
}

// Difference is one object that is not the same at two times.
type Difference struct {
	Object Ref      `json:"object"`
	Before Object   `json:"before,omitempty"`
	After  Object   `json:"after,omitempty"`
	Fields []string `json:"fields"`
}

// Differences makes a list of what changed of the events between two times: each
// object once, with its first before and its last after image.
func Differences(events []Event) []Difference {
	out := []Difference{}
	at := map[Ref]int{}
	for _, e := range events {
		i, ok := at[e.Object]
		if !ok {
			i = len(out)
			at[e.Object] = i
			out = append(out, Difference{Object: e.Object, Before: e.Before})
		}
		out[i].After = e.After
	}
	for i := range out {
		out[i].Fields = changedFields(out[i].Before, out[i].After)
	}
	return slices.DeleteFunc(out, func(d Difference) bool {
		return d.Object.Kind == KindHolder || len(d.Fields) == 0 && d.Object.Kind != KindLog
	})
}
