package claudefile

import (
	"encoding/json"
	"slices"
)

// Task is the content of a task file, tasks/LIST/ID.json. The file's name is what
// the client finds a task by; ID is only what it shows.
type Task struct {
	ID, Subject, Description, ActiveForm, Owner string

	// Status is kept as written, also where the client does not know it.
	Status string

	Blocks, BlockedBy []string
	Metadata          map[string]json.RawMessage

	// Invisible says why the client passes over this file without a word: what in it
	// does not fit its schema. Empty where the client sees the task.
	Invisible string
}

// ReadTask reads a task file. It fails only for what is no JSON object within the
// limits of Parse; a field of the wrong type is left empty, and Invisible says so.
func ReadTask(data []byte) (*Task, error) {
	o, err := Parse(data)
	if err != nil {
		return nil, err
	}
	f := fields{Object: o}
	t := &Task{
		ID:          f.text("id", true),
		Subject:     f.text("subject", true),
		Description: f.text("description", true),
		ActiveForm:  f.text("activeForm", false),
		Owner:       f.text("owner", false),
		Status:      f.text("status", true),
		Blocks:      f.list("blocks", true),
		BlockedBy:   f.list("blockedBy", true),
		Metadata:    f.object("metadata"),
	}
	if t.Status != "" && !slices.Contains([]string{"pending", "in_progress", "completed"}, t.Status) {
		f.note("status is %q, not pending, in_progress or completed", t.Status)
	}
	t.Invisible = f.problem()
	return t, nil
}

// Write gives t as the content of its file. old is what the file holds now; nil,
// or what is no JSON object, makes a new file in the order of the client's create.
//
// In an old file only the keys whose values differ are touched: they keep their
// place, new ones come last, and an owner, active form or metadata that became
// empty is removed. A t that says what old says gives old itself, however it is
// formatted. A t that is visible makes an invisible file visible: then all of the
// client's keys are written.
func (t *Task) Write(old []byte) []byte {
	o, err := Parse(old)
	if err != nil {
		o = &Object{}
		merge(o, nil, t.fields())
		return o.Bytes()
	}
	before, err := ReadTask(old)
	if err != nil {
		panic("claudefile: " + err.Error()) // it was parsed a moment ago
	}
	was := before.fields()
	if before.Invisible != "" && t.Invisible == "" {
		was = nil
	}
	if !merge(o, was, t.fields()) {
		return old
	}
	return o.Bytes()
}

func (t *Task) fields() []field {
	return []field{
		{"id", t.ID, true},
		{"subject", t.Subject, true},
		{"description", t.Description, true},
		{"activeForm", t.ActiveForm, false},
		{"owner", t.Owner, false},
		{"status", t.Status, true},
		{"blocks", nonNil(t.Blocks), true},
		{"blockedBy", nonNil(t.BlockedBy), true},
		{"metadata", t.Metadata, false},
	}
}
