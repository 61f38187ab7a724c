package cadre

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// ForeignTask is what a task's file says that it did not say before. A field that
// is nil says nothing.
type ForeignTask struct {
	ID     TaskID
	By     Actor  // who wrote it
	Digest string // of the write: the same one twice is one
	Gone   bool   // the file had been there, and is not any more

	Subject, Description, ActiveForm, Owner, Status *string

	AddBlockedBy, DropBlockedBy []TaskID
	AddBlocks, DropBlocks       []TaskID
	Metadata                    map[string]json.RawMessage // null removes a key
}

// Ref names the task.
func (f *ForeignTask) Ref() Ref { return Ref{KindTask, string(f.ID)} }

// tasks takes in tasks: new ones first, so that edges can lead to them, then the
// edges, on which it depends what a status means, then the rest.
func (in *intake) tasks(writes []ForeignTask) error {
	for i := range writes {
		if w := &writes[i]; !w.Gone {
			if err := in.appear(w); err != nil {
				return err
			}
		}
	}
	if err := in.edges(writes); err != nil {
		return err
	}
	for i := range writes {
		w := &writes[i]
		take := in.fields
		if w.Gone {
			take = in.vanish
		}
		if err := take(w); err != nil {
			return fmt.Errorf("task %s: %w", w.ID, err)
		}
	}
	return nil
}

// appear makes a task of a file that nobody knew, and brings back a removed one
// whose file is there again. One that is called otherwise is another task: it has
// nothing of the removed one but the number and what is on record under it.
func (in *intake) appear(w *ForeignTask) error {
	t, err := in.Task(w.ID)
	if err != nil {
		return err
	}
	if t != nil && t.Status != Deleted {
		return nil
	}
	if t != nil && (w.Subject == nil || plain(*w.Subject) == t.Subject) {
		in.wrote(t, w.By)
		return in.restore(t)
	}
	next := &Task{ID: w.ID, Status: Pending, CreatedAt: in.now(), Author: w.By.Name}
	if !next.ID.Numeric() {
		next.flag(FlagID)
	}
	if t != nil {
		next.Fence = in.Head().Fence + 1
	}
	in.wrote(next, w.By)
	return in.putTask(t, next)
}

// vanish takes in that a task's file is gone. Clients clear finished lists, so a
// completed task stays what it is; an open one was deleted.
func (in *intake) vanish(w *ForeignTask) error {
	t, err := in.Task(w.ID)
	if err != nil || t == nil || !t.Open() && t.Status.Known() {
		return err
	}
	if in.guard && !in.may(w.By, func(d *draft) error { return d.needAuthor(t, "remove") }) {
		in.leaveOut("%s deleted the file of task %s, which it may not: the file was put back", w.By, t.ID)
		return nil
	}
	if err := in.remove(t, true); err != nil {
		return err
	}
	in.deleted = append(in.deleted, t)
	in.wrote(t, w.By)
	return nil
}

// fields takes in what a file says about the task itself.
func (in *intake) fields(w *ForeignTask) error {
	t, err := in.Task(w.ID)
	if err != nil {
		return err
	}
	if w.Status != nil && strings.EqualFold(*w.Status, string(Deleted)) {
		return in.vanish(w)
	}
	next := t.Clone()
	fresh := t.Subject == "" && t.Version == 1
	if fresh || in.mayWrite(w, t) {
		if err := in.text(w, t, next, fresh); err != nil {
			return err
		}
	}
	if err := in.claims(w, t, next); err != nil {
		return err
	}
	if sameTask(t, next) {
		return nil
	}
	in.wrote(t, w.By)
	if err := in.putTask(t, next); err != nil {
		return err
	}
	if next.Status == Completed && t.Status != Completed {
		if err := in.closeAsks(t.ID, "the task was completed"); err != nil {
			return err
		}
		if next.finished() {
			return in.tellFreed(next)
		}
	}
	return nil
}

// mayWrite is the guard's question: what a known member may not change is left
// out, so that the file is put back. The words and the priority are the plan's, the
// rest belongs to whoever has the task.
func (in *intake) mayWrite(w *ForeignTask, t *Task) bool {
	if !in.guard {
		return true
	}
	_, ranked := w.Metadata["priority"]
	ok := in.may(w.By, func(d *draft) error {
		if w.Subject != nil || w.Description != nil || ranked {
			return d.needAuthor(t, "replan")
		}
		if w.ActiveForm != nil || len(w.Metadata) > 0 {
			return d.needOwner(t, "change")
		}
		return nil
	})
	if !ok {
		in.leaveOut("%s changed what task %s says, which it may not: the file was put back", w.By, t.ID)
	}
	return ok
}

// mayClaim is the guard's question about who has a task and how far it is: a free
// task is for anyone to take, somebody else's is not.
func (in *intake) mayClaim(w *ForeignTask, t, next *Task) bool {
	if !in.guard {
		return true
	}
	ok := in.may(w.By, func(d *draft) error {
		if next.Owner != t.Owner && !(t.Owner == "" && next.Owner == d.me) {
			return d.needAuthor(t, "assign")
		}
		return d.needOwner(t, "change")
	})
	if !ok {
		in.leaveOut("%s changed who has task %s or how far it is, which it may not: the file was put back", w.By, t.ID)
	}
	return ok
}

// may asks the rule book as if a writer had come through a door. Somebody unknown
// may: what nobody can be blamed for stands.
func (in *intake) may(by Actor, ask func(*draft) error) bool {
	if by.Kind != ActorMember {
		return true
	}
	m, err := in.Member(by.Name)
	if err != nil || m == nil {
		return true
	}
	as := *in.draft
	as.me, as.rights = m.Name, m.rights()
	return ask(&as) == nil
}

// leads says whether a writer is known, and leads here.
func (in *intake) leads(by Actor) bool {
	if by.Kind != ActorMember && by.Kind != ActorSession {
		return false
	}
	as := *in.draft
	as.cmd.Actor = by
	_, r, _, err := as.identify()
	return err == nil && r >= leads
}

// text takes in the words of a task. Rewording somebody else's stands, and its
// author is told how to undo it.
func (in *intake) text(w *ForeignTask, t, next *Task, fresh bool) error {
	for _, f := range []struct {
		says *string
		into *string
	}{{w.Subject, &next.Subject}, {w.Description, &next.Description}, {w.ActiveForm, &next.ActiveForm}} {
		if f.says != nil {
			*f.into = plain(*f.says)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.Metadata)) {
		raw := w.Metadata[key]
		if string(raw) == "null" {
			next.unmirror(key)
			continue
		}
		if next.Metadata == nil {
			next.Metadata = map[string]json.RawMessage{}
		}
		next.Metadata[key] = raw
		_ = next.mirror(key, raw) // a value that means nothing to Cadre stays metadata
	}
	next.unflag(FlagLarge)
	if utf8.RuneCountInString(next.Subject) > MaxSubject || len(next.Description) > MaxDescription || metadataSize(next) > MaxMetadata {
		next.flag(FlagLarge)
	}
	reworded := next.Subject != t.Subject || next.Description != t.Description
	if fresh || !reworded || t.Author == w.By.Name {
		return nil
	}
	return in.notice(t.Author, t.ID, "%s changed the words of task %s (%s); to have the old ones back: cadre blame %s, cadre undo", w.By, t.ID, clip(t.Subject, 60), t.ID)
}

func metadataSize(t *Task) int {
	size := 0
	for k, raw := range t.Metadata {
		size += len(k) + len(raw)
	}
	return size
}

// claims takes in who has the task and how far it is.
func (in *intake) claims(w *ForeignTask, t, next *Task) error {
	if w.Owner != nil {
		owner, _, _ := strings.Cut(plain(*w.Owner), "@")
		next.Owner = clip(owner, maxScope)
	}
	if w.Status != nil {
		status, err := ParseStatus(*w.Status)
		if err != nil {
			status = Status(clip(plain(*w.Status), 100))
			next.flag(FlagStatus)
		}
		next.Status = status
	}
	if next.Owner == t.Owner && next.Status == t.Status {
		return nil
	}
	if !in.mayClaim(w, t, next) {
		next.Owner, next.Status, next.Flags = t.Owner, t.Status, slices.Clone(t.Flags)
		return nil
	}
	obeyed, err := in.obeyed(w, t, next)
	if err != nil {
		return err
	}
	if !obeyed {
		next.Owner, next.Status = t.Owner, t.Status
		next.Flags = slices.Clone(t.Flags)
		return nil
	}
	return in.facts(w, t, next)
}

// facts writes down what an owner and a status that a file shows mean, and flags
// what a door would have refused.
func (in *intake) facts(w *ForeignTask, t, next *Task) error {
	now := in.now()
	if next.Owner != t.Owner || t.Leased && next.Status == Pending {
		next.Fence, next.Leased = in.Head().Fence+1, false
	}
	if next.Owner != t.Owner {
		next.unflag(FlagOwner)
		team, err := in.Team()
		if err != nil {
			return err
		}
		m, err := in.Member(next.Owner)
		if err != nil {
			return err
		}
		if next.Owner != "" && team != nil && (m == nil || m.State == StateDeparted) {
			next.flag(FlagOwner)
		}
	}
	next.unflag(FlagNobody)
	if next.Status == InProgress && next.Owner == "" {
		next.flag(FlagNobody)
	}
	if next.Status == t.Status {
		return nil
	}
	switch next.Status {
	case Pending:
		next.StartedAt, next.CompletedAt = nil, nil
	case InProgress:
		next.StartedAt, next.CompletedAt = &now, nil
		if next.OpenBlockers > 0 {
			next.flag(FlagEarly)
		}
		if in.leads(w.By) { // through a door this would be an answer, too
			return in.answerByStarting(next)
		}
	case Completed:
		if next.StartedAt == nil {
			next.StartedAt = &now
		}
		next.CompletedAt, next.Refusals = &now, 0
		if next.OpenBlockers > 0 {
			next.flag(FlagUnaccepted)
		}
		over, err := in.claimIsOver(t)
		if err != nil {
			return err
		}
		if t.Plan != nil && t.Plan.ApprovedBy == "" || t.Leased && !over && w.By.Name != t.Owner {
			next.flag(FlagUngated)
		}
		next.Leased = false
		next.unflag(FlagPerson)
	}
	return nil
}

// obeyed says whether a write may change who has a task. One that takes a task
// away from a live claim is put back once and asked about; a second one is obeyed.
func (in *intake) obeyed(w *ForeignTask, t, next *Task) (bool, error) {
	over, err := in.claimIsOver(t)
	if err != nil {
		return false, err
	}
	taken := next.Owner != t.Owner || next.Status == Pending
	if !t.Leased || over || !taken || w.By.Name == t.Owner {
		return true, nil
	}
	asks, err := collect(scan[*Ask](in.Snap, IndexTaskAsk, prefixKey(string(t.ID)), ""))
	if err != nil {
		return false, err
	}
	for _, a := range asks {
		if a.Kind != AskTakeover {
			continue
		}
		if a.Digest == w.Digest {
			return false, nil
		}
		in.put(a, a.void("it was written a second time, and obeyed"))
		return true, nil
	}
	text := fmt.Sprintf("%s wants to take task %s (%s) away from %s, who works on it", w.By, t.ID, clip(t.Subject, 60), t.Owner)
	in.ask(&Ask{Kind: AskTakeover, From: w.By.Name, Task: t.ID, Text: text, Digest: w.Digest, Approvers: []string{LeadName}})
	return false, in.notice(LeadName, t.ID, "%s; the file was put back: cadre ask list", text)
}

// closeTakeover voids what asks for a task whose claim is over: neither its answer nor a
// second write is meant for whoever claims the task next.
func (d *draft) closeTakeover(id TaskID) error {
	open, err := collect(scan[*Ask](d.Snap, IndexTaskAsk, prefixKey(string(id)), ""))
	for _, a := range open {
		if a.Kind == AskTakeover {
			d.put(a, a.void("the claim is over"))
		}
	}
	return err
}

// sameTask says whether two images differ in nothing that a file can change.
func sameTask(a, b *Task) bool {
	return a.Subject == b.Subject && a.Description == b.Description && a.ActiveForm == b.ActiveForm && a.Owner == b.Owner && a.Status == b.Status &&
		a.Priority == b.Priority && a.Kind == b.Kind && reflect.DeepEqual(a.Result, b.Result) && slices.Equal(a.Labels, b.Labels) && slices.Equal(a.Flags, b.Flags) &&
		maps.EqualFunc(a.Metadata, b.Metadata, func(x, y json.RawMessage) bool { return string(x) == string(y) })
}
