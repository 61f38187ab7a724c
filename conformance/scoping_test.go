package conformance

import (
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

func TestScopingRule1CreatingATeamSwitchesItsCreatorAtOnce(t *testing.T) {
	lead := newMachine(t).session(leadSession)
	lead.do("task", "add", "before the team")
	lead.do("team", "create", "crew")
	want(t, "members", len(get[[]member](lead, "member", "list")), 1)
	want(t, "the first id in the team", lead.do("task", "add", "in the team"), "1")
	want(t, "the team's list", subjects(lead.list("--scope", "crew")), "1 in the team")
	want(t, "the session's own list", subjects(lead.list("--scope", leadSession)), "1 before the team")
}

func TestScopingRule2WorkersSeeTheSameTasks(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	lead.do("team", "create", "crew")
	lead.do("task", "add", "first", "-d", "all about the first")
	lead.do("task", "add", "second", "-d", "all about the second")
	for name, worker := range map[string]caller{
		"by CLAUDE_CODE_TEAM_NAME": m.session(workerSession, "CLAUDE_CODE_TEAM_NAME=crew"),
		"by CADRE_SCOPE":           m.session(workerSession, "CADRE_SCOPE=crew"),
		"by --scope":               {m, m.session(workerSession).env, []string{"--scope", "crew"}},
	} {
		if got, all := worker.do("task", "list", "--json"), lead.do("task", "list", "--json"); got != all {
			t.Errorf("%s a worker sees\n%s\nthe lead\n%s", name, got, all)
		}
	}
	stranger := m.session(workerSession, "CLAUDE_CODE_TEAM_NAME=crew")
	says(t, stranger.no(notAllowed, "task", "add", "x"), "may only look", "cadre team join crew")
}

func TestScopingRule3WorkersTasksComeFromTheSameIDs(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "first")
	lead.do("task", "add", "second")
	want(t, "the worker's id", worker.do("task", "add", "third"), "3")
	for _, c := range []caller{lead, worker} {
		want(t, "the list", subjects(c.list()), "1 first, 2 second, 3 third")
	}
}

// A skill is a process that a worker starts: it has the worker's environment and
// nothing else to know its list from.
func TestScopingRule4ASkillInheritsTheWorkersList(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "Split the issue", "--owner", "analyst")
	worker.do("task", "start", "1")
	skill := exec.Command("sh", "-c", `sh -c '"$1" task add "Analyze scope"' skill "$1"`, "sh", cadre)
	skill.Dir, skill.Env = worker.dir, worker.environ()
	out, talk, code := worker.finish(skill, "")
	if code != 0 || out != "2\n" {
		t.Fatalf("the skill got %q, %q and exit code %d", out, talk, code)
	}
	for _, c := range []caller{lead, worker} {
		want(t, "the list", subjects(c.list()), "1 Split the issue, 2 Analyze scope")
	}
	want(t, "the skill's task is under", lead.show("2").Parent, "1")
}

func TestScopingRule5WithoutATeamASessionHasItsOwnList(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	want(t, "the id", lead.do("task", "add", "alone"), "1")
	want(t, "another session's list", len(m.session(workerSession).list()), 0)
	want(t, "lists, of which looking makes none", len(get[[]any](m.operator(), "team", "list", "--all")), 1)
	lead.do("team", "create", "crew")
	lead.do("task", "add", "in the team")
	lead.do("team", "delete")
	want(t, "the id after the team", lead.do("task", "add", "alone again"), "2")
	want(t, "the own list", subjects(lead.list("--scope", leadSession)), "1 alone, 2 alone again")
}

// TestScopingRule6RoutingIsNotTheEnvironment: an empty variable is not a set one,
// and what was created or joined counts for more than what a shell inherited.
func TestScopingRule6RoutingIsNotTheEnvironment(t *testing.T) {
	m := newMachine(t)
	empty := m.session(leadSession, "CLAUDE_CODE_TEAM_NAME=", "CADRE_SCOPE=")
	empty.do("team", "create", "crew")
	empty.do("task", "add", "in the team")
	other := m.session(leadSession, "CLAUDE_CODE_TEAM_NAME=elsewhere")
	want(t, "the list of the session that leads crew", subjects(other.list()), "1 in the team")
	worker := m.session(workerSession, "CLAUDE_CODE_TEAM_NAME=crew")
	want(t, "the list of a worker", subjects(worker.list()), "1 in the team")
}

// TestScopingAWorkerCannotOverwriteThePlan is the original root cause: a skill
// that renames the lead's task 1 and takes the plan for its own notes.
func TestScopingAWorkerCannotOverwriteThePlan(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "Split the issue", "-d", "the lead's words")
	lead.do("task", "add", "Create the pull request")
	worker.do("task", "start", "1")
	says(t, worker.no(notAllowed, "task", "update", "1", "--subject", "Analyze scope"), "team-lead")
	worker.no(notAllowed, "task", "update", "1", "-d", "the skill's words")
	worker.no(notAllowed, "task", "update", "2", "--subject", "Analyze scope")
	worker.no(notAllowed, "task", "rm", "2")
	worker.do("task", "update", "1", "--metadata", "phase=2", "--active-form", "Splitting")
	worker.do("task", "done", "1", "--result", "three parts")
	got := lead.show("1")
	want(t, "the lead's task", got.Subject+"; "+got.Description+"; "+got.Status+"; "+got.Result.Summary,
		"Split the issue; the lead's words; completed; three parts")
}

// TestScopingAWorkersOwnTasksStayApart is two namespaces without naming them.
func TestScopingAWorkersOwnTasksStayApart(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "Research")
	worker.do("task", "start", "1")
	note := get[task](worker, "task", "add", "Analyze scope")
	want(t, "the worker's task", note.Kind+" under "+note.Parent, "track under 1")
	want(t, "the lead's task", lead.show("1").Kind, "")
	plan := get[task](lead, "task", "add", "Plan")
	want(t, "what the lead adds", plan.Kind+plan.Parent, "")
}

func TestScopingNotFoundSaysWhichListWasSearched(t *testing.T) {
	lead, worker := newMachine(t).crew()
	for range 9 {
		lead.do("task", "add", "work")
	}
	text := worker.no(notFound, "task", "show", "9", "--scope", workerSession)
	says(t, text, "task 9", workerSession, "crew has one", "--scope crew")
	want(t, "in the team", worker.show("9").Subject, "work")
}

func TestScopingATaskIsKeptForANameThatHasNotJoined(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.session(leadSession), m.session(workerSession)
	lead.do("team", "create", "crew")
	lead.do("task", "add", "Research", "--owner", "analyst")
	lead.do("task", "add", "Plan")
	lead.do("task", "update", "2", "--owner", "analyst@crew")
	worker.do("team", "join", "crew", "--name", "analyst")
	want(t, "the mail on joining", kinds(worker.inbox()), "task_assignment from team-lead, task_assignment from team-lead")
	want(t, "what is next", get[task](worker, "task", "next", "--claim").ID, "1")
	want(t, "kept for the analyst", lead.show("2").Owner, "analyst")
}

func TestScopingMembersFirstThenTasks(t *testing.T) {
	lead, worker := newMachine(t).crew()
	want(t, "ready", get[member](lead, "member", "show", "analyst").State, "idle")
	lead.do("task", "add", "Research")
	want(t, "seen at once", subjects(worker.list()), "1 Research")
	lead.do("task", "update", "1", "--owner", "analyst")
	lead.do("msg", "send", "analyst", "please begin")
	want(t, "the mail", kinds(worker.inbox()), "task_assignment from team-lead, message from team-lead")
}

func TestScopingOptionAOnlyTheLeadCreates(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.session(leadSession), m.session(workerSession)
	lead.do("team", "create", "crew", "--lead-creates")
	worker.do("team", "join", "crew", "--name", "analyst")
	lead.do("task", "add", "Research", "--owner", "analyst")
	worker.no(notAllowed, "task", "add", "my own")
	worker.do("task", "start", "1")
	worker.do("task", "done", "1", "--result", "found it")
	want(t, "the result", lead.show("1").Result.Summary, "found it")
}

func TestScopingOptionBWorkersAndMailOnly(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("msg", "send", "analyst", "research this")
	worker.do("task", "add", "Research")
	worker.do("task", "start", "1")
	worker.do("task", "done", "1")
	worker.do("msg", "send", "team-lead", "done")
	want(t, "the lead's mail", kinds(lead.inbox()), "message from analyst")
}

func TestScopingManyCreateAtOnce(t *testing.T) {
	lead, worker := newMachine(t).crew()
	const each = 8
	ids := make([]string, 2*each)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i] = []caller{lead, worker}[i%2].do("task", "add", fmt.Sprint("task ", i)) })
	}
	all.Wait()
	tasks := lead.list()
	want(t, "tasks", len(tasks), len(ids))
	for i, id := range ids {
		if n := slices.IndexFunc(tasks, func(t task) bool { return t.ID == id }); n < 0 || tasks[n].Subject != fmt.Sprint("task ", i) {
			t.Errorf("task %d was told it is %s, which is not so in %s", i, id, subjects(tasks))
		}
	}
	want(t, "the last id", tasks[len(tasks)-1].ID, fmt.Sprint(len(ids)))
}

func TestScopingBothSidesUpdateOneTask(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "Research")
	worker.do("task", "update", "1", "--status", "in_progress", "--active-form", "Researching")
	lead.do("task", "update", "1", "--subject", "Research more")
	for _, c := range []caller{lead, worker} {
		got := c.show("1")
		want(t, "the task", got.Subject+", "+got.ActiveForm+", "+got.Status+", "+got.Owner, "Research more, Researching, in_progress, analyst")
	}
}

// TestScopingAWorkerOutlivesItsTeam: when the lead deletes the team, a worker that
// is still there falls back to its own list, and a folder to where it was before.
func TestScopingAWorkerOutlivesItsTeam(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.crew()
	m.operator().do("task", "add", "in no team")
	m.operator().do("team", "use", "crew")
	lead.do("team", "delete", "--force")
	want(t, "the worker's own list", len(worker.list()), 0)
	want(t, "the id", worker.do("task", "add", "on my own"), "1")
	want(t, "where it went", subjects(worker.list("--scope", workerSession)), "1 on my own")
	want(t, "the operator's list", subjects(m.operator().list()), "1 in no team")
	lead.do("team", "restore", "crew")
	want(t, "the operator's list after the restore", len(m.operator().list()), 0)
}
