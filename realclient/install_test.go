//go:build realclient

package realclient

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGeminiHasTheTools installs Cadre's tools in the real Gemini CLI, has it look
// whether the server answers, and has its model use them.
func TestGeminiHasTheTools(t *testing.T) {
	m := newMachine(t, november)
	m.write(object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}}, "general": object{"enableAutoUpdate": false},
		"privacy": object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
	}, "home", ".gemini", "settings.json")
	m.more = []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + m.model.url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
	gemini := m.tool("gemini", "0.61.0", m.annsToken())
	m.usesTools("gemini", func() {
		has(m, "its servers", []string{gemini("mcp", "list")()}, "✓ cadre: "+cadre+" mcp --tools team (stdio) - Connected")
	}, func() func() string {
		return gemini("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", "Take the work")
	}, func(c *talk, name string, input object) string { return c.use("mcp_cadre_"+name, input) })
	has(m, "its servers", []string{gemini("mcp", "list")()}, "No MCP servers configured")
}

// TestCodexHasTheTools is the same with the real Codex.
func TestCodexHasTheTools(t *testing.T) {
	m := newMachine(t, november)
	m.codexHome()
	codex := m.tool("codex", "0.166.0", m.annsToken())
	m.usesTools("codex", func() {
		has(m, "its servers", strings.Split(codex("mcp", "list")(), "\n"), "mcp --tools team")
	}, func() func() string {
		return codex("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Take the work")
	}, func(c *talk, name string, input object) string { return c.use("mcp__cadre/"+name, input) })
	has(m, "its servers", []string{codex("mcp", "list")()}, "No MCP servers configured")
}

// annsToken makes a team with a task and a member, and gives the member's token as a
// variable.
func (m *machine) annsToken() string {
	m.Helper()
	before := m.more
	defer func() { m.more = before }()
	m.more = append(slices.Clone(before), m.cadre("token", "create", "--role", "operator"))
	m.cadre("team", "create", "docs")
	m.cadre("task", "add", "Outline", "-d", "one page")
	m.cadre("team", "join", "docs", "--name", "ann", "--as", "ann")
	return m.cadre("token", "create", "--role", "member", "--name", "ann", "--team", "docs")
}

// usesTools installs Cadre in a program, starts it with ann's token, and plays its
// model, which takes a task and finishes it.
func (m *machine) usesTools(program string, installed func(), start func() func() string, use func(c *talk, tool string, input object) string) {
	m.Helper()
	m.cadre("install", program, "--write")
	installed()
	agent := m.model.talk("Take the work")
	end := start()
	has(m, "its task", []string{use(agent, "TaskNext", object{})}, "Outline")
	use(agent, "TaskUpdate", object{"taskId": "1", "status": "completed", "result": "it is in outline.md"})
	agent.say("done")
	end()
	done := get[struct {
		Status, Owner string
		Result        struct{ Summary string }
	}](m, "task", "show", "1")
	want(m, "the task", done.Status+" by "+done.Owner+": "+done.Result.Summary, "completed by ann: it is in outline.md")
	m.cadre("uninstall", program, "--write")
}

// tool gives a function that starts an installed program, which has to end well; what
// that gives waits for its end, and is what it printed.
func (m *machine) tool(name, version string, env ...string) func(args ...string) (end func() string) {
	m.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".tools", name, version, "node_modules", ".bin", name))
	if err != nil {
		m.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		m.Fatalf("%v: make test-realclient installs it", err)
	}
	return func(args ...string) func() string {
		m.Helper()
		return m.background(2*patience, append(m.environ(), env...), path, args...)
	}
}
