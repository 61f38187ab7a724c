//go:build realclient

package realclient

import (
	"os"
	"strings"
	"testing"
)

// spawn is the tool and the input that start a teammate inside the session.
func (m *machine) spawn(name, prompt string) (tool string, input object) {
	input = object{"description": "start " + name, "prompt": prompt, "subagent_type": "general-purpose", "name": name}
	if m.version == february {
		return "Task", input
	}
	return "Agent", input
}

// teams are all that cadre knows of, archived ones too.
func (m *machine) teams() []string {
	m.Helper()
	var out []string
	for _, l := range get[[]struct{ Scope, Where string }](m, "team", "list", "--all") {
		out = append(out, l.Scope+" "+l.Where)
	}
	return out
}

// TestTeamOfRealLead has a session lead a team of its own, with a teammate inside
// it, and end it again. The client erases its files; cadre shows afterwards who did
// what.
func TestTeamOfRealLead(t *testing.T) {
	both(t, func(m *machine) {
		m.used()
		lead, worker := m.model.talk("Lead the team"), m.model.talk("You are worker.")
		team, end := m.lead(lead)
		lead.use("TaskCreate", object{"subject": "Outline", "description": "one page"})
		lead.use("TaskCreate", object{"subject": "Chapters", "description": "ten"})
		lead.use("TaskUpdate", object{"taskId": "2", "addBlockedBy": []string{"1"}})
		has(m, "the members at first", m.members(team), "team-lead ")
		want(m, "cadre's list at first", m.tasks(team), "1 pending ready Outline\n2 pending blocked Chapters")

		lead.use(m.spawn("worker", "You are worker."))
		worker.use("TaskUpdate", object{"taskId": "1", "status": "in_progress"})
		has(m, "the members", m.members(team), "worker ")
		want(m, "cadre's list", m.tasks(team), "1 in_progress running Outline worker\n2 pending blocked Chapters")
		worker.use("TaskUpdate", object{"taskId": "1", "status": "completed"})
		worker.use("SendMessage", m.mail("team-lead", "the outline is there"))
		want(m, "cadre's list when it is done", m.tasks(team), "1 completed done Outline worker\n2 pending ready Chapters")
		has(m, "the lead's mail", m.inbox(team, "team-lead"), "message from worker: the outline is there")
		worker.say("done")

		if m.version == february {
			lead.use("SendMessage", object{"type": "broadcast", "content": "thanks to all", "summary": "thanks to all"})
		} else {
			lead.use("SendMessage", m.mail("worker", "thanks to all"))
		}
		m.cadre("team", "list")
		worker.wait("thanks to all")
		worker.say("You are welcome.")
		has(m, "the worker's mail", m.inbox(team, "worker"), " from team-lead: thanks to all")

		lead.use("SendMessage", m.stop("worker", "all is done"))
		worker.call("SendMessage", m.agree(worker.wait("shutdown_request")))
		lead.say("I wait for the worker.")
		end()

		if _, err := os.Stat(m.path("claude", "teams", team)); err == nil {
			m.Errorf("the client did not erase its team, so that this shows less than it says")
		}
		has(m, "the teams that cadre knows of", m.teams(), team+" archive")
		m.cadre("team", "restore", team)
		want(m, "the list of the erased team", m.tasks(team), "1 completed done Outline worker\n2 pending ready Chapters")
		want(m, "the history", strings.Join(m.taskLog(team), "\n"), strings.Join([]string{
			"team-lead: 1 subject=Outline status=pending",
			"team-lead: 2 subject=Chapters status=pending blockedBy=1",
			"worker: 1 status=in_progress owner=worker",
			"worker: 1 status=completed",
		}, "\n"))
		has(m, "the mail of the erased team", m.inbox(team, "team-lead"), "message from worker: the outline is there")
		m.cadre("audit", "verify")
	})
}

// TestCadreJoinsTeamOfRealLead has somebody who works through cadre join a team
// that a session in a terminal leads: mail goes both ways, and tasks are shared.
func TestCadreJoinsTeamOfRealLead(t *testing.T) {
	both(t, func(m *machine) {
		m.used()
		lead, worker := m.model.talk("Lead the team"), m.model.talk("You are worker.")
		m.interactive("--session-id", session, "Lead the team")
		team := "docs"
		if m.version == february {
			lead.use("TeamCreate", object{"team_name": team, "description": "the new manual"})
		} else {
			team = m.ownList()
			lead.use(m.spawn("worker", "You are worker.")) // this client reads its mail only while it has a teammate of its own
			worker.say("I am here.")
			worker.leave()
		}
		lead.use("TaskCreate", object{"subject": "Outline", "description": "one page"})
		m.cadre("team", "join", team, "--name", "ann")
		want(m, "the task that ann takes", m.cadre("task", "next", "--claim", "--quiet", "--scope", team, "--as", "ann"), "1")
		want(m, "the client's list", lead.use("TaskList", object{}), "#1 [in_progress] Outline (ann)")
		lead.use("SendMessage", m.mail("ann", "how is it going"))
		has(m, "ann's mail", m.inbox(team, "ann"), "message from team-lead: how is it going")
		lead.say("I wait for ann.")
		m.cadre("task", "done", "1", "--result", "see outline.md", "--scope", team, "--as", "ann")
		m.cadre("msg", "send", "team-lead", "the outline is there", "--scope", team, "--as", "ann")
		has(m, "what the lead is told", []string{lead.wait("the outline is there")}, `teammate_id="ann"`)
		want(m, "the client's list in the end", lead.use("TaskList", object{}), "#1 [completed] Outline (ann)")
		has(m, "the members", m.members(team), "ann ")
		lead.say("Thank you.")
		m.cadre("audit", "verify")
	})
}

// TestLastChangeOfSession has a session change a task and end before cadre looks
// again. The client erases its team; the change must not go with it.
func TestLastChangeOfSession(t *testing.T) {
	m := newMachine(t, november)
	m.used()
	lead := m.model.talk("Lead the team")
	c := m.interactive("--session-id", session, "Lead the team")
	lead.use("TaskCreate", object{"subject": "Outline", "description": "one page"})
	want(m, "cadre's list", m.tasks(m.ownList()), "1 pending ready Outline")
	lead.use("TaskUpdate", object{"taskId": "1", "subject": "Outline and index"})
	lead.say("done")
	c.typed("/exit")
	c.ended()
	has(m, "the teams that cadre knows of", m.teams(), m.ownList()+" archive")
	m.cadre("team", "restore", m.ownList())
	want(m, "cadre's list afterwards", m.tasks(m.ownList()), "1 pending ready Outline and index")
}

// lead starts a session that leads a team, and gives the team's name and what ends
// session and team.
func (m *machine) lead(lead *talk) (team string, end func()) {
	m.Helper()
	if m.version == february {
		ended := m.headless(session, "Lead the team")
		lead.use("TeamCreate", object{"team_name": "docs", "description": "the new manual"})
		return "docs", func() {
			m.Helper()
			lead.wait("shutdown_approved")
			has(m, "the members when one left", m.members("docs"), "worker departed")
			has(m, "the end of the team", []string{lead.use("TeamDelete", object{})}, `"success": true`)
			lead.say("done")
			ended()
		}
	}
	c := m.interactive("--session-id", session, "Lead the team")
	lead.need()
	team = m.ownList()
	return team, func() {
		m.Helper()
		lead.leave()
		m.eventually("the client's team is without the worker", func() bool {
			text, _ := os.ReadFile(m.path("claude", "teams", team, "config.json"))
			return len(text) > 0 && !strings.Contains(string(text), `"worker"`)
		})
		has(m, "the members when one left", m.members(team), "worker departed")
		c.typed("/exit")
		c.ended()
	}
}
