package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// file is a path in the client's folder.
func (m *machine) file(path string) string {
	return filepath.Join(m.dir, "claude", filepath.FromSlash(path))
}

// read decodes a file of the client's folder.
func read[T any](m *machine, path string) (v T) {
	m.t.Helper()
	data, err := os.ReadFile(m.file(path))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		m.t.Fatalf("%s: %v", path, err)
	}
	return v
}

// put writes a file of the client's folder, as another program does.
func (m *machine) put(path, content string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.file(path)), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.file(path), []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) there(path string) bool {
	_, err := os.Lstat(m.file(path))
	return err == nil
}

type config struct {
	Name, Description, LeadAgentID, LeadSessionID string
	CreatedAt                                     int64
	Members                                       []struct {
		AgentID, Name, AgentType, Color, CWD string
		JoinedAt                             int64
	}
}

type entry struct {
	From, Text, Summary, Timestamp string
	Read                           bool
}

// TestFilesOfATeam: what creating a team and its tasks makes in the client's folder.
func TestFilesOfATeam(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	lead.do("team", "create", "crew", "--description", "writes the book")
	c := read[config](m, "teams/crew/config.json")
	want(t, "name and description", c.Name+", "+c.Description, "crew, writes the book")
	want(t, "the lead", c.LeadAgentID+" "+c.LeadSessionID, "team-lead@crew "+leadSession)
	want(t, "the members", len(c.Members), 1)
	want(t, "the lead joined", c.Members[0].JoinedAt, c.CreatedAt)
	want(t, "the inboxes", m.there("teams/crew/inboxes"), true)
	lead.do("task", "add", "Write", "-d", "the book")
	for _, file := range []string{"tasks/crew/1.json", "tasks/crew/.lock", "tasks/crew/.highwatermark"} {
		want(t, file, m.there(file), true)
	}
	got := read[task](m, "tasks/crew/1.json")
	want(t, "the task's file", got.ID+", "+got.Subject+", "+got.Description+", "+got.Status, "1, Write, the book, pending")
	m.session(workerSession).do("team", "join", "crew", "--name", "analyst")
	c = read[config](m, "teams/crew/config.json")
	want(t, "the second member", c.Members[1].AgentID+" "+c.Members[1].Color, "analyst@crew blue")
	lead.do("team", "delete", "--force")
	want(t, "what is left", m.there("teams/crew") || m.there("tasks/crew"), false)
}

// TestFilesWrittenDirectly: whoever writes the files takes part.
func TestFilesWrittenDirectly(t *testing.T) {
	m := newMachine(t)
	lead, _ := m.crew()
	lead.do("task", "add", "First")
	m.put("tasks/crew/7.json", `{"id":"7","subject":"Seventh","description":"by hand","status":"pending","blocks":[],"blockedBy":["1"]}`)
	got := lead.show("7")
	want(t, "the task", got.Subject+", "+got.Description+", "+got.State, "Seventh, by hand, blocked")
	want(t, "the other side of its edge", read[task](m, "tasks/crew/1.json").Blocks, []string{"7"})
	want(t, "the next id", lead.do("task", "add", "Eighth"), "8")
	data, err := os.ReadFile(m.file("tasks/crew/1.json"))
	if err != nil {
		t.Fatal(err)
	}
	m.put("tasks/crew/1.json", strings.Replace(string(data), `"pending"`, `"completed"`, 1))
	want(t, "what waited for it", lead.show("7").State, "ready")
	events := get[[]event](lead, "log")
	want(t, "who wrote it", events[len(events)-1].Actor.Kind, "external")
}

// TestFilesOfMail: messages are entries of inbox files, in both directions, and a
// held lock is waited for.
func TestFilesOfMail(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.crew()
	lead.do("msg", "send", "analyst", "begin please", "--summary", "begin")
	inbox := read[[]entry](m, "teams/crew/inboxes/analyst.json")
	want(t, "entries", len(inbox), 1)
	want(t, "the entry", inbox[0].From+", "+inbox[0].Text+", "+inbox[0].Summary, "team-lead, begin please, begin")
	want(t, "read", inbox[0].Read, false)
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", inbox[0].Timestamp); err != nil {
		t.Error(err)
	}
	worker.do("msg", "ack")
	want(t, "read after the ack", read[[]entry](m, "teams/crew/inboxes/analyst.json")[0].Read, true)

	m.put("teams/crew/inboxes/team-lead.json", `[{"from":"analyst","text":"done","timestamp":"2026-01-02T03:04:05.000Z","read":false}]`)
	mail := lead.inbox()
	want(t, "the lead's mail", mail[len(mail)-1].Text, "done")

	lock := m.file("teams/crew/inboxes/analyst.json.lock")
	if err := os.Mkdir(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		lead.command("msg", "send", "analyst", "and hurry").Run()
	}()
	time.Sleep(200 * time.Millisecond)
	want(t, "entries while somebody has the lock", len(read[[]entry](m, "teams/crew/inboxes/analyst.json")), 1)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	<-sent
	want(t, "entries after that", len(read[[]entry](m, "teams/crew/inboxes/analyst.json")), 2)
}

// TestFilesOfEachPhase: the files through the life of a team.
func TestFilesOfEachPhase(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.crew()
	want(t, "after creation", m.there("tasks/crew/1.json"), false)
	lead.do("task", "add", "First", "--owner", "analyst")
	lead.do("task", "add", "Second", "--blocked-by", "1")
	says(t, read[[]entry](m, "teams/crew/inboxes/analyst.json")[0].Text, `"type":"task_assignment"`, `"taskId":"1"`)
	worker.do("task", "start", "1")
	want(t, "during work", read[task](m, "tasks/crew/1.json").Status, "in_progress")
	worker.do("task", "done", "1")
	worker.do("msg", "send", "team-lead", "first is done")
	want(t, "after it", read[task](m, "tasks/crew/1.json").Status+" "+read[task](m, "tasks/crew/2.json").BlockedBy[0], "completed 1")
	inbox := read[[]entry](m, "teams/crew/inboxes/team-lead.json")
	want(t, "the lead reads", inbox[len(inbox)-1].Text, "first is done")
	worker.do("member", "leave")
	want(t, "members at the end", len(read[config](m, "teams/crew/config.json").Members), 1)
}

// TestFilesOfAClientsTeam: a team that a client made, with its lead's model.
func TestFilesOfAClientsTeam(t *testing.T) {
	m := newMachine(t)
	m.put("teams/crew/config.json", `{"name":"crew","createdAt":1700000000000,"leadAgentId":"team-lead@crew","leadSessionId":"`+leadSession+`",
		"members":[{"agentId":"team-lead@crew","name":"team-lead","agentType":"team-lead","model":"opus","joinedAt":1700000000000,"tmuxPaneId":"","cwd":"/project","subscriptions":[]}]}`)
	got := get[team](m.operator("--scope", "crew"), "team", "show")
	want(t, "the lead", got.Members[0].Name+" "+got.Members[0].Model+" "+got.Members[0].Session, "team-lead opus "+leadSession)
	want(t, "created", got.CreatedAt.UnixMilli(), int64(1700000000000))
}
