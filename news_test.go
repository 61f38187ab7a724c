package cadre

import (
	"slices"
	"testing"
)

// guest is an agent without a session that stays connected.
func guest(name, connection string) Actor {
	return Actor{Kind: ActorGuest, Name: name, Session: connection, Scope: "docs", Proof: ProofEnv}
}

func TestAGuestJoinsWithItsFirstChange(t *testing.T) {
	w := newTeam(t, "codex")
	one := w.add("one")
	me := guest("codex", "c1")
	w.refused(RuleAuthor, me, &TaskUpdate{ID: one, Subject: new("mine")})
	if n := len(w.look(me, &MemberList{}).([]*MemberView)); n != 2 {
		t.Fatalf("a refused guest joined: %d members", n)
	}
	w.must(me, &TaskClaim{ID: one})
	if got := w.task(one); got.Owner != "codex-2" || !got.Leased {
		t.Errorf("the guest's claim is %+v", got)
	}
	w.refused(RuleOwned, guest("codex", "c2"), &TaskClaim{ID: one})
	w.must(me, &TaskDone{ID: one})
	if got := w.task(one).Owner; got != "codex-2" {
		t.Errorf("it became %s", got)
	}
}

func TestAGuestLeadsNowhere(t *testing.T) {
	w := newTeam(t, "ann")
	me := guest("codex", "c1")
	w.refused(RuleLead, me, &MemberSpawn{Name: "bob", Backend: BackendShell})
	w.refused(RuleLead, me, &TeamClose{})
	w.refused(RuleLead, me, &TeamLabel{Label: "mine"})
	elsewhere := me
	elsewhere.Scope = "web"
	w.refused(RuleMember, elsewhere, &TaskAdd{Subject: "in your list"})
	other := newWorld(t, "web")
	other.refused(RuleOperator, me, &TeamCreate{Name: "web"})
}

func TestAGuestJoinsUnderAnotherName(t *testing.T) {
	w := newTeam(t)
	me := guest("codex", "c1")
	w.must(me, &TeamJoin{Name: "writer"})
	w.must(me, &TaskAdd{Subject: "one"})
	members := w.look(me, &MemberList{}).([]*MemberView)
	if len(members) != 2 || members[1].Name != "writer" || w.task("1").Author != "writer" {
		t.Errorf("%d members, the last is %s, the author %s", len(members), members[len(members)-1].Name, w.task("1").Author)
	}
	if _, r, err := w.try(me, &TeamJoin{Name: "again"}); err != nil || len(r.Events) != 0 {
		t.Errorf("it joined twice: %v, %v", r.Events, err)
	}
}

func TestGuestsOfAListAreTwo(t *testing.T) {
	w := newWorld(t, "docs")
	one := w.add("one")
	w.must(guest("codex", "c1"), &TaskClaim{ID: one})
	w.refused(RuleOwned, guest("codex", "c2"), &TaskClaim{ID: one})
}

func TestGuestsNames(t *testing.T) {
	for program, want := range map[string]string{
		"Codex CLI": "codex-cli", "": "guest", "日本": "guest", "team-lead": "guest", "operator": "guest", "claude-code": "claude-code",
		"codex-mcp-client": "codex", "gemini-cli-mcp-client": "gemini-cli", "team-lead-mcp-client": "guest", "mcp-client": "mcp-client",
	} {
		if got := GuestName(program); got != want {
			t.Errorf("%q becomes %s, want %s", program, got, want)
		}
	}
}

func TestAnUpdateIsOneCommit(t *testing.T) {
	w := newTeam(t, "ann")
	first, second := w.add("first"), w.add("second")
	third := w.add("third", first)
	w.must(operator, &TaskUpdate{ID: third, DropBlocked: []TaskID{first}, AddBlocked: []TaskID{second}, DropBlocks: nil, Comment: "the other one"})
	if got := w.task(third); !slices.Equal(got.BlockedBy, []TaskID{second}) || got.OpenBlockers != 1 {
		t.Fatalf("it waits for %v", got.BlockedBy)
	}
	w.must(operator, &TaskUpdate{ID: second, DropBlocks: []TaskID{third}})
	if got := w.task(third); len(got.BlockedBy) != 0 || !got.Ready() {
		t.Fatalf("it still waits for %v", got.BlockedBy)
	}
	w.must(operator, &TaskBlock{ID: third, By: []TaskID{first}})
	w.must(operator, &TaskUpdate{ID: third, DropBlocked: []TaskID{first}, Status: new("in_progress")})
	// A part that is refused refuses all.
	w.refused(RuleTaskMissing, operator, &TaskUpdate{ID: first, Subject: new("other"), DropBlocked: []TaskID{second}})
	w.refused(RuleAuthor, as("ann"), &TaskUpdate{ID: second, Comment: "hello", Subject: new("mine")})
	w.must(operator, &TaskBlock{ID: second, By: []TaskID{first}})
	w.refused(RuleAuthor, as("ann"), &TaskUpdate{ID: second, DropBlocked: []TaskID{first}})
	w.refused(RuleAuthor, as("ann"), &TaskUpdate{ID: first, DropBlocks: []TaskID{second}})
	if got := w.look(operator, &TaskShow{ID: third}).(*TaskView).Comments; len(got) != 1 || got[0].Content != "the other one" {
		t.Errorf("comments: %v", got)
	}
}

func TestMailIsMarkedUpToAMessage(t *testing.T) {
	w := newTeam(t, "ann")
	var last *MessageView
	for _, text := range []string{"one", "two", "three"} {
		if m := w.must(operator, &MsgSend{To: "ann", Text: text}).(*MessageView); text == "two" {
			last = m
		}
	}
	w.refused(RuleValue, member("ann"), &MsgAck{UpTo: last.N + 1000})
	w.must(member("ann"), &MsgAck{UpTo: last.N})
	if got := w.look(member("ann"), &MsgInbox{}).([]*MessageView); len(got) != 1 || got[0].Text != "three" {
		t.Errorf("unread: %v", got)
	}
}
