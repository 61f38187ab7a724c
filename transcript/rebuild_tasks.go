package transcript

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"cadre"
)

func (r *rebuild) create(e *Event) {
	c := e.Task
	t := &cadre.Task{ID: c.ID, Status: cadre.Pending, Version: 1, CreatedAt: e.Done, UpdatedAt: e.Done, Author: e.Who, Metadata: maps.Clone(c.Metadata)}
	set(&t.Subject, c.Subject)
	set(&t.Description, c.Description)
	set(&t.ActiveForm, c.ActiveForm)
	if t.Metadata["_internal"] != nil {
		t.Kind = cadre.KindInternal
	}
	r.tasks[c.ID] = t
}

func set(to *string, from *string) {
	if from != nil {
		*to = *from
	}
}

// task gives a task that a call names. One whose creation no transcript shows is
// made with what is known.
func (r *rebuild) task(id cadre.TaskID, at time.Time) *cadre.Task {
	t := r.tasks[id]
	if t == nil {
		t = &cadre.Task{ID: id, Status: cadre.Pending, CreatedAt: at, UpdatedAt: at}
		r.tasks[id] = t
		r.gap("no transcript shows who created task %s, nor all of its fields", id)
	}
	return t
}

// update applies what the answer says was changed, as the client does it.
func (r *rebuild) update(e *Event) {
	c, at := e.Task, e.Done
	t := r.task(c.ID, e.At)
	t.Version++
	t.UpdatedAt = at
	if e.deletes() {
		t.Status = cadre.Deleted
		for _, o := range r.tasks {
			o.BlockedBy = slices.DeleteFunc(o.BlockedBy, func(id cadre.TaskID) bool { return id == c.ID })
		}
		t.BlockedBy = nil
		return
	}
	set(&t.Subject, c.Subject)
	set(&t.Description, c.Description)
	set(&t.ActiveForm, c.ActiveForm)
	set(&t.Owner, c.Owner)
	if c.Owner == nil && slices.Contains(c.Updated, "owner") {
		t.Owner = e.Who // who starts a task that is nobody's becomes its owner
	}
	if c.Status != nil && e.changed("status") {
		r.status(t, *c.Status, at)
	}
	for key, value := range c.Metadata {
		if string(value) == "null" {
			delete(t.Metadata, key)
			continue
		}
		if t.Metadata == nil {
			t.Metadata = map[string]json.RawMessage{}
		}
		t.Metadata[key] = value
	}
	for _, id := range c.BlockedBy {
		r.block(c.ID, id)
	}
	for _, id := range c.Blocks {
		r.block(id, c.ID)
	}
}

func (r *rebuild) status(t *cadre.Task, to string, at time.Time) {
	s, err := cadre.ParseStatus(to)
	if err != nil || s == t.Status {
		return // the client refuses what is not a status
	}
	t.Status, t.CompletedAt = s, nil
	switch s {
	case cadre.InProgress:
		t.StartedAt = &at
	case cadre.Completed:
		t.CompletedAt = &at
	}
}

// block adds an edge if both ends are there, as the client does.
func (r *rebuild) block(id, by cadre.TaskID) {
	t, b := r.tasks[id], r.tasks[by]
	if t != nil && b != nil && t.Status != cadre.Deleted && b.Status != cadre.Deleted && !slices.Contains(t.BlockedBy, by) {
		t.BlockedBy = append(t.BlockedBy, by)
	}
}

// listed corrects tasks by what the client showed: the client itself takes tasks
// for idle members, and members may have written whose transcripts are gone.
func (r *rebuild) listed(e *Event) {
	for _, l := range e.Listed {
		t := r.task(l.ID, e.At)
		if t.Subject == "" {
			t.Subject = l.Subject
		}
		s, err := cadre.ParseStatus(l.Status)
		if err != nil || t.UpdatedAt.After(e.At) || t.Subject == l.Subject && t.Status == s && t.Owner == l.Owner {
			continue
		}
		r.gap("no transcript shows who changed task %s before %s listed it", l.ID, e.Who)
		t.Subject, t.Owner, t.UpdatedAt = l.Subject, l.Owner, e.Done
		r.status(t, l.Status, e.Done)
	}
}
