package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"cadre"
)

// clockSlack is how far the time of a file may be outside of the call that wrote it.
const clockSlack = 2 * time.Second

// unassignWithin is how long a lead's client may take to free the tasks of a
// teammate that left: it does so when it next reads its mail.
const unassignWithin = time.Minute

// Who says which member, or which session where there is no team, made the change
// of a task that stands in a file written around that time, and where the call
// stands. It says nothing where no call explains the change, or calls of two
// explain it equally well. A list that a session was told to share is in no
// transcript: where nothing is told of a list that is no session's own, a call of any
// session for its own list may explain a change.
//
// Fields are those of the task's file. For status, owner, subject, description and
// activeForm the value is the new text. "created" and "deleted" have no value, but
// the subject may be given for the first. For "blocks" and "blockedBy" it is the id
// that was added, for "-blocks" and "-blockedBy" the one that was taken away. For
// "metadata.KEY" it is the JSON, and nothing where the key was taken away.
func (x *Index) Who(scope cadre.Scope, task cadre.TaskID, field, value string, around time.Time) (who, evidence string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if own := x.eventsOf(scope); len(own) > 0 {
		return whoIn(scope, own, task, field, value, around)
	}
	if cadre.SessionTeam(string(scope)) != "" || strings.HasPrefix(string(scope), "session-") {
		return "", "", false // a session's own list is shared with nobody
	}
	var elsewhere []*Event
	for _, e := range x.eventsOf("") {
		if e.Team == "" && e.Scope != scope {
			elsewhere = append(elsewhere, e)
		}
	}
	return whoIn("", elsewhere, task, field, value, around)
}

// whoIn looks for the one author among some events.
func whoIn(scope cadre.Scope, events []*Event, task cadre.TaskID, field, value string, around time.Time) (who, evidence string, ok bool) {
	var best *Event
	var distance time.Duration
	tie := false
	for _, e := range events {
		by, late := e.explains(task, field, value)
		if by == e.Session && strings.HasPrefix(string(scope), "session-") {
			by = cadre.LeadName // the caller knows this list as a team's
		}
		if by == "" {
			continue
		}
		d := e.distance(around, late)
		switch {
		case d > clockSlack || best != nil && d > distance:
		case best != nil && d == distance:
			tie = tie || who != by
		default:
			best, distance, who, tie = e, d, by, false
		}
	}
	if best == nil || tie {
		return "", "", false
	}
	return who, best.Evidence(), true
}

// distance is how far a time is from the call: nothing while it ran, and nothing
// until late after it.
func (e *Event) distance(t time.Time, late time.Duration) time.Duration {
	if t.Before(e.At) {
		return e.At.Sub(t)
	}
	if end := e.when().Add(late); t.After(end) {
		return t.Sub(end)
	}
	return 0
}

// explains says who made a change, if this event did it, and how long after it the
// change may have come.
func (e *Event) explains(task cadre.TaskID, field, value string) (by string, late time.Duration) {
	if !e.worked() {
		return "", 0
	}
	if left := e.left(); left != "" {
		// The client of the lead does this, when it reads of it.
		if field == "owner" && value == "" || field == "status" && value == string(cadre.Pending) {
			return cadre.LeadName, unassignWithin
		}
		return "", 0
	}
	if e.Task != nil && e.did(task, field, value) {
		return e.Who, 0
	}
	return "", 0
}

// left is the member that leaves with this event: it agreed to a shutdown, or the
// lead was told so.
func (e *Event) left() string {
	switch {
	case e.Kind == SendMessage && e.Letter.Kind == string(cadre.MessageShutdownResponse) && e.Letter.Approve && e.worked():
		return e.Who
	case e.Kind == Mail && e.Letter.Kind == "shutdown_approved" && e.Who == cadre.LeadName:
		return e.Letter.From
	}
	return ""
}

// did says whether a task call made this very change.
func (e *Event) did(task cadre.TaskID, field, value string) bool {
	t := e.Task
	switch field {
	case "blocks":
		return t.ID == task && e.adds(t.Blocks, "blocks", value) || string(t.ID) == value && e.adds(t.BlockedBy, "blockedBy", string(task))
	case "blockedBy":
		return t.ID == task && e.adds(t.BlockedBy, "blockedBy", value) || string(t.ID) == value && e.adds(t.Blocks, "blocks", string(task))
	case "-blocks", "-blockedBy":
		return string(t.ID) == value && e.deletes()
	}
	if t.ID != task {
		return false
	}
	if e.Kind == TaskCreate {
		key, isMeta := strings.CutPrefix(field, "metadata.")
		switch {
		case field == "created":
			return value == "" || is(t.Subject, value)
		case isMeta:
			return value != "" && sameJSON(t.Metadata[key], value)
		case field == "status":
			return value == string(cadre.Pending)
		}
		return e.sets(field, value)
	}
	if field == "deleted" {
		return e.deletes()
	}
	if key, ok := strings.CutPrefix(field, "metadata."); ok {
		raw, set := t.Metadata[key]
		return set && e.changed("metadata") && (value == "" && string(raw) == "null" || value != "" && sameJSON(raw, value))
	}
	if field == "owner" && t.Owner == nil {
		// A teammate that starts a task without an owner becomes it.
		return value == e.Who && slices.Contains(t.Updated, "owner")
	}
	return e.sets(field, value) && e.changed(field)
}

func (e *Event) deletes() bool {
	return e.Kind == TaskUpdate && is(e.Task.Status, string(cadre.Deleted)) && e.changed("deleted")
}

func (e *Event) adds(ids []cadre.TaskID, field, id string) bool {
	return slices.Contains(ids, cadre.TaskID(id)) && e.changed(field)
}

func (e *Event) sets(field, value string) bool {
	t := e.Task
	switch field {
	case "subject":
		return is(t.Subject, value)
	case "description":
		return is(t.Description, value)
	case "activeForm":
		return is(t.ActiveForm, value)
	case "owner":
		return is(t.Owner, value)
	case "status":
		return is(t.Status, value)
	}
	return false
}

// is compares a text that may be absent and may have been cut.
func is(s *string, value string) bool { return s != nil && *s == cut(value) }

func sameJSON(a json.RawMessage, b string) bool {
	var x, y bytes.Buffer
	return a != nil && json.Compact(&x, a) == nil && json.Compact(&y, []byte(b)) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
