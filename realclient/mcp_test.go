//go:build realclient

package realclient

import (
	"strings"
	"testing"
)

// TestClientLeadsThroughTools has a real session lead a team through Cadre's tools, as
// its own MCP client calls them: with a member that Cadre runs and a second real
// session, which takes part in the same way.
func TestClientLeadsThroughTools(t *testing.T) {
	m := newMachine(t, november)
	m.cadre("install", "claude", "--write")
	config := read[object](m, "claude", ".claude.json")
	t.Log(config["mcpServers"])
	lead := m.model.talk("Lead the work")
	end := m.headless(session, "Lead the work")
	tool := func(c *talk, name string, input object) string { return c.use("mcp__cadre__"+name, input) }
	t.Log(tool(lead, "TeamCreate", object{"team_name": "docs"}))
	t.Log(tool(lead, "TaskCreate", object{"subject": "Outline", "description": "one page"}))
	t.Log(tool(lead, "TeamStatus", object{}))
	lead.say("done")
	end()
	t.Log(m.tasks("docs"))
	t.Log(strings.Join(m.taskLog("docs"), "\n"))
}
