//go:build realclient

package realclient

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// task is what cadre tells of one.
type task struct {
	ID, Subject, Description, Owner, Status, State string
	Blocks, BlockedBy, Labels                      []string
	Priority                                       int
	Metadata                                       map[string]any
	Result                                         *struct{ Summary string }
}

// event is what cadre tells of one change.
type event struct {
	Actor         struct{ Kind, Name, Session, Proof string }
	Verb          string
	Object        struct{ Kind, ID string }
	Before, After map[string]any
}

// who is the actor as a test names it: a member or the kind of caller.
func (e event) who() string {
	if e.Actor.Kind == "member" {
		return e.Actor.Name
	}
	return e.Actor.Kind
}

// taskLog is the history of a list's tasks, one line a change: who, which task, and
// what of it changed that the client shows too.
func (m *machine) taskLog(list string) []string {
	m.Helper()
	var out []string
	for _, e := range get[[]event](m, "log", "--limit", "0", "--scope", list) {
		if e.Object.Kind != "task" || e.After["kind"] == "internal" {
			continue
		}
		line := ""
		for _, field := range []string{"subject", "status", "owner", "blockedBy"} {
			if was, is := said(e.Before[field]), said(e.After[field]); was != is {
				line += " " + field + "=" + is
			}
		}
		if line != "" {
			out = append(out, e.who()+": "+e.Object.ID+line)
		}
	}
	return out
}

// said is a field's value in a line; what is not set and what is empty are the same.
func said(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		return strings.Trim(fmt.Sprint(v), "[]")
	}
	return fmt.Sprint(v)
}

// tasks is a list in lines: id, status and state, subject, owner.
func (m *machine) tasks(list string) string {
	m.Helper()
	var out []string
	for _, t := range get[[]task](m, "task", "list", "--scope", list) {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", t.ID, t.Status, t.State, t.Subject, t.Owner)))
	}
	return strings.Join(out, "\n")
}

// TestClientWorksOnTasksOfCadre has a session work on a list that it shares with
// cadre: it sees what cadre wrote, also while it runs, and what it changes is
// changed for cadre, with nothing lost that only cadre knows of.
func TestClientWorksOnTasksOfCadre(t *testing.T) {
	both(t, func(m *machine) {
		m.cadre("task", "add", "Outline", "-d", "one page", "--scope", "shared", "--priority", "high", "--labels", "text", "--metadata", "pages=1")
		m.cadre("task", "add", "Chapters", "-d", "ten", "--blocked-by", "1", "--owner", "ann", "--scope", "shared")
		agent := m.model.talk("Do the work")
		end := m.headless(session, "Do the work", "CLAUDE_CODE_TASK_LIST_ID=shared")
		want(m, "the client's list", agent.use("TaskList", object{}), "#1 [pending] Outline\n#2 [pending] Chapters (ann) [blocked by #1]")
		want(m, "the client's task", agent.use("TaskGet", object{"taskId": "1"}), "Task #1: Outline\nStatus: pending\nDescription: one page\nBlocks: #2")
		agent.use("TaskUpdate", object{"taskId": "1", "status": "in_progress", "owner": "coder"})
		want(m, "cadre's list", m.tasks("shared"), "1 in_progress running Outline coder\n2 pending blocked Chapters ann")

		m.cadre("task", "add", "Index", "-d", "at the end", "--scope", "shared")
		m.cadre("task", "update", "2", "--subject", "All chapters", "--scope", "shared")
		m.cadre("task", "comment", "1", "looks good", "--scope", "shared")
		want(m, "the client's list after cadre's changes", agent.use("TaskList", object{}),
			"#1 [in_progress] Outline (coder)\n#2 [pending] All chapters (ann) [blocked by #1]\n#3 [pending] Index")
		agent.use("TaskUpdate", object{"taskId": "1", "status": "completed", "metadata": object{"result": "see outline.md"}})
		want(m, "cadre's list in the end", m.tasks("shared"), "1 completed done Outline coder\n2 pending ready All chapters ann\n3 pending ready Index")
		m.cadre("task", "rm", "3", "--scope", "shared")
		want(m, "the client's list in the end", agent.use("TaskList", object{}), "#1 [completed] Outline (coder)\n#2 [pending] All chapters (ann)")
		agent.say("done")
		end()

		one := get[task](m, "task", "show", "1", "--scope", "shared")
		want(m, "priority, labels and metadata", fmt.Sprint(one.Priority > 0, one.Labels, one.Metadata["pages"]), "true [text] 1")
		if one.Result == nil || one.Result.Summary != "see outline.md" {
			m.Errorf("the client's result did not arrive: %+v", one)
		}
		m.cadre("audit", "verify")
	})
}

// TestCadreRecordsASession follows a session through its own tools: every change is
// in the log, under the name of the session that made it.
func TestCadreRecordsASession(t *testing.T) {
	both(t, func(m *machine) { m.records(session) })
}

// TestCadreRecordsASharedList does the same with a list that the session was told to
// use, of which its transcript says nothing.
func TestCadreRecordsASharedList(t *testing.T) {
	both(t, func(m *machine) { m.records("shared", "CLAUDE_CODE_TASK_LIST_ID=shared") })
}

func (m *machine) records(list string, env ...string) {
	m.used()
	agent := m.model.talk("Plan the work")
	end := m.headless(session, "Plan the work", env...)
	agent.use("TaskCreate", object{"subject": "Outline", "description": "one page"})
	agent.use("TaskCreate", object{"subject": "Chapters", "description": "ten"})
	agent.use("TaskCreate", object{"subject": "Mistake", "description": "none"})
	m.tasks(list)
	agent.use("TaskUpdate", object{"taskId": "2", "addBlockedBy": []string{"1"}})
	m.tasks(list)
	agent.use("TaskUpdate", object{"taskId": "1", "status": "in_progress", "owner": "coder"})
	m.tasks(list)
	agent.use("TaskUpdate", object{"taskId": "3", "status": "deleted"})
	m.tasks(list)
	agent.use("TaskUpdate", object{"taskId": "1", "status": "completed"})
	want(m, "cadre's list", m.tasks(list), "1 completed done Outline coder\n2 pending ready Chapters")
	want(m, "cadre's id after the client's", m.cadre("task", "add", "Index", "--scope", list), "4")
	want(m, "the client's id after cadre's", agent.use("TaskCreate", object{"subject": "Cover", "description": "blue"}), "Task #5 created successfully: Cover")
	agent.say("done")
	end()

	two := read[map[string]any](m, "claude", "tasks", list, "2.json")
	two["owner"] = "bob" // a program that tells nobody
	m.write(two, "claude", "tasks", list, "2.json")
	want(m, "the history", strings.Join(m.taskLog(list), "\n"), strings.Join([]string{
		"session: 1 subject=Outline status=pending",
		"session: 2 subject=Chapters status=pending",
		"session: 3 subject=Mistake status=pending",
		"session: 2 blockedBy=1",
		"session: 1 status=in_progress owner=coder",
		"session: 3 status=deleted",
		"session: 1 status=completed",
		"operator: 4 subject=Index status=pending",
		"session: 5 subject=Cover status=pending",
		"external: 2 owner=bob",
	}, "\n"))
	events := get[[]event](m, "log", "--limit", "0", "--scope", list)
	if slices.ContainsFunc(events, func(e event) bool { return e.Actor.Kind == "session" && e.Actor.Session != session }) {
		m.Errorf("a change has another session's name: %+v", events)
	}
	m.cadre("audit", "verify")
}
