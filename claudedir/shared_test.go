package claudedir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cadre"
	"cadre/claudedir"
	"cadre/claudefile"
	"cadre/sqlitestore"
)

// newDisk is a world whose log stands on disk.
func newDisk(t *testing.T) *world {
	w := &world{T: t, dir: filepath.Join(t.TempDir(), "claude"), state: t.TempDir(), scope: list}
	w.openDisk()
	return w
}

// openDisk opens the state folder, as another process would.
func (w *world) openDisk() {
	w.Helper()
	inner, err := sqlitestore.Open(w.state, sqlitestore.Beside(filepath.Join(w.dir, "cadre")))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { inner.Close() })
	w.inner = inner
	w.open()
}

// process is another process on the same state and the same files.
func (w *world) process() *world {
	w.Helper()
	p := *w
	p.warns = nil
	p.openDisk()
	return &p
}

// A server that runs for long, and commands that come and go, on one scope: each
// sees what the other and a client wrote, warm or cold.
func TestAServerAndACommandOnOneScope(t *testing.T) {
	server := newDisk(t)
	server.must(&cadre.TeamCreate{Name: string(list)})
	server.clientJoins("pane")
	one := server.add("one")

	command := server.process()
	if got := command.task(one); got.Subject != "one" {
		t.Fatalf("a cold command sees %q", got.Subject)
	}
	two := command.add("two", one)
	if got := server.task(two); got.Subject != "two" || len(got.BlockedBy) != 1 {
		t.Fatalf("the warm server sees %+v", got)
	}
	server.edit(one, map[string]any{"owner": "pane", "status": "in_progress"})
	for name, w := range map[string]*world{"warm server": server, "warm command": command, "cold command": server.process()} {
		if got := w.task(one); got.Owner != "pane" || got.Status != cadre.InProgress {
			t.Errorf("after the client wrote, the %s sees %s of %q", name, got.Status, got.Owner)
		}
	}
	command.must(&cadre.MsgSend{To: "pane", Text: "from the command"})
	server.must(&cadre.MsgSend{To: "pane", Text: "from the server"})
	server.mails("pane", "team-lead", "from the client")
	for name, w := range map[string]*world{"server": server, "command": command, "cold command": server.process()} {
		if got := w.mail("team-lead"); len(got) != 1 || got[0].Text != "from the client" {
			t.Errorf("the %s sees the lead's mail as %+v", name, got)
		}
		if got := w.mail("pane"); len(got) != 2 || got[0].Text != "from the command" || got[1].Text != "from the server" {
			t.Errorf("the %s sees pane's mail as %+v", name, got)
		}
	}
	if got := server.inbox("pane"); len(got) != 2 {
		t.Errorf("the inbox has %+v", got)
	}
	command.must(&cadre.TaskDone{ID: one, Force: true})
	if got := server.task(two); got.State != cadre.TaskReadyState {
		t.Errorf("the server sees task two as %s", got.State)
	}
	for _, w := range []*world{server, command} {
		w.check()
	}
	external := 0
	for e, err := range server.inner.Events(t.Context(), list, cadre.Head{}, false) {
		if err != nil {
			t.Fatal(err)
		}
		if task, ok := e.After.(*cadre.Task); ok && e.Actor.Kind == cadre.ActorExternal && task.Owner == "pane" {
			external++
		}
	}
	if external != 1 {
		t.Errorf("three processes took the client's one write in %d times", external)
	}
}

// Many at once, each on its own opened store, with a client in between.
func TestManyProcessesAndAClient(t *testing.T) {
	w := newDisk(t)
	w.add("begin")
	const writers, each = 3, 8
	done := make(chan error)
	for n := range writers {
		p := w.process()
		go func() {
			var err error
			for i := range each {
				if _, e := p.do(&cadre.TaskAdd{Subject: fmt.Sprintf("writer %d task %d", n, i)}); e != nil {
					err = e
				}
			}
			done <- err
		}()
	}
	for range each {
		w.edit("1", map[string]any{"description": "the client is here"})
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := w.ids(); len(got) != 1+writers*each {
		t.Errorf("there are %d tasks", len(got))
	}
	if got := w.task("1"); got.Description != "the client is here" {
		t.Errorf("the client's words are lost: %q", got.Description)
	}
	w.check()
}

// The state folder is put back as it was yesterday; the client's files are today's.
func TestTheStateFolderOfYesterday(t *testing.T) {
	w := newDisk(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	one := w.add("one")
	w.must(&cadre.MsgSend{To: "pane", Text: "yesterday"})
	w.inner.Close()
	backup := t.TempDir()
	copyFolder(t, w.state, backup)

	w.openDisk()
	w.must(&cadre.TaskDone{ID: one})
	two := w.add("two")
	w.must(&cadre.MsgSend{To: "pane", Text: "today"})
	w.inner.Close()
	if err := os.RemoveAll(w.state); err != nil {
		t.Fatal(err)
	}
	copyFolder(t, backup, w.state)

	w.openDisk()
	w.warns = nil
	if got := w.task(one); got.Status != cadre.Completed {
		t.Errorf("what was done today is %s", got.Status)
	}
	if got := w.task(two); got.Subject != "two" {
		t.Errorf("today's task is %q", got.Subject)
	}
	if len(w.warns) != 1 || !strings.Contains(w.warns[0], "the log lost its events") {
		t.Errorf("the operator was told %q", w.warns)
	}
	w.warns = nil
	if three := w.add("three"); three != "3" {
		t.Errorf("the next task is %s: a number was given twice", three)
	}
	w.must(&cadre.MsgSend{To: "pane", Text: "after the restore"})
	var texts []string
	for _, e := range w.inbox("pane") {
		texts = append(texts, e.Text)
	}
	if !slices.Equal(texts, []string{"yesterday", "today", "after the restore"}) {
		t.Errorf("the inbox has %q", texts)
	}
	texts = nil
	for _, m := range w.mail("pane") {
		texts = append(texts, m.Text)
	}
	slices.Sort(texts)
	if !slices.Equal(texts, []string{"after the restore", "today", "yesterday"}) {
		t.Errorf("the log has %q", texts)
	}
	w.check()
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(to), os.DirFS(from)); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

// The newer client renames the list of a session when it begins to lead a team.
func TestTheListFolderIsRenamed(t *testing.T) {
	t.Run("seen by who lists all", func(t *testing.T) { renamed(t, (*world).takeInAll) })
	t.Run("seen by who uses the new name", func(t *testing.T) { renamed(t, func(*world) {}) })
}

func renamed(t *testing.T, look func(*world)) {
	const session, team = cadre.Scope("6f1c9d2e-1111-4222-8333-444455556666"), cadre.Scope("session-6f1c9d2e")
	w := newDisk(t)
	w.scope = session
	w.add("one")
	w.add("two", "1")
	w.must(&cadre.TaskComment{ID: "1", Text: "a note"})
	if err := os.Rename(w.path("tasks", string(session)), w.path("tasks", string(team))); err != nil {
		t.Fatal(err)
	}
	look(w)
	w.scope = team
	if got := w.ids(); !slices.Equal(got, []string{"1", "2"}) {
		t.Fatalf("the list is %v", got)
	}
	one := w.task("1")
	if len(one.Comments) != 1 || one.Author == "external" {
		t.Errorf("the history did not follow: %+v", one)
	}
	if !w.gone(w.path("tasks", string(session))) {
		t.Error("the old folder was made again")
	}
	w.write(w.path("tasks", string(team), "2.json"), strings.Replace(string(w.read(w.path("tasks", string(team), "2.json"))), "two", "second", 1))
	if got := w.task("2"); got.Subject != "second" {
		t.Errorf("after the move the client's write is not seen: %q", got.Subject)
	}
	if id := w.add("three"); id != "3" || w.gone(w.path("tasks", string(team), "3.json")) {
		t.Errorf("the next task is %s, or its file is not in the new folder", id)
	}
	for info, err := range w.store.Scopes(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Scope == session {
			t.Errorf("the old name is still there: %+v", info)
		}
	}
}

// A client spells a team's folder in two ways: its file and the lead's tasks are in
// one, its mail and a teammate's tasks in the other.
func TestATeamInTwoFolders(t *testing.T) {
	w := newWorld(t)
	w.scope = "my-team-x"
	c := &claudefile.Config{Name: "My_Team.X", CreatedAt: 1700000000000, LeadAgentID: "team-lead@My_Team.X", LeadSessionID: "s"}
	for _, name := range []string{"team-lead", "pane"} {
		c.Members = append(c.Members, claudefile.Member{AgentID: name + "@My_Team.X", Name: name, JoinedAt: c.CreatedAt})
	}
	w.write(w.path("teams", "my-team-x", "config.json"), string(c.Write(nil)))
	task := `{"id":"1","subject":"%s","description":"","status":"pending","blocks":[],"blockedBy":[]}`
	w.write(w.path("tasks", "my-team-x", "1.json"), fmt.Sprintf(task, "the lead's"))
	w.write(w.path("tasks", "My_Team-X", "1.json"), fmt.Sprintf(task, "the teammate's"))
	box := w.path("teams", "My_Team-X", "inboxes", "team-lead.json")
	w.write(box, string(claudefile.WriteInbox([]claudefile.Entry{{From: "pane", Text: "hello", Timestamp: "2026-01-02T03:04:05.000Z"}})))
	w.takeInAll()
	if got := w.mail("team-lead"); len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("the lead's mail is %+v", got)
	}
	if got := w.task("1"); got.Subject != "the lead's" {
		t.Errorf("the lead's task is %q", got.Subject)
	}
	w.must(&cadre.MsgSend{To: "pane", Text: "to where the client looks"})
	data := w.read(w.path("teams", "My_Team-X", "inboxes", "pane.json"))
	if !strings.Contains(string(data), "to where the client looks") {
		t.Errorf("the client would not see the mail: %s", data)
	}
	w.scope = "My_Team-X"
	if got := w.task("1"); got.Subject != "the teammate's" {
		t.Errorf("the teammate's task is %q", got.Subject)
	}
	var mails int
	for e, err := range w.inner.Events(t.Context(), "My_Team-X", cadre.Head{}, false) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Object.Kind == cadre.KindMessage {
			mails++
		}
	}
	if mails != 0 {
		t.Errorf("the team's mail was taken in a second time")
	}
	if !w.gone(w.path("teams", "My_Team-X", "config.json")) {
		t.Error("the second folder was made a team")
	}
}

// An older client gives up at once where a lock is held. It is known by its lead's
// entry, and as long as it writes, locks are held for a tenth of the time at most.
func TestAnOlderClientIsKnown(t *testing.T) {
	w := newWorld(t)
	oldAt := func() bool {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(w.state, "*"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("what is remembered is in %v: %v", paths, err)
		}
		return claudedir.SawOldClient(t, paths[0], list)
	}
	w.clientTeam()
	if !oldAt() {
		t.Error("the older client was not noticed")
	}
	w.editConfig(func(c *claudefile.Config) { c.LeadProcess = []byte(`{"pid":1}`) })
	w.must(&cadre.TeamShow{})
	if oldAt() {
		t.Error("a newer client leads now, and the older one is still minded")
	}

	w = newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	w.must(&cadre.TeamShow{})
	if oldAt() {
		t.Error("a team of ours was taken for an older client's")
	}
}

// The log is lost, or put back from before a list was in it, and what is remembered
// of the files is not: the files are all that there is, and stay.
func TestALostLogCostsNoFile(t *testing.T) {
	w := newDisk(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.add("one")
	w.write(w.path("tasks", "theirs", "1.json"), `{"id":"1","subject":"the client's","description":"","status":"pending","blocks":[],"blockedBy":[]}`)
	scopes(w)
	w.inner.Close()
	logs, err := filepath.Glob(filepath.Join(w.state, "cadre.db*"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	for _, path := range logs {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	w.openDisk()
	if got := scopes(w); got != "docs live, theirs live" {
		t.Errorf("after the log was lost there are: %s", got)
	}
	for _, path := range []string{w.taskPath("1"), w.configPath(), w.path("tasks", "theirs", "1.json")} {
		if w.gone(path) {
			t.Errorf("%s is gone", path)
		}
	}
	if got := w.task("1"); got.Subject != "one" {
		t.Errorf("task 1 is %q", got.Subject)
	}
	for _, list := range []string{"docs", "theirs"} {
		if !slices.ContainsFunc(w.warns, func(s string) bool { return strings.HasPrefix(s, list+": the log lost its events 1 to ") }) {
			t.Errorf("nobody is told that the log of %s is gone: %q", list, w.warns)
		}
	}
	w.warns = nil
	w.check()
}

// scopes lists what there is, and where.
func scopes(w *world) string {
	w.Helper()
	var out []string
	for info, err := range w.store.Scopes(context.Background()) {
		if err != nil {
			w.Fatal(err)
		}
		if info.Scope != cadre.Host {
			out = append(out, fmt.Sprintf("%s %s", info.Scope, info.Where))
		}
	}
	return strings.Join(out, ", ")
}

// What another process takes in while somebody looks is shown to them as well,
// though they find nothing new in the files; what other commands do meanwhile makes
// nobody look again.
func TestALookThatAnotherTakesInDuring(t *testing.T) {
	w := newDisk(t) // whose readers keep nobody from writing
	w.add("one")
	w.add("two")
	mine, other := w.store, w.open()
	looked := 0
	subject := ""
	look := func(meanwhile func()) func(cadre.Snap) error {
		looked = 0
		return func(s cadre.Snap) error {
			task, err := s.Task("1")
			if err != nil {
				return err
			}
			subject = task.Subject
			if looked++; looked == 1 {
				meanwhile()
			}
			return nil
		}
	}
	err := mine.View(t.Context(), list, look(func() {
		w.edit("1", map[string]any{"subject": "theirs"})
		if err := other.Refresh(t.Context(), list); err != nil {
			t.Error(err)
		}
	}))
	if err != nil || looked != 2 || subject != "theirs" {
		t.Errorf("%d looks, the last one saw %q, %v", looked, subject, err)
	}
	err = mine.View(t.Context(), list, look(func() { w.add("three") }))
	if err != nil || looked != 1 {
		t.Errorf("%d looks while another command ran, %v", looked, err)
	}
	w.check()
}
