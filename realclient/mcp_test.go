//go:build realclient

package realclient

import (
	"slices"
	"testing"
)

// TestClientLeadsThroughTools has a real session lead a team through Cadre's tools, as
// its own MCP client calls them: with a member that Cadre runs and a second real
// session, which takes part in the same way. The older client does not tell its
// servers which session they are for, so that it would be a guest.
func TestClientLeadsThroughTools(t *testing.T) {
	m := newMachine(t, november)
	const second = "22222222-bbbb-4bbb-8bbb-222222222222"
	m.cadre("install", "claude", "--write")
	tool := func(c *talk, name string, input object) string { return c.use("mcp__cadre__"+name, input) }
	lead, writer := m.model.talk("Lead the work"), m.model.talk("Join the team")
	ended := m.headless(session, "Lead the work")
	has(m, "the team", []string{tool(lead, "TeamCreate", object{"team_name": "docs"})}, "docs")
	tool(lead, "TaskCreate", object{"subject": "Count the pages", "run": "echo 42 pages"})
	tool(lead, "TaskCreate", object{"subject": "Write about them", "description": "one page", "blockedBy": []string{"1"}})
	tool(lead, "SpawnTeammate", object{"name": "robin"})
	has(m, "the count", []string{tool(lead, "ReadInbox", object{"wait": 30})}, "robin completed task 1")
	left := m.headless(second, "Join the team")
	has(m, "the member", []string{tool(writer, "TeamJoin", object{"team_name": "docs", "name": "writer"})}, "writer")
	has(m, "its task", []string{tool(writer, "TaskNext", object{})}, "Write about them")
	has(m, "what it builds on", []string{tool(writer, "TaskGet", object{"taskId": "1"})}, "42 pages")
	tool(writer, "SendMessage", object{"to": "team-lead", "message": "it is written", "summary": "done"})
	tool(writer, "TaskUpdate", object{"taskId": "2", "status": "completed", "result": "one page about 42"})
	writer.say("done")
	left()
	news := tool(lead, "Sync", object{})
	has(m, "the message", []string{news}, "it is written")
	has(m, "the tasks", []string{tool(lead, "TaskList", object{})}, "completed")
	tool(lead, "StopTeammate", object{"name": "robin"})
	lead.say("done")
	ended()
	want(m, "the list", m.tasks("docs"), "1 completed done Count the pages robin\n2 completed done Write about them writer")
	m.eventually("robin has left", func() bool { return slices.Contains(m.members("docs"), "robin departed") })
}
