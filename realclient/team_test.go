//go:build realclient

package realclient

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

type message struct {
	From, To, Kind, Text, Summary, State string
}

// inbox is all the mail of a member in lines.
func (m *machine) inbox(team, name string) []string {
	m.Helper()
	var out []string
	for _, l := range get[[]message](m, "msg", "inbox", name, "--all", "--scope", team) {
		out = append(out, fmt.Sprintf("%s from %s: %s", l.Kind, l.From, l.Summary))
	}
	return out
}

// members are those of a team in lines: name and state.
func (m *machine) members(team string) []string {
	m.Helper()
	var out []string
	for _, l := range get[[]struct{ Name, State string }](m, "member", "list", "--all", "--scope", team) {
		out = append(out, l.Name+" "+l.State)
	}
	return out
}

// mail is the input of SendMessage for a plain message.
func (m *machine) mail(to, text string) object {
	if m.version == february {
		return object{"type": "message", "recipient": to, "content": text, "summary": text}
	}
	return object{"to": to, "message": text, "summary": text}
}

// stop is the input of SendMessage that asks a teammate to end.
func (m *machine) stop(name, reason string) object {
	if m.version == february {
		return object{"type": "shutdown_request", "recipient": name, "content": reason}
	}
	return object{"to": name, "message": object{"type": "shutdown_request", "reason": reason}}
}

var requestID = regexp.MustCompile(`requestId\W+([\w@-]+)`)

// agree is the input of SendMessage that says yes to the shutdown request in a text.
func (m *machine) agree(said string) object {
	m.Helper()
	id := requestID.FindStringSubmatch(said)
	if id == nil {
		m.Fatalf("no request in %q", said)
	}
	if m.version == february {
		return object{"type": "shutdown_response", "request_id": id[1], "approve": true}
	}
	return object{"to": "team-lead", "message": object{"type": "shutdown_response", "request_id": id[1], "approve": true}}
}

// has fails the test unless one of the lines holds a text.
func has(m *machine, what string, lines []string, text string) {
	m.Helper()
	if !strings.Contains(strings.Join(lines, "\n"), text) {
		m.Errorf("%s: no %q in\n%s", what, text, strings.Join(lines, "\n"))
	}
}

// TestClientIsMemberOfCadresTeam starts a client the way a lead of its own kind
// would, in a team that cadre made. It gets its task and its mail, does the one and
// answers the other, and ends when cadre asks it to.
func TestClientIsMemberOfCadresTeam(t *testing.T) {
	both(t, func(m *machine) {
		m.cadre("team", "create", "docs", "-d", "the new manual")
		m.cadre("team", "join", "docs", "--name", "coder")
		m.cadre("team", "join", "docs", "--name", "ann")
		m.cadre("task", "add", "Outline", "-d", "one page", "--owner", "coder")
		m.cadre("task", "add", "Chapters", "-d", "ten", "--blocked-by", "1", "--owner", "ann")
		m.cadre("msg", "send", "coder", "You are coder. Do your task.")

		coder := m.model.talk("You are coder.")
		c := m.interactive("--session-id", session, "--agent-id", "coder@docs", "--agent-name", "coder", "--team-name", "docs")
		said := coder.wait("You are coder. Do your task.")
		has(m, "what the client is told", []string{said}, `<teammate-message teammate_id="team-lead"`)
		has(m, "what the client is told", []string{said}, `"task_assignment"`)
		want(m, "the client's list", coder.use("TaskList", object{}), "#1 [pending] Outline (coder)\n#2 [pending] Chapters (ann) [blocked by #1]")
		coder.use("TaskUpdate", object{"taskId": "1", "status": "in_progress"})
		want(m, "cadre's list", m.tasks("docs"), "1 in_progress running Outline coder\n2 pending blocked Chapters ann")
		has(m, "the members while one works", m.members("docs"), "coder working")
		coder.use("TaskUpdate", object{"taskId": "1", "status": "completed"})
		coder.use("SendMessage", m.mail("ann", "the outline is there"))
		want(m, "cadre's list when it is done", m.tasks("docs"), "1 completed done Outline coder\n2 pending ready Chapters ann")
		has(m, "ann's mail", m.inbox("docs", "ann"), "message from coder: the outline is there")
		coder.say("My task is done.")

		m.cadre("msg", "send", "coder", "One more thing: thank you.", "--as", "ann")
		said = coder.wait("One more thing: thank you.")
		has(m, "what the client is told", []string{said}, `<teammate-message teammate_id="ann"`)
		coder.use("SendMessage", m.mail("team-lead", "all is well"))
		coder.say("You are welcome.")
		has(m, "the lead's mail", m.inbox("docs", "team-lead"), "message from coder: all is well")
		m.eventually("the member is idle for cadre", func() bool { return strings.Contains(strings.Join(m.members("docs"), "\n"), "coder idle") })

		m.cadre("member", "stop", "coder", "--reason", "all is done")
		coder.call("SendMessage", m.agree(coder.wait("shutdown_request")))
		c.ended()
		has(m, "the members", m.members("docs"), "coder departed")
		asks, _ := json.Marshal(get[[]struct{ Kind, Member, State string }](m, "ask", "list", "--all"))
		want(m, "the handshake", string(asks), `[{"Kind":"shutdown","Member":"coder","State":"approved"}]`)
		want(m, "the history", strings.Join(m.taskLog("docs"), "\n"), strings.Join([]string{
			"operator: 1 subject=Outline status=pending owner=coder",
			"operator: 2 subject=Chapters status=pending owner=ann blockedBy=1",
			"coder: 1 status=in_progress",
			"coder: 1 status=completed",
		}, "\n"))
		m.cadre("team", "delete", "docs")
		m.cadre("audit", "verify")
	})
}
