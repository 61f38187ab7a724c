package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

type todo struct {
	Owner   string
	Warning string
	Todos   []struct{ Content, ActiveForm, Status string }
}

func (c caller) write(todos string) (todo, int) {
	c.t.Helper()
	out, _, code := c.try(todos, "todo", "write", "--json")
	var v todo
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		c.t.Fatalf("%v in %s", err, out)
	}
	return v, code
}

func TestGuideTodoWrite(t *testing.T) {
	m := newMachine(t)
	s := m.session(leadSession)
	v, code := s.write(`{"todos":[
		{"content":"Run tests","activeForm":"Running tests","status":"in_progress"},
		{"content":"Write docs","activeForm":"Writing docs","status":"pending"},
		{"content":"Read code","activeForm":"Reading code","status":"completed"}]}`)
	if code != 0 || v.Warning != "" || len(v.Todos) != 3 || v.Todos[0].ActiveForm != "Running tests" {
		t.Errorf("exit code %d, %+v", code, v)
	}
	want(t, "read again", len(get[todo](s, "todo", "show").Todos), 3)
	want(t, "another session's list", len(get[todo](m.session(workerSession), "todo", "show").Todos), 0)
	for name, bad := range map[string]string{
		"two in progress": `[{"content":"a","activeForm":"b","status":"in_progress"},{"content":"c","activeForm":"d","status":"in_progress"}]`,
		"no active form":  `[{"content":"a","status":"pending"}]`,
		"no content":      `[{"activeForm":"a","status":"pending"}]`,
		"unknown state":   `[{"content":"a","activeForm":"b","status":"blocked"}]`,
	} {
		if _, code := s.write(bad); code != usage {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
	if v, _ := s.write(`[{"content":"a","activeForm":"b","status":"pending"}]`); v.Warning == "" {
		t.Error("no warning although nothing is in progress")
	}
	if v, _ := s.write(`[{"content":"a","activeForm":"b","status":"completed"}]`); len(v.Todos) != 0 {
		t.Error("a finished list is not emptied")
	}
}

// TestGuideCompletionIsGated: "never completed while tests fail" is not left to
// good manners where a hook says so.
func TestGuideCompletionIsGated(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "Make the tests pass")
	dir := filepath.Join(lead.dir, "claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	hooks := `{"hooks":{"TaskCompleted":[{"hooks":[{"type":"command","command":"test -e ` + lead.dir + `/green || { echo two tests fail >&2; exit 2; }"}]}]}}`
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(hooks), 0o600); err != nil {
		t.Fatal(err)
	}
	worker.do("task", "start", "1")
	says(t, worker.no(blocked, "task", "done", "1"), "two tests fail")
	want(t, "the status", worker.show("1").Status, "in_progress")
	if err := os.WriteFile(filepath.Join(lead.dir, "green"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	worker.do("task", "done", "1")
}

func TestGuideCreateGetUpdateList(t *testing.T) {
	s := newMachine(t).session(leadSession)
	want(t, "create", s.do("task", "add", "Run tests", "-d", "all of them", "--active-form", "Running tests"), "1")
	s.do("task", "add", "Release")
	s.do("task", "update", "1", "--status", "in_progress", "--add-blocks", "2")
	s.do("task", "comment", "1", "half of them pass")
	got := s.show("1")
	want(t, "get", got.Subject+", "+got.Description+", "+got.ActiveForm+", "+got.Status, "Run tests, all of them, Running tests, in_progress")
	want(t, "comments and edges", fmt.Sprint(len(got.Comments), got.Blocks), "1 [2]")
	want(t, "list", subjects(s.list()), "1 Run tests, 2 Release")
	s.no(notFound, "task", "show", "3")
}

func TestGuideSchema(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "one", "-d", "all about it", "--owner", "analyst")
	lead.do("task", "add", "two", "--blocked-by", "1")
	worker.do("task", "update", "1", "--reference", "2")
	worker.do("task", "comment", "1", "beginning now")
	worker.do("task", "comment", "2", "will be next")
	one, two := lead.show("1"), lead.show("2")
	want(t, "references of 1", one.References, []string{"2"})
	want(t, "references of 2", two.References, []string{"1"})
	want(t, "blocks", one.Blocks, []string{"2"})
	want(t, "blockedBy", two.BlockedBy, []string{"1"})
	want(t, "owner", one.Owner, "analyst")
	want(t, "comments", one.Comments, []struct{ Author, Content string }{{"analyst", "beginning now"}})
}

func TestGuideOpenAndResolvedAreUnderstood(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "work")
	s.do("task", "update", "1", "--status", "resolved")
	want(t, "resolved", s.show("1").Status, "completed")
	s.do("task", "update", "1", "--status", "open")
	want(t, "open", s.show("1").Status, "pending")
}

func TestGuideWhoMayCreateAndUpdate(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.crew()
	second := m.session("33333333-cccc-4ccc-8ccc-333333333333")
	second.do("team", "join", "crew", "--name", "builder")
	for _, c := range []caller{m.operator("--scope", "crew"), lead, worker, second} {
		c.do("task", "add", "work")
	}
	worker.do("task", "claim", "1") // unowned: anyone's
	lead.do("task", "update", "4", "--owner", "builder")
	text := "--active-form"
	second.no(notAllowed, "task", "update", "1", text, "x") // another's
	second.no(notAllowed, "task", "done", "1")
	second.do("task", "update", "4", text, "x") // its own
	second.do("task", "update", "2", text, "x") // unowned
	lead.do("task", "update", "1", text, "y")   // the lead: any
	m.operator("--scope", "crew").do("task", "update", "4", text, "y")
	want(t, "who claims second loses", second.no(conflict, "task", "claim", "1") != "", true)
}

// TestGuideAVariableIsNoProof: a name in the environment says which list is meant,
// never who one is.
func TestGuideAVariableIsNoProof(t *testing.T) {
	m := newMachine(t)
	lead, _ := m.crew()
	lead.do("task", "add", "work")
	posing := m.session("44444444-dddd-4ddd-8ddd-444444444444",
		"CLAUDE_CODE_TEAM_NAME=crew", "CLAUDE_CODE_AGENT_ID=team-lead@crew", "CLAUDE_CODE_AGENT_TYPE=team-lead")
	want(t, "it may look", subjects(posing.list()), "1 work")
	posing.no(notAllowed, "task", "update", "1", "--subject", "mine")
	posing.no(notAllowed, "task", "list", "--as", "team-lead")
}

func TestGuideWorkflowExample(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.session(leadSession), m.session(workerSession)
	lead.do("team", "create", "crew")
	lead.do("task", "add", "Implement user authentication")
	lead.do("task", "add", "Write API tests", "--owner", "worker-1")
	lead.do("task", "add", "Ship it", "--blocked-by", "2")
	worker.do("team", "join", "crew", "--name", "worker-1")
	mail := worker.inbox()
	want(t, "the mail", kinds(mail), "task_assignment from team-lead")
	want(t, "the assigned task", worker.show(mail[0].Task).Subject, "Write API tests")
	worker.do("task", "update", "2", "--status", "in_progress")
	worker.do("task", "update", "2", "--status", "resolved")
	want(t, "unblocked now", subjects(get[[]task](lead, "task", "ready")), "1 Implement user authentication, 3 Ship it")
}

func TestGuideDependenciesFromEitherSide(t *testing.T) {
	s := newMachine(t).session(leadSession)
	for _, name := range []string{"one", "two", "three", "four"} {
		s.do("task", "add", name)
	}
	s.do("task", "update", "2", "--add-blocked-by", "1")
	s.do("task", "update", "3", "--add-blocks", "4")
	want(t, "1 blocks", s.show("1").Blocks, []string{"2"})
	want(t, "4 is blocked by", s.show("4").BlockedBy, []string{"3"})
	s.no(blocked, "task", "claim", "2")
	s.no(blocked, "task", "start", "2")
	s.no(blocked, "task", "done", "2")
	s.do("task", "done", "1")
	s.do("task", "start", "2")
}

func TestGuideFindingAvailableTasks(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "somebody else's", "--owner", "builder")
	lead.do("task", "add", "free")
	lead.do("task", "add", "blocked", "--blocked-by", "2")
	lead.do("task", "add", "mine", "--owner", "analyst")
	lead.do("task", "add", "finished")
	lead.do("task", "done", "5")
	lead.do("task", "add", "free too")
	want(t, "ready", subjects(get[[]task](worker, "task", "ready")), "4 mine, 2 free, 6 free too")
	for _, id := range []string{"4", "2", "3", "6"} {
		want(t, "next", get[task](worker, "task", "next", "--claim").ID, id)
		worker.do("task", "done", id)
	}
	says(t, worker.no(notFound, "task", "next"), "nothing is ready")
}

func TestGuideDuplicatesAreSaid(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "Write the docs")
	want(t, "similar", get[task](s, "task", "add", "write the  docs").Similar, []string{"1"})
	first := s.do("task", "add", "once", "--key", "k")
	want(t, "the same key again", s.do("task", "add", "once", "--key", "k"), first)
}

func TestGuideDoneSaysWhatIsFreeAndNext(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "first")
	lead.do("task", "add", "second", "--blocked-by", "1")
	worker.do("task", "start", "1")
	done := get[task](worker, "task", "done", "1")
	want(t, "freed", done.Freed, []string{"2"})
	want(t, "next", done.Next.ID, "2")
}

func TestGuideTeamsAreIsolated(t *testing.T) {
	m := newMachine(t)
	lead, other := m.session(leadSession), m.session(workerSession)
	lead.do("team", "create", "red")
	other.do("team", "create", "blue")
	want(t, "ids", lead.do("task", "add", "ours")+other.do("task", "add", "theirs"), "11")
	want(t, "red", subjects(lead.list()), "1 ours")
	want(t, "blue", subjects(other.list()), "1 theirs")
	other.no(notAllowed, "task", "done", "1", "--scope", "red")
	lead.no(notFound, "task", "block", "1", "--by", "2")
}
