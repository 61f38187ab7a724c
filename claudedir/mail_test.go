package claudedir_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/coord"
)

// newTeam is a team of ours with a client's member in it.
func newTeam(t *testing.T) *world {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	w.must(&cadre.TeamShow{})
	return w
}

// settle lets everything look as if it had stood there for long, so that only what
// is written from now on is looked at.
func (w *world) settle() {
	w.Helper()
	for range 2 {
		for _, scope := range []string{"tasks", "teams"} {
			for _, path := range []string{w.path(scope, string(list)), w.path(scope, string(list), "inboxes")} {
				if !w.gone(path) {
					w.age(path)
				}
			}
		}
		for file := range w.tree() {
			w.age(w.path(file))
		}
		if err := w.store.Refresh(w.Context(), list); err != nil {
			w.Fatal(err)
		}
	}
}

func TestMailMarkedByAnOldClientAndRemovedByANewOne(t *testing.T) {
	w := newTeam(t)
	for _, text := range []string{"first", "second", "third"} {
		w.must(&cadre.MsgSend{To: "pane", Text: text})
	}
	states := func() (out []string) {
		for _, m := range w.mail("pane") {
			out = append(out, m.Text+" "+m.Message.State())
		}
		return out
	}
	entries := w.inbox("pane")
	entries[0].Read = true // the older client marks
	w.write(w.inboxPath("pane"), string(claudefile.WriteInbox(entries)))
	if got := states(); !slices.Equal(got, []string{"first read", "second stored", "third stored"}) {
		t.Errorf("after one was marked: %v", got)
	}
	w.write(w.inboxPath("pane"), string(claudefile.WriteInbox(w.inbox("pane")[2:]))) // the newer one removes
	if got := states(); !slices.Equal(got, []string{"first read", "second read", "third stored"}) {
		t.Errorf("after one was removed: %v", got)
	}
	if got := w.inbox("pane"); len(got) != 1 || got[0].Text != "third" {
		t.Errorf("what was delivered is in the inbox again: %+v", got)
	}
	w.check()
}

// Somebody who read an inbox before we wrote to it writes what it made of that: our
// mail is not there any more, and nobody has read it.
func TestAnOldCopyOfAnInbox(t *testing.T) {
	w := newTeam(t)
	w.must(&cadre.MsgSend{To: "pane", Text: "first"})
	old := w.inbox("pane")
	w.must(&cadre.MsgSend{To: "pane", Text: "second"})
	w.must(&cadre.AskShutdownOf{Name: "pane", Reason: "the end"})
	w.write(w.inboxPath("pane"), string(claudefile.WriteInbox(append(old, claudefile.Entry{From: "eve", Text: "third", Timestamp: claudefile.Timestamp(time.Now())}))))
	w.must(&cadre.MsgInbox{Name: "pane"})
	var got []string
	for _, m := range w.mail("pane") {
		got = append(got, string(m.Kind)+" "+m.Text+" "+m.Message.State())
	}
	// A client that is asked to shut down takes that first, and leaves the rest.
	if want := []string{"message first stored", "message second stored", "shutdown_request the end read", "message third stored"}; !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	got = nil
	for _, e := range w.inbox("pane") {
		got = append(got, e.Text)
	}
	if want := []string{"first", "third", "second"}; !slices.Equal(got, want) {
		t.Errorf("the inbox has %q, want %q", got, want)
	}
	w.check()
}

// A request to shut down that still stands in an inbox says nothing about the mail after
// it: that was taken, and is not put back.
func TestMailTakenBesideARequestToShutDown(t *testing.T) {
	w := newTeam(t)
	w.must(&cadre.AskShutdownOf{Name: "pane", Reason: "the end"})
	w.must(&cadre.MsgSend{To: "pane", Text: "taken"})
	w.write(w.inboxPath("pane"), string(claudefile.WriteInbox(w.inbox("pane")[:1])))
	w.must(&cadre.MsgInbox{Name: "pane"})
	var got []string
	for _, m := range w.mail("pane") {
		got = append(got, string(m.Kind)+" "+m.Message.State())
	}
	if want := []string{"shutdown_request stored", "message read"}; !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	w.check()
}

// An entry is pruned after the inbox was looked at and before ours is written.
func TestAnEntryPrunedBetweenOurReadAndWrite(t *testing.T) {
	w := newTeam(t)
	w.must(&cadre.MsgSend{To: "pane", Text: "first"})
	w.inner = &interrupted{Store: w.inner, after: func() { w.write(w.inboxPath("pane"), "[]") }}
	w.open()
	w.must(&cadre.MsgSend{To: "pane", Text: "second"})
	w.inner = w.inner.(*interrupted).Store
	w.open()
	if got := w.mail("pane"); len(got) != 2 || got[0].ReadAt == nil || got[1].ReadAt != nil {
		t.Errorf("the log has %+v", got)
	}
	if got := w.inbox("pane"); len(got) != 1 || got[0].Text != "second" {
		t.Errorf("the inbox has %+v", got)
	}
	w.check()
}

// A newer client reads without a lock and prunes what it has read under one, while
// we write: every message arrives, and nothing of it is left.
func TestAReaderThatPrunes(t *testing.T) {
	w := newTeam(t)
	const n = 60
	stop, seen := make(chan struct{}), make(chan map[string]int)
	go func() {
		got := map[string]int{}
		for {
			w.readAndPrune(w.inboxPath("pane"), got)
			select {
			case <-stop:
				seen <- got
				return
			case <-time.After(time.Duration(rand.IntN(3)) * time.Millisecond):
			}
		}
	}()
	for i := range n {
		w.must(&cadre.MsgSend{To: "pane", Text: fmt.Sprint("message ", i)})
	}
	for len(w.must(&cadre.MsgInbox{Name: "pane"}).([]*cadre.MessageView)) > 0 {
		time.Sleep(time.Millisecond)
	}
	close(stop)
	got := <-seen
	for i := range n {
		if got[fmt.Sprint("message ", i)] == 0 {
			t.Errorf("message %d never arrived", i)
		}
	}
	if entries := w.inbox("pane"); len(entries) != 0 {
		t.Errorf("after all was read the inbox has %d entries", len(entries))
	}
	w.check()
}

// readAndPrune does what the newer client does every second: it looks at an inbox,
// and takes out what it has seen, under the lock, into a new file.
func (w *world) readAndPrune(inbox string, got map[string]int) {
	data, _ := os.ReadFile(inbox)
	entries, err := claudefile.ReadInbox(data)
	if err != nil || len(entries) == 0 {
		return
	}
	shown := map[string]bool{}
	for _, e := range entries {
		got[e.Text]++
		shown[e.Key()] = true
	}
	for os.Mkdir(inbox+".lock", 0o700) != nil {
		time.Sleep(time.Millisecond)
	}
	defer os.Remove(inbox + ".lock")
	data, _ = os.ReadFile(inbox)
	if entries, err = claudefile.ReadInbox(data); err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e claudefile.Entry) bool { return shown[e.Key()] })
	temp := inbox + ".tmp.0badcafe"
	if os.WriteFile(temp, claudefile.WriteInbox(entries), 0o600) == nil {
		os.Rename(temp, inbox)
	}
}

// Mail that asks for something is taken in by whoever looks at the asks.
func TestWhoLooksAtTheAsksSeesNewMail(t *testing.T) {
	w := newTeam(t)
	w.mails("pane", "team-lead", "hello")
	w.must(&cadre.TeamShow{})
	w.settle()
	w.mails("pane", "team-lead", claudefile.PlanApprovalRequest("pane", "/plan.md", "a plan", "plan_approval-1@pane@docs", time.Now()))
	if got := w.asks(); len(got) != 1 {
		t.Errorf("the asks are %+v", got)
	}
}

// Being idle is a state. Where a client leads, its lead reads of it in its mail.
func TestIdleNotifications(t *testing.T) {
	idle := claudefile.IdleNotification("pane", "interrupted", "", "", time.Now())
	w := newTeam(t)
	w.editConfig(func(c *claudefile.Config) { c.Members[1].IsActive = new(true) })
	if m := w.must(&cadre.MemberShow{Name: "pane"}).(*cadre.MemberView); m.State != cadre.StateWorking {
		t.Errorf("pane is %s: %s", m.State, m.Evidence)
	}
	w.mails("pane", "team-lead", idle)
	if m := w.must(&cadre.MemberShow{Name: "pane"}).(*cadre.MemberView); m.State != cadre.StateIdle || !strings.Contains(m.Evidence, "client says that it is idle: interrupted") {
		t.Errorf("pane is %s: %s", m.State, m.Evidence)
	}
	if got := w.must(&cadre.MsgInbox{Name: "team-lead"}).([]*cadre.MessageView); len(got) != 1 || got[0].Kind != cadre.MessageDigest {
		t.Errorf("a lead of ours has to read %+v", got)
	}

	w = newWorld(t)
	w.clientTeam("pane")
	w.mails("pane", "team-lead", idle)
	before := w.read(w.inboxPath("team-lead"))
	w.must(&cadre.MsgInbox{Name: "team-lead"})
	if got := w.read(w.inboxPath("team-lead")); string(got) != string(before) {
		t.Errorf("the client's lead will never see it: the inbox is\n%s", got)
	}
}

// What Cadre itself runs in a client's team becomes idle as the client's own members do.
func TestOurMembersTellAClientsLeadThatTheyAreIdle(t *testing.T) {
	w := newWorld(t)
	w.clientTeam("pane")
	w.must(&cadre.MemberSpawn{Name: "robin", Backend: cadre.BackendShell, Folder: "/work"})
	for _, evidence := range []string{"nothing is ready for it", "failed: task 3, exit code 1"} {
		w.must(&cadre.MemberReport{Name: "robin", State: cadre.StateWorking})
		w.must(&cadre.MemberReport{Name: "robin", State: cadre.StateIdle, Evidence: evidence})
	}
	var reasons []string
	for _, e := range w.inbox("team-lead") {
		if typed := claudefile.ReadTyped(e.Text); typed != nil && typed.Type == "idle_notification" && e.From == "robin" {
			reasons = append(reasons, typed.IdleReason)
		}
	}
	if !slices.Equal(reasons, []string{"available", "failed"}) {
		t.Errorf("the client's lead is told %v", reasons)
	}
}

// clientTeam has an older client make a team of its own.
func (w *world) clientTeam(members ...string) {
	w.Helper()
	c := &claudefile.Config{Name: string(list), CreatedAt: time.Now().UnixMilli(), LeadAgentID: "team-lead@docs", LeadSessionID: "2f9c1d1e-0000-4000-8000-000000000000"}
	for _, name := range append([]string{"team-lead"}, members...) {
		c.Members = append(c.Members, claudefile.Member{AgentID: name + "@docs", Name: name, JoinedAt: c.CreatedAt, CWD: "/project"})
	}
	w.write(w.configPath(), string(c.Write(nil)))
	w.must(&cadre.TeamShow{})
}

// What a client's lead did through its own client is no news to it: no mail.
func TestAClientsLeadIsNotToldWhatItDid(t *testing.T) {
	w := newWorld(t)
	w.clientTeam("pane")
	w.foreign("1", "one", map[string]any{"owner": "pane"})
	w.foreign("2", "two", nil)
	w.ids()
	if err := os.Remove(w.taskPath("2")); err != nil {
		t.Fatal(err)
	}
	w.clientDrops("pane")
	if got := w.ids(); len(got) != 1 {
		t.Fatalf("the list is %v", got)
	}
	if got := w.mail("team-lead"); len(got) != 0 {
		t.Errorf("the lead is told %+v", got)
	}
	if !w.gone(w.inboxPath("team-lead")) {
		t.Error("an inbox was made for nothing")
	}
	w.check()
}

// Whoever takes back that it read its mail has it unread in its file, too; else the
// next look at the file would find it read.
func TestMailThatIsUnreadAgain(t *testing.T) {
	w := newTeam(t)
	w.must(&cadre.TeamJoin{Name: "ben"})
	w.must(&cadre.MsgSend{To: "ben", Text: "hello"})
	if _, err := w.as("ben", &cadre.MsgAck{}); err != nil {
		t.Fatal(err)
	}
	if e := w.inbox("ben"); len(e) != 1 || !e[0].Read {
		t.Fatalf("the inbox is %+v", e)
	}
	if _, err := w.as("ben", &coord.Undo{}); err != nil {
		t.Fatal(err)
	}
	if e := w.inbox("ben"); len(e) != 1 || e[0].Read {
		t.Errorf("the inbox is %+v", e)
	}
	entries := append(w.inbox("ben"), claudefile.Entry{From: "pane", Text: "and another", Timestamp: claudefile.Timestamp(time.Now())})
	w.write(w.inboxPath("ben"), string(claudefile.WriteInbox(entries)))
	for _, m := range w.mail("ben") {
		if m.ReadAt != nil {
			t.Errorf("%q is read", m.Text)
		}
	}
}
