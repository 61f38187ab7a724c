//go:build realclient

package realclient

import (
	"strings"
	"testing"
)

const session = "11111111-aaaa-4aaa-8aaa-111111111111"

// ownList is where a session in a terminal keeps its tasks.
func (m *machine) ownList() string {
	if m.version == february {
		return session
	}
	return "session-" + session[:8]
}

// file is a task as the client keeps it.
type file struct {
	ID, Subject, Description, Owner, Status string
	Blocks, BlockedBy                       []string
}

// TestClientAlone shows that a session without a terminal works with tasks as this
// package takes it to: with the tools it has, into the files it writes.
func TestClientAlone(t *testing.T) {
	both(t, func(m *machine) {
		lead := m.model.talk("Plan the work")
		end := m.headless(session, "Plan the work")
		want(m, "the tool's answer", lead.use("TaskCreate", object{"subject": "Outline", "description": "one page"}), "Task #1 created successfully: Outline")
		lead.use("TaskCreate", object{"subject": "Chapters", "description": "ten"})
		lead.use("TaskUpdate", object{"taskId": "2", "addBlockedBy": []string{"1"}, "owner": "ann"})
		want(m, "the list", lead.use("TaskList", object{}), "#1 [pending] Outline\n#2 [pending] Chapters (ann) [blocked by #1]")
		lead.say("done")
		end()
		want(m, "the file", read[file](m, "claude", "tasks", session, "2.json"),
			file{ID: "2", Subject: "Chapters", Description: "ten", Owner: "ann", Status: "pending", Blocks: []string{}, BlockedBy: []string{"1"}})
	})
}

// TestClientInTerminal shows the same for a session that a person works in.
func TestClientInTerminal(t *testing.T) {
	both(t, func(m *machine) {
		lead := m.model.talk("Plan the work")
		c := m.interactive("--session-id", session, "Plan the work")
		lead.use("TaskCreate", object{"subject": "Outline", "description": "one page"})
		want(m, "the file", read[file](m, "claude", "tasks", m.ownList(), "1.json").Subject, "Outline")
		lead.say("This is on the screen.")
		m.eventually("the answer is on the screen", func() bool { return strings.Contains(c.screen(), "This is on the screen.") })
		c.typed("/exit")
		c.ended()
	})
}
