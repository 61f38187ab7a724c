package conformance

import (
	"bytes"
	"regexp"
	"testing"
)

func TestLifeCycleTheLeadIsTheSoleMember(t *testing.T) {
	lead := newMachine(t).session(leadSession)
	made := get[team](lead, "team", "create", "my-team", "-d", "Working on feature X")
	want(t, "the team", made.Name+": "+made.Description, "my-team: Working on feature X")
	want(t, "members", len(made.Members), 1)
	first := made.Members[0]
	want(t, "the lead", first.AgentID+" "+first.Name+" "+first.AgentType+" "+first.Session, "team-lead@my-team team-lead team-lead "+leadSession)
	if !first.JoinedAt.Equal(made.CreatedAt) || first.CWD == "" {
		t.Errorf("the team was made at %v, its lead joined at %v in %q", made.CreatedAt, first.JoinedAt, first.CWD)
	}
	want(t, "the lead's mail", len(lead.inbox()), 0)
	want(t, "tasks", len(lead.list()), 0)
}

func TestLifeCycleTeamNames(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	want(t, "a chosen name", lead.do("team", "create", "docs-team"), "docs-team")
	made := m.operator().do("team", "create")
	if !regexp.MustCompile(`^[a-z]+-[a-z]+ing-[a-z]+$`).MatchString(made) {
		t.Errorf("the made-up name is %q", made)
	}
	says(t, lead.no(conflict, "team", "create", "docs-team"), "already exists", "cadre team join docs-team")
	says(t, lead.no(usage, "team", "create", "My Team"), "cadre team create my-team")
	lead.do("team", "delete", "docs-team")
	says(t, lead.no(conflict, "team", "create", "docs-team"), "archived", "cadre team restore docs-team", "cadre team create docs-team-2")
	lead.do("team", "restore", "docs-team")
	lead.do("team", "delete", "docs-team", "--purge")
	lead.do("team", "create", "docs-team")
}

func TestLifeCycleTaskSetup(t *testing.T) {
	lead, worker := newMachine(t).crew()
	for _, s := range []string{"one", "two", "three"} {
		lead.do("task", "add", s)
	}
	first := lead.show("1")
	want(t, "a new task", first.Status+" of "+first.Owner, "pending of ")
	lead.do("task", "update", "1", "--owner", "analyst")
	want(t, "the mail", kinds(worker.inbox()), "task_assignment from team-lead")
	lead.do("task", "update", "3", "--add-blocked-by", "1,2")
	worker.no(blocked, "task", "claim", "3")
	worker.do("task", "done", "1")
	worker.no(blocked, "task", "claim", "3")
	worker.do("task", "done", "2")
	worker.do("task", "claim", "3")
}

func TestLifeCycleJoining(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	lead.do("team", "create", "crew")
	lead.do("task", "add", "work")
	colors := ""
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		worker := m.session(id + "0000000-0000-4000-8000-000000000000")
		got := get[member](worker, "team", "join", "crew", "--name", "writer", "--model", "haiku", "--agent-type", "general-purpose")
		want(t, "the name", got.Name, []string{"writer", "writer-2", "writer-3", "writer-4", "writer-5"}[i])
		want(t, "the id", got.AgentID, got.Name+"@crew")
		want(t, "as it asked", got.Model+" "+got.AgentType, "haiku general-purpose")
		want(t, "mail", len(worker.inbox()), 0)
		colors += " " + got.Color
		want(t, "members", len(get[[]member](lead, "member", "list")), i+2)
	}
	want(t, "colours", colors, " blue green yellow purple orange")
	want(t, "tasks, none of which stands for a member", subjects(lead.list("--all")), "1 work")
}

func TestLifeCycleWorkLoop(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "one")
	lead.do("task", "add", "two", "--blocked-by", "1")
	want(t, "at first", get[member](lead, "member", "show", "analyst").State, "idle")
	for _, id := range []string{"1", "2"} {
		got := get[task](worker, "task", "next", "--claim")
		want(t, "taken", got.ID+" "+got.Status+" "+got.Owner, id+" in_progress analyst")
		want(t, "at work", get[member](lead, "member", "show", "analyst").State, "working")
		worker.do("task", "done", id)
		worker.do("msg", "send", "team-lead", "Task "+id+" complete.")
	}
	says(t, worker.no(notFound, "task", "next", "--claim"), "nothing is ready")
	want(t, "idle again", get[member](lead, "member", "show", "analyst").State, "idle")
	want(t, "the lead's mail", kinds(lead.inbox()), "message from analyst, message from analyst")
}

func TestLifeCycleIdleIsAStateAndNotAMessage(t *testing.T) {
	lead, worker := newMachine(t).crew()
	worker.do("member", "report", "waiting", "--evidence", "for the review")
	got := get[member](lead, "member", "show", "analyst")
	want(t, "reported", got.State+": "+got.Evidence, "waiting: for the review")
	worker.do("member", "report", "idle")
	want(t, "reported", get[member](lead, "member", "show", "analyst").State, "idle")
	want(t, "the lead's mail", len(lead.inbox()), 0)
}

func TestLifeCycleMailWakesAWaitingMember(t *testing.T) {
	lead, worker := newMachine(t).crew()
	wait := worker.command("msg", "wait", "--timeout", "30s", "--json")
	var out bytes.Buffer
	wait.Stdout = &out
	if err := wait.Start(); err != nil {
		t.Fatal(err)
	}
	lead.do("msg", "send", "analyst", "wake up")
	if err := wait.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	says(t, out.String(), "wake up")
	worker.do("msg", "ack")
	worker.no(timeout, "msg", "wait", "--timeout", "10ms")
}

func TestLifeCyclePlanMode(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.session(leadSession), m.session(workerSession)
	lead.do("team", "create", "crew")
	worker.do("team", "join", "crew", "--name", "planner", "--plan-mode-required")
	lead.do("task", "add", "work")
	says(t, worker.no(blocked, "task", "start", "1"), "plan")
	worker.do("ask", "for", "plan", "everything at once", "--task", "1")
	mail := lead.inbox()
	want(t, "the lead's mail", kinds(mail), "plan_approval_request from planner")
	worker.no(notAllowed, "ask", "approve", mail[0].Ask) // not its own
	lead.do("ask", "reject", mail[0].Ask, "too much at once")
	worker.no(blocked, "task", "start", "1")
	says(t, worker.inbox()[0].Text, "too much at once")
	lead.do("ask", "approve", worker.do("ask", "for", "plan", "one thing", "--task", "1", "-q"))
	want(t, "the worker's mail", kinds(worker.inbox()), "plan_approval_response from team-lead, plan_approval_response from team-lead")
	worker.do("task", "start", "1")
}

func TestLifeCycleMessages(t *testing.T) {
	m := newMachine(t)
	lead, one := m.crew()
	two := m.session("33333333-cccc-4ccc-8ccc-333333333333")
	two.do("team", "join", "crew", "--name", "writer-2")
	one.do("msg", "send", "team-lead", "Task complete. The file has been created.", "--summary", "file created")
	lead.do("msg", "send", "writer-2", "Please also add a header.")
	one.do("msg", "send", "writer-2@crew", "heads up")
	lead.do("msg", "broadcast", "stop all work")
	want(t, "to the lead", kinds(lead.inbox())+": "+lead.inbox()[0].Summary, "message from analyst: file created")
	want(t, "to writer-2", kinds(two.inbox()), "message from team-lead, message from analyst, broadcast from team-lead")
	want(t, "to the analyst", kinds(one.inbox()), "broadcast from team-lead")
	says(t, lead.no(notFound, "msg", "send", "writer-3", "x"), "writer-2")
	want(t, "order", two.inbox()[0].SentAt.Before(two.inbox()[2].SentAt), true)
}

func TestLifeCycleBroadcastsAreGuarded(t *testing.T) {
	lead, worker := newMachine(t).crew()
	for range 5 {
		lead.do("msg", "broadcast", "stop all work")
	}
	says(t, lead.no(blocked, "msg", "broadcast", "stop all work"), "the same text")
	lead.do("msg", "broadcast", "go on")
	want(t, "mail", len(worker.inbox()), 6)
}

func TestLifeCycleDeletingATeam(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.crew()
	lead.do("task", "add", "work")
	lead.do("msg", "send", "analyst", "begin")
	says(t, lead.no(blocked, "team", "delete"), "analyst")
	worker.do("member", "leave")
	lead.do("team", "delete")
	want(t, "the lead's list", len(lead.list()), 0)
	lead.no(notFound, "task", "add", "more", "--scope", "crew")
	says(t, lead.do("team", "list", "--all"), "crew", "archive")
	lead.do("team", "restore", "crew")
	want(t, "restored", subjects(lead.list()), "1 work")
	want(t, "mail restored", kinds(m.operator("--scope", "crew").inbox("analyst", "--all")), "message from team-lead")
	lead.do("team", "delete", "--purge")
	lead.no(notFound, "team", "restore", "crew")
	want(t, "nothing is left to list", len(get[[]any](lead, "team", "list", "--all")), 0)
}

func TestLifeCycleDeletingUnderALivingWorker(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "work")
	worker.do("task", "start", "1")
	lead.do("team", "delete", "--force")
	says(t, worker.no(notFound, "task", "done", "1", "--scope", "crew"), "archived")
	lead.do("team", "restore", "crew")
	want(t, "the task", lead.show("1").Subject, "work")
}

func TestLifeCycleTransitions(t *testing.T) {
	lead, worker := newMachine(t).crew()
	step := func(c caller, expected string, args ...string) {
		t.Helper()
		c.do(args...)
		got := lead.show("1")
		want(t, "the task", got.Status+" of "+got.Owner, expected)
	}
	step(lead, "pending of ", "task", "add", "work")
	step(lead, "pending of analyst", "task", "update", "1", "--owner", "analyst")
	step(worker, "in_progress of analyst", "task", "update", "1", "--status", "in_progress")
	step(worker, "completed of analyst", "task", "update", "1", "--status", "completed")
	step(lead, "deleted of analyst", "task", "update", "1", "--status", "deleted")
	step(lead, "completed of analyst", "task", "restore", "1")
}

func TestLifeCycleALeadReassigns(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.crew()
	second := m.session("33333333-cccc-4ccc-8ccc-333333333333")
	second.do("team", "join", "crew", "--name", "builder")
	lead.do("task", "add", "one")
	lead.do("task", "add", "two")
	worker.do("task", "start", "1")
	lead.do("task", "update", "1", "--owner", "builder")
	want(t, "the mail", kinds(second.inbox()), "task_assignment from team-lead")
	worker.no(notAllowed, "task", "done", "1")
	second.do("task", "done", "1")
	worker.do("task", "start", "2")
	worker.do("member", "leave")
	got := lead.show("2")
	want(t, "what a member leaves behind", got.Status+" of "+got.Owner, "pending of ")
	want(t, "the lead is told", kinds(lead.inbox()), "notice from cadre")
}

func TestLifeCycleStaleTeamsAreCollected(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	lead.do("team", "create", "crew")
	lead.no(notAllowed, "gc")
	person := m.operator()
	says(t, person.do("gc", "--older", "1ns"), "crew", "archive")
	want(t, "still there", len(get[[]any](person, "team", "list")), 1)
	person.do("gc", "--older", "1ns", "--apply")
	want(t, "collected", len(get[[]any](person, "team", "list")), 0)
	person.do("team", "restore", "crew")
	m.session(workerSession).no(blocked, "team", "take", "crew") // it has a lead
	person.do("team", "take", "crew", "--force")
	person.do("team", "label", "mine now")
}
