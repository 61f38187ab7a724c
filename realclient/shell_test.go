//go:build realclient

package realclient

import (
	"strings"
	"testing"
)

// TestShellOfClient runs cadre in the shell that a client gives its model. Cadre
// must know the session by it: it works on the session's own list, leads the team it
// makes, and cannot pose as the operator. The old client does not tell its shells
// which session they are in, so that they may only look.
func TestShellOfClient(t *testing.T) {
	both(t, func(m *machine) {
		agent := m.model.talk("Plan the work")
		end := m.headless(session, "Plan the work")
		shell := func(args string) string {
			return agent.use("Bash", object{"command": cadre + " " + args, "description": "run cadre"})
		}
		if m.version == february {
			has(m, "a change", []string{shell("task add Outline")}, "Exit code 6\ncadre: guest ")
			has(m, "posing as somebody", []string{shell("task add Cover --as ann")}, "Exit code 6\n")
			want(m, "a look", shell("task list --json"), "[]")
			agent.say("done")
			end()
			return
		}
		want(m, "the id", shell("task add Outline"), "1")
		want(m, "the client's own list", agent.use("TaskList", object{}), "#1 [pending] Outline")
		want(m, "the team", shell("team create docs"), "docs")
		want(m, "the id in the team", shell("task add Chapters"), "1")
		has(m, "posing as somebody", []string{shell("task add Cover --as ann")}, "Exit code 6\n")
		agent.say("done")
		end()
		want(m, "the session's list", m.tasks(session), "1 pending ready Outline")
		want(m, "the team's list", m.tasks("docs"), "1 pending ready Chapters")
		want(m, "the history", strings.Join(append(m.taskLog(session), m.taskLog("docs")...), "\n"),
			"session: 1 subject=Outline status=pending\nsession: 1 subject=Chapters status=pending")
	})
}
