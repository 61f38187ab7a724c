//go:build realclient

package realclient

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemberOfClaude has Cadre run a member whose program is the real Claude Code: it
// types cadre in its shell, says what came of its task, goes on with its session, and
// answers its mail.
func TestMemberOfClaude(t *testing.T) {
	m := newMachine(t, november)
	m.more = append(m.clientEnviron()[len(m.environ()):], "PATH="+filepath.Dir(m.program())+":"+os.Getenv("PATH"))
	m.worksAsMember("claude", "bypassPermissions", func(ann *talk, command string) string {
		return ann.use("Bash", object{"command": command, "description": "run cadre"})
	})
}

// TestMemberOfCodex is the same with the real Codex. In a sandbox of its own it could
// not be known by its parents.
func TestMemberOfCodex(t *testing.T) {
	m := newMachine(t, november)
	program := m.codexHome()
	m.more = append(m.more, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	m.worksAsMember("codex", "danger-full-access", func(ann *talk, command string) string {
		return ann.use("exec_command", object{"cmd": filepath.Dir(cadre) + "/" + command}) // its shell is a login shell, with a path of its own
	})
}

// codexHome gives Codex settings in which it finds its model, and says where Codex is.
func (m *machine) codexHome() (program string) {
	m.Helper()
	program, err := filepath.Abs(filepath.Join("..", ".tools", "codex", "0.166.0", "node_modules", ".bin", "codex"))
	if err != nil {
		m.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		m.Fatalf("%v: make test-realclient installs it", err)
	}
	config := `model = "made-up"
model_provider = "test"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.test]
name = "test"
base_url = "` + m.model.url + `/v1"
wire_api = "responses"
env_key = "TEST_KEY"
`
	if err := os.Mkdir(m.path("codex"), 0o700); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(m.path("codex", "config.toml"), []byte(config), 0o600); err != nil {
		m.Fatal(err)
	}
	m.more = []string{"CODEX_HOME=" + m.path("codex"), "TEST_KEY=dummy"}
	return program
}

// worksAsMember spawns ann and plays her model.
func (m *machine) worksAsMember(backend, mode string, shell func(ann *talk, command string) string) {
	m.Helper()
	ann := m.model.talk("You are ann, a member of the team docs")
	m.cadre("team", "create", "docs")
	m.cadre("task", "add", "Outline", "-d", "one page")
	m.cadre("member", "spawn", "ann", "--backend", backend, "--mode", mode, "--prompt", "You write the manual.")
	m.Cleanup(func() { // a test that failed leaves no supervisor
		c := exec.Command(cadre, "team", "delete", "docs", "--force")
		c.Dir, c.Env = m.path("work"), m.environ()
		if out, err := c.CombinedOutput(); err != nil {
			m.Errorf("deleting the team: %v: %s", err, out)
		}
	})
	ann.need()
	for _, part := range []string{"You write the manual.", "Your task is task 1: Outline", "one page"} {
		has(m, "what it is told", []string{ann.ask.said.text()}, part)
	}
	has(m, "what its shell says", []string{shell(ann, "cadre task comment 1 'I am on it'")}, "● running  Outline  ann")
	ann.say("The outline is in outline.md.")
	m.cadre("task", "wait", "1", "--timeout", "60s")
	type task struct {
		Owner    string
		Attempts int
		Result   struct{ Summary string }
		Comments []struct{ Author, Content string }
	}
	done := get[task](m, "task", "show", "1")
	has(m, "the result", []string{done.Result.Summary}, "The outline is in outline.md.\n\n[")
	has(m, "its tokens", []string{done.Result.Summary}, " tokens in, ")
	want(m, "the comments", done.Comments, []struct{ Author, Content string }{{"ann", "I am on it"}})
	member := get[struct{ Session string }](m, "member", "show", "ann")
	if member.Session == "" {
		m.Error("its session is not known")
	}

	m.cadre("task", "add", "Chapters")
	ann.need()
	said := ann.ask.said.text()
	has(m, "what it is told next", []string{said}, "Your task is task 2: Chapters")
	if strings.Contains(said, "You write the manual.") {
		m.Errorf("it is told its prompt again: %s", said)
	}
	ann.say("Three chapters.")
	m.cadre("task", "wait", "2", "--timeout", "60s")
	want(m, "its session", get[struct{ Session string }](m, "member", "show", "ann"), member)

	m.cadre("msg", "send", "ann", "how is it going")
	ann.wait("> how is it going")
	ann.say("Very well.")
	m.eventually("the lead has an answer", func() bool {
		return strings.Contains(strings.Join(m.inbox("docs", "team-lead"), "\n"), "message from ann: Very well.")
	})
	m.cadre("member", "kill", "ann")
	m.cadre("audit", "verify")
}
