package claudedir_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/coord"
)

// The histories of teams and mail.

func (w *world) configPath() string { return w.path("teams", string(list), "config.json") }

func (w *world) inboxPath(name string) string {
	return w.path("teams", string(list), "inboxes", name+".json")
}

// config is the team's file.
func (w *world) config() *claudefile.Config {
	w.Helper()
	c, err := claudefile.ReadConfig(w.read(w.configPath()))
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// inConfig says who is in the team's file.
func (w *world) inConfig() (names []string) {
	w.Helper()
	for _, m := range w.config().Members {
		names = append(names, m.Name)
	}
	return names
}

// editConfig changes the team's file in place, as a client does.
func (w *world) editConfig(change func(*claudefile.Config)) {
	w.Helper()
	c := w.config()
	change(c)
	w.write(w.configPath(), string(c.Write(w.read(w.configPath()))))
}

// clientJoins has a client put a member of its own into the team's file.
func (w *world) clientJoins(name string) {
	w.Helper()
	w.editConfig(func(c *claudefile.Config) {
		c.Members = append(c.Members, claudefile.Member{
			AgentID: name + "@" + c.Name, Name: name, Color: "blue", JoinedAt: time.Now().UnixMilli(), TmuxPaneID: "%1", CWD: "/project", BackendType: "tmux",
		})
	})
}

// clientDrops has a client take a member out of it.
func (w *world) clientDrops(name string) {
	w.Helper()
	w.editConfig(func(c *claudefile.Config) {
		c.Members = slices.DeleteFunc(c.Members, func(m claudefile.Member) bool { return m.Name == name })
	})
}

// inbox is what stands in an inbox.
func (w *world) inbox(name string) []claudefile.Entry {
	w.Helper()
	entries, err := claudefile.ReadInbox(w.read(w.inboxPath(name)))
	if err != nil {
		w.Fatal(err)
	}
	return entries
}

// mails has a client append an entry to an inbox.
func (w *world) mails(from, to, text string) {
	w.Helper()
	var entries []claudefile.Entry
	if !w.gone(w.inboxPath(to)) {
		entries = w.inbox(to)
	}
	entries = append(entries, claudefile.Entry{From: from, Text: text, Timestamp: claudefile.Timestamp(time.Now())})
	w.write(w.inboxPath(to), string(claudefile.WriteInbox(entries)))
	w.age(w.inboxPath(to))
}

// age lets a file look as if it had been written a while ago, so that nothing looks
// at it twice.
func (w *world) age(path string) {
	w.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		w.Fatal(err)
	}
}

// mail is what a member's inbox holds in the log.
func (w *world) mail(name string) []*cadre.MessageView {
	w.Helper()
	return w.must(&cadre.MsgInbox{Name: name, All: true}).([]*cadre.MessageView)
}

// asks are the open asks.
func (w *world) asks() []*cadre.Ask {
	w.Helper()
	return w.must(&cadre.AskList{}).([]*cadre.Ask)
}

// ownMember puts a member into the log that runs as if Cadre had started it.
func (w *world) ownMember(name string) {
	w.Helper()
	m := &cadre.Member{Name: name, Role: cadre.RoleTeammate, Color: "blue", Backend: "command", State: cadre.StateWorking, N: 90, JoinedAt: w.now().Wall, Since: w.now().Wall}
	c := cadre.Command{ID: cadre.CommandID("join " + name), Actor: cadre.Self, Door: "test", Verb: "member spawn", Now: w.now()}
	if _, err := w.store.Update(context.Background(), list, c, func(cadre.Snap) ([]cadre.Event, error) { return []cadre.Event{{After: m}}, nil }); err != nil {
		w.Fatal(err)
	}
}

func (w *world) mustBeArchived() {
	w.Helper()
	for info, err := range w.inner.Scopes(context.Background()) {
		if err != nil || info.Scope == list && info.Where != cadre.Archive {
			w.Fatalf("%s is in %s: %v", info.Scope, info.Where, err)
		}
	}
	if _, err := w.do(&cadre.TaskAdd{Subject: "to nobody"}); !errors.Is(err, cadre.ErrNotFound) {
		w.Fatalf("something can be added to what is archived: %v", err)
	}
}

func TestTeamDeleteWhileOurMembersLive(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.ownMember("coder")
	w.add("one")
	for _, m := range w.config().Members {
		if m.Name == "coder" && (m.IsActive == nil || !*m.IsActive) {
			t.Error("a client's TeamDelete would not refuse: coder is not active in its file")
		}
	}
	if strings.Contains(string(w.read(w.configPath())), "worktreePath") {
		t.Error("the file names a folder that TeamDelete would remove by force")
	}
	// The folders vanish all the same, between a command's commit and its files.
	w.inner = &interrupted{Store: w.inner, before: func() {
		os.RemoveAll(w.path("teams", string(list)))
		os.RemoveAll(w.path("tasks", string(list)))
	}}
	w.open()
	id := w.add("two")
	w.inner = w.inner.(*interrupted).Store
	w.open()
	if got := w.task(id); got.Subject != "two" {
		t.Errorf("what was archived cannot be looked at: %q", got.Subject)
	}
	w.mustBeArchived()
	if !w.gone(w.path("teams", string(list))) || !w.gone(w.path("tasks", string(list))) {
		t.Error("the folders were made again")
	}
	asked := false
	for e, err := range w.inner.Events(t.Context(), list, cadre.Head{}, false) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := e.After.(*cadre.Ask); ok && a.Kind == cadre.AskShutdown && a.Member == "coder" && e.Actor.Kind == cadre.ActorExternal {
			asked = true
		}
	}
	if !asked {
		t.Error("nobody asked coder to shut down")
	}
	w.must(&coord.TeamRestore{Team: string(list)})
	if got := w.inConfig(); !slices.Equal(got, []string{"team-lead", "coder"}) {
		t.Errorf("after the restore the file has %v", got)
	}
	if got := w.ids(); len(got) != 2 || w.gone(w.taskPath("1")) || w.gone(w.taskPath("2")) {
		t.Errorf("after the restore there are %v", got)
	}
	w.check()
}

// TestTeamDeleteInTheMiddleOfOurWriting: the folders vanish after they were looked
// at and before they are written.
func TestTeamDeleteInTheMiddleOfOurWriting(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.must(&cadre.TeamJoin{Name: "bob"})
	id := w.add("one")
	w.inner = &interrupted{Store: w.inner, after: func() {
		os.RemoveAll(w.path("teams", string(list)))
		os.RemoveAll(w.path("tasks", string(list)))
	}}
	w.open()
	w.must(&cadre.TaskUpdate{ID: id, Owner: new("bob"), Subject: new("more")}) // a task, and mail
	w.inner = w.inner.(*interrupted).Store
	w.open()
	if _, err := w.do(&cadre.TeamShow{}); err != nil && !errors.Is(err, cadre.ErrNotFound) {
		t.Fatal(err)
	}
	w.mustBeArchived()
	for _, folder := range []string{"tasks", "teams"} {
		if !w.gone(w.path(folder, string(list))) {
			t.Errorf("the folder in %s was made again", folder)
		}
	}
	w.must(&coord.TeamRestore{Team: string(list)})
	if got := w.task(id); got.Status != cadre.Pending || got.Subject != "more" || w.gone(w.taskPath(id)) {
		t.Errorf("with the team task %s went: it is %s, %q", id, got.Status, got.Subject)
	}
	w.check()
}

func TestAClientDropsOurMember(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.ownMember("coder")
	for i := range 3 {
		w.clientDrops("coder")
		w.must(&cadre.TeamShow{})
		if !slices.Contains(w.inConfig(), "coder") {
			t.Fatalf("dropped for the %d. time, it was not put back", i+1)
		}
	}
	w.check()
	w.clientDrops("coder")
	w.must(&cadre.TeamShow{})
	if slices.Contains(w.inConfig(), "coder") {
		t.Error("dropped for the 4th time, it was put back")
	}
	w.clientJoins("pane")
	w.must(&cadre.TeamShow{})
	m := w.must(&cadre.MemberShow{Name: "coder"}).(*cadre.MemberView)
	if m.State != cadre.StateWorking || !strings.Contains(m.Evidence, "do not see it") {
		t.Errorf("coder is %s: %s", m.State, m.Evidence)
	}
	if got := w.mail("team-lead"); len(got) != 1 || !strings.Contains(got[0].Text, "coder") {
		t.Errorf("the lead was told %+v", got)
	}
	w.must(&cadre.MemberLeave{Name: "coder"})
	w.must(&cadre.TeamJoin{Name: "coder"})
	if !slices.Contains(w.inConfig(), "coder") {
		t.Error("who joined again is not in the file")
	}
	w.check()
}

func TestAClientsMemberComesAndGoes(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	id := w.add("one")
	w.clientJoins("pane")
	m := w.must(&cadre.MemberShow{Name: "pane"}).(*cadre.MemberView)
	if m.Backend != cadre.BackendClient || m.Color != "blue" {
		t.Fatalf("the member is %+v", m.Member)
	}
	if !w.gone(w.inboxPath("pane")) {
		t.Error("an inbox was made that its client makes itself")
	}
	before := w.read(w.configPath())
	w.edit(id, map[string]any{"owner": "pane", "status": "in_progress"})
	if got := w.task(id); got.Owner != "pane" || len(got.Flags) != 0 {
		t.Fatalf("the task is of %q, flags %v", got.Owner, got.Flags)
	}
	if string(w.read(w.configPath())) != string(before) {
		t.Error("the team's file was written for nothing")
	}
	w.clientDrops("pane")
	if got := w.task(id); got.Owner != "" || got.Status != cadre.Pending {
		t.Errorf("the task of who left is %s of %q", got.Status, got.Owner)
	}
	if slices.Contains(w.inConfig(), "pane") {
		t.Error("who left was put back")
	}
	w.check()
}

// TestRequestsOfAClientsMember: what its members ask through their mail becomes an
// ask, and the answer is mail in the client's own words.
func TestRequestsOfAClientsMember(t *testing.T) {
	for name, tt := range map[string]struct {
		request string
		answer  func(cadre.AskID) any
		says    map[string]any
	}{
		"plan approved": {
			claudefile.PlanApprovalRequest("pane", "/plan.md", "first this, then that", "plan_approval-1@pane@docs", time.Now()),
			func(id cadre.AskID) any { return &cadre.AskApprove{ID: id} },
			map[string]any{"type": "plan_approval_response", "requestId": "plan_approval-1@pane@docs", "approved": true},
		},
		"plan rejected": {
			claudefile.PlanApprovalRequest("pane", "/plan.md", "first this, then that", "plan_approval-2@pane@docs", time.Now()),
			func(id cadre.AskID) any { return &cadre.AskReject{ID: id, Text: "too long"} },
			map[string]any{"type": "plan_approval_response", "requestId": "plan_approval-2@pane@docs", "approved": false, "feedback": "too long"},
		},
		"permission granted": {
			`{"type":"permission_request","request_id":"perm-1-abc","agent_id":"pane","tool_name":"Bash","tool_use_id":"t","description":"list","input":{"command":"ls"}}`,
			func(id cadre.AskID) any { return &cadre.AskApprove{ID: id} },
			map[string]any{"type": "permission_response", "request_id": "perm-1-abc", "subtype": "success"},
		},
		"permission denied": {
			`{"type":"permission_request","request_id":"perm-2-abc","agent_id":"pane","tool_name":"Bash","tool_use_id":"t","description":"list","input":{"command":"ls"}}`,
			func(id cadre.AskID) any { return &cadre.AskReject{ID: id, Text: "not here"} },
			map[string]any{"type": "permission_response", "request_id": "perm-2-abc", "subtype": "error", "error": "not here"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(&cadre.TeamCreate{Name: string(list)})
			w.clientJoins("pane")
			w.must(&cadre.TeamShow{})
			w.mails("pane", "team-lead", tt.request)
			asks := w.asks()
			if len(asks) != 1 || asks[0].From != "pane" {
				t.Fatalf("the asks are %+v", asks)
			}
			w.must(tt.answer(asks[0].ID))
			entries := w.inbox("pane")
			if len(entries) != 1 || entries[0].From != "team-lead" || entries[0].Read {
				t.Fatalf("the inbox is %+v", entries)
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(entries[0].Text), &got); err != nil {
				t.Fatal(err)
			}
			for k, want := range tt.says {
				if got[k] != want {
					t.Errorf("%s is %v, want %v, in %s", k, got[k], want, entries[0].Text)
				}
			}
			w.check()
		})
	}
}

// TestAPolicyAnswersAClientsMember: a client waits for its lead's answer, and takes
// nobody else's.
func TestAPolicyAnswersAClientsMember(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	w.must(&cadre.TeamPolicy{Kind: cadre.AskPermission, Then: cadre.PolicyDeny, After: new(time.Duration)})
	w.mails("pane", "team-lead", `{"type":"permission_request","request_id":"perm-3-abc","agent_id":"pane","tool_name":"Bash","tool_use_id":"t","description":"list","input":{"command":"ls"}}`)
	w.must(&cadre.TeamShow{})
	w.must(&cadre.AsksExpire{})
	entries := w.inbox("pane")
	if len(entries) != 1 || entries[0].From != cadre.LeadName || !strings.Contains(entries[0].Text, `"subtype":"error"`) {
		t.Errorf("the inbox is %+v", entries)
	}
	w.check()
}

func TestShutdownOfAClientsMember(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	w.must(&cadre.AskShutdownOf{Name: "pane", Reason: "done"})
	request := claudefile.ReadTyped(w.inbox("pane")[0].Text)
	if request == nil || request.Type != "shutdown_request" || request.Reason != "done" || request.RequestID == "" {
		t.Fatalf("the inbox has %+v", request)
	}
	w.mails("pane", "team-lead", claudefile.ShutdownRejected(request.RequestID, "pane", "not yet", time.Now()))
	if got := w.asks(); len(got) != 1 || got[0].Kind != cadre.AskRefusal || got[0].Text != "pane refuses to shut down: not yet" {
		t.Errorf("what waits for the lead is %+v", got)
	}
	if !slices.Contains(w.inConfig(), "pane") {
		t.Error("a member that said no was taken out")
	}
	w.must(&cadre.AskShutdownOf{Name: "pane", Reason: "really"})
	entries := w.inbox("pane")
	request = claudefile.ReadTyped(entries[len(entries)-1].Text)
	w.mails("pane", "team-lead", claudefile.ShutdownApproved(request.RequestID, "pane", "%1", "tmux", time.Now()))
	if m := w.must(&cadre.MemberShow{Name: "pane"}).(*cadre.MemberView); m.State != cadre.StateDeparted {
		t.Errorf("pane is %s", m.State)
	}
	if slices.Contains(w.inConfig(), "pane") {
		t.Error("who shut down is still in the team's file")
	}
	w.check()
}

// Whoever is not the team's member answers nothing, and nothing in a file approves.
func TestAFileApprovesNothing(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	w.must(&cadre.TeamJoin{Name: "ann"})
	id := w.add("one")
	w.must(&cadre.TaskUpdate{ID: id, Owner: new("ann")})
	if _, err := w.as("ann", &cadre.AskFor{Kind: cadre.AskPlan, Text: "my plan", Task: id}); err != nil {
		t.Fatal(err)
	}
	ask := w.asks()[0]
	w.mails("team-lead", "ann", claudefile.PlanApprovalResponse(string(ask.ID), true, "", "default", time.Now()))
	w.mails("stranger", "team-lead", claudefile.ShutdownApproved("shutdown-1@pane", "pane", "", "", time.Now()))
	w.must(&cadre.TeamShow{})
	w.mail("ann")
	if got := w.asks(); len(got) != 1 || got[0].State != cadre.AskOpen {
		t.Errorf("the asks are %+v", got)
	}
	if m := w.must(&cadre.MemberShow{Name: "pane"}).(*cadre.MemberView); m.State == cadre.StateDeparted {
		t.Error("a stranger's mail ended a member")
	}
}

// A team is erased for good while its folder cannot be worked in: its files go as
// soon as that is possible, and are not taken for a team that a client made.
func TestAnErasedTeamStaysErased(t *testing.T) {
	w := newWorld(t)
	w.must(&coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: string(list)}})
	w.add("one")
	away := w.dir + ".away"
	if err := os.Rename(w.path("teams"), away); err != nil {
		t.Fatal(err)
	}
	w.write(w.path("teams"), "in the way")
	if _, err := w.do(&coord.TeamDelete{Purge: true}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(w.path("teams")), os.Rename(away, w.path("teams"))); err != nil {
		t.Fatal(err)
	}
	if got := scopes(w); got != "" {
		t.Errorf("after the team was erased there are: %s", got)
	}
	if !w.gone(w.configPath()) {
		t.Error("the erased team's file is still there")
	}
}

func TestACountOfTasksLeavesOutAClientsOwnRecords(t *testing.T) {
	w := newWorld(t)
	w.must(&coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: string(list)}})
	w.add("work")
	w.foreign("2", "worker-1", map[string]any{"status": "in_progress", "metadata": map[string]any{"_internal": true}})
	shown := w.must(&cadre.TeamShow{}).(*cadre.TeamView)
	if listed := w.must(&cadre.TaskList{}).([]*cadre.TaskView); len(listed) != 1 || shown.Tasks[cadre.Pending] != 1 || shown.Tasks[cadre.InProgress] != 0 {
		t.Errorf("%d tasks are listed and %v are counted", len(listed), shown.Tasks)
	}
}
