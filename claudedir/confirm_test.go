package claudedir_test

import (
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
)

// diary is what a client's transcripts would tell.
type diary struct {
	shown map[string]time.Time
	wrote string // who made every change; empty: nobody knows
	heard map[string]time.Time
}

func (d diary) Heard(cadre.Scope) map[string]time.Time { return d.heard }

func (d diary) Who(scope cadre.Scope, _ cadre.ForeignTask, _ int64) (cadre.Actor, bool) {
	return cadre.Actor{Kind: cadre.ActorMember, Name: d.wrote, Scope: scope, Proof: cadre.ProofTalk}, d.wrote != ""
}

func (diary) Live() bool { return false }

func (d diary) Shown(_ cadre.Scope, m *cadre.Message) (time.Time, bool) {
	at, ok := d.shown[m.Text]
	return at, ok
}

// lostMail is a team whose bob has taken two messages at once, ten minutes ago, and was
// shown the first. It gives his inbox.
func lostMail(t *testing.T) (*world, string) {
	t.Helper()
	w := newWorld(t)
	start := time.Now().Add(-10 * time.Minute)
	w.clock = start
	w.who = diary{shown: map[string]time.Time{"seen": start.Add(3 * time.Second)}}
	w.open()
	w.must(&cadre.TeamCreate{Name: string(list)})
	config, err := claudefile.ReadConfig(w.read(w.path("teams", string(list), "config.json")))
	if err != nil {
		t.Fatal(err)
	}
	config.Members = append(config.Members, claudefile.Member{AgentID: "bob@docs", Name: "bob", JoinedAt: start.UnixMilli(), TmuxPaneID: "%3", Subscriptions: []string{}})
	w.write(w.path("teams", string(list), "config.json"), string(config.Write(nil)))
	w.must(&cadre.MsgSend{To: "bob", Text: "seen"})
	w.must(&cadre.MsgSend{To: "bob", Text: "lost"})
	inbox := w.path("teams", string(list), "inboxes", "bob.json")
	entries, err := claudefile.ReadInbox(w.read(inbox))
	if err != nil || len(entries) != 2 {
		t.Fatalf("the inbox has %d entries, %v", len(entries), err)
	}
	for i := range entries {
		entries[i].Read = true
	}
	w.write(inbox, string(claudefile.WriteInbox(entries)))
	w.clock = start.Add(time.Second)
	w.ids()
	w.clock = time.Time{} // and now is ten minutes later
	return w, inbox
}

// A client that marks everything in its inbox when it has read some of it loses
// what came in between. Its transcript shows that, and the mail is sent again.
func TestMailThatAClientLostIsSentAgainOnce(t *testing.T) {
	w, inbox := lostMail(t)
	seen := w.followed()
	e := w.until(seen, func(e cadre.Event) bool { m, ok := e.After.(*cadre.Message); return ok && m.Again != "" })
	again := e.After.(*cadre.Message)
	if again.Text != "lost" || again.To != "bob" {
		t.Fatalf("sent again: %+v", again)
	}
	w.ids() // the event may be seen before the files are written
	entries, err := claudefile.ReadInbox(w.read(inbox))
	if err != nil || len(entries) != 3 || entries[2].Text != "lost" || entries[2].Read {
		t.Fatalf("the inbox has %d entries, %v", len(entries), err)
	}
	for _, m := range w.must(&cadre.MsgInbox{Name: "bob", All: true}).([]*cadre.MessageView) {
		if m.Text == "seen" && m.ConfirmedAt == nil {
			t.Error("what was shown is not confirmed")
		}
	}
}

// Whoever looks at the team has lost mail sent again, also where nobody follows it.
func TestLookingFindsLostMail(t *testing.T) {
	w, inbox := lostMail(t)
	for range 2 {
		if err := w.store.Listen(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := claudefile.ReadInbox(w.read(inbox)); err != nil || len(entries) != 3 || entries[2].Text != "lost" || entries[2].Read {
		t.Errorf("the inbox has %+v, %v", entries, err)
	}
}

// A client that dies in the middle of its work tells nobody. Its transcript falls silent,
// which who follows the files notes, and everybody sees; and when it goes on.
func TestAClientThatFellSilent(t *testing.T) {
	w := newDisk(t)
	start := time.Now().Add(-time.Hour)
	w.clock = start
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("bob")
	id := w.add("work")
	w.edit(id, map[string]any{"status": "in_progress", "owner": "bob"})
	w.ids()
	w.clock = time.Time{} // and now is an hour later
	becomes := func(state cadre.MemberState, heard time.Time) *cadre.Member {
		t.Helper()
		w.who = diary{heard: map[string]time.Time{"bob": heard}}
		w.open()
		w.follower()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			m := w.must(&cadre.MemberShow{Name: "bob"}).(*cadre.MemberView).Member
			if m.State == state {
				return m
			}
			if time.Now().After(end) {
				t.Fatalf("bob is %s: %s", m.State, m.Evidence)
			}
		}
	}
	if m := becomes(cadre.StateStalled, start.Add(time.Minute)); !strings.Contains(m.Evidence, "has written nothing to its transcript since") {
		t.Errorf("bob is stalled, because %s", m.Evidence)
	}
	if got := w.must(&cadre.TaskShow{ID: id}).(*cadre.TaskView); got.State != cadre.TaskStalled {
		t.Errorf("its task is %s", got.State)
	}
	becomes(cadre.StateWorking, time.Now().Add(time.Second))
	if got := w.must(&cadre.TaskShow{ID: id}).(*cadre.TaskView); got.State != cadre.TaskRunning {
		t.Errorf("its task is %s", got.State)
	}
}
