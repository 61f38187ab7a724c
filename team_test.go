package cadre

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestTeamCreate(t *testing.T) {
	w := newWorld(t, "docs")
	view := w.must(session("1a2b3c4d-0000"), &TeamCreate{Name: "docs", Description: "the manual"}).(*TeamView)
	lead := view.Members[0]
	if len(view.Members) != 1 || lead.Name != LeadName || lead.AgentID != "team-lead@docs" || lead.Role != RoleLead {
		t.Errorf("members %+v", view.Members)
	}
	if !lead.JoinedAt.Equal(view.CreatedAt) {
		t.Errorf("the lead joined at %v, the team was made at %v", lead.JoinedAt, view.CreatedAt)
	}
	for enter, who := range map[string]Actor{"use": operator, "join": session("5e6f7a8b-0000")} {
		if e := w.refused(RuleExists, who, &TeamCreate{Name: "docs"}); !strings.Contains(e.Hint, "cadre team "+enter+" docs, or another name") {
			t.Errorf("the hint %q offers %s no choice", e.Hint, who)
		}
	}
}

func TestTeamNames(t *testing.T) {
	for _, bad := range []string{"", "-x", "My_Team.X", "a/b", "../x", "ä", strings.Repeat("a", 65), "а-cyrillic"} {
		newWorld(t, "x").refused(RuleName, operator, &TeamCreate{Name: bad})
	}
	for _, good := range []string{"a", "0", "humble-chasing-goose", strings.Repeat("a", 64)} {
		newWorld(t, Scope(good)).must(operator, &TeamCreate{Name: good})
	}
	shape := regexp.MustCompile(`^[a-z]+-[a-z]+ing-[a-z]+$`)
	seen := map[string]bool{}
	for n := range uint64(1000) {
		name := MadeUpName(n * 0x9E3779B97F4A7C15)
		if !shape.MatchString(name) || CheckTeamName(name) != nil {
			t.Fatalf("made up %q", name)
		}
		seen[name] = true
	}
	if len(seen) < 900 {
		t.Errorf("1000 made-up names are only %d different ones", len(seen))
	}
}

func TestATeamIsNotMadeOverAList(t *testing.T) {
	w := newWorld(t, "docs")
	w.add("work")
	w.refused(RuleExists, operator, &TeamCreate{Name: "docs"})
}

func TestJoining(t *testing.T) {
	w := newTeam(t)
	w.must(operator, &TaskAdd{Subject: "kept for ann", Owner: "ann"})
	names, colors := []string{}, []string{}
	for range 3 {
		m := w.must(operator, &TeamJoin{Name: "ann"}).(*MemberView)
		names, colors = append(names, m.Name), append(colors, m.Color)
	}
	if m := w.must(as("ann"), &TeamJoin{}).(*MemberView); m.Name != "ann" {
		t.Errorf("ann, who is a member, joined as %s", m.Name)
	}
	w.refused(RuleName, session("x"), &TeamJoin{Name: "Operator"})
	if m := w.must(as("ANN"), &TaskComment{ID: "1", Text: "the same ann"}); m == nil {
		t.Error("no answer")
	}
	if m, _ := (Snap{&w.state}).Member("ANN"); m != nil {
		t.Error("ANN joined beside ann")
	}
	if got := fmt.Sprint(names, colors); got != "[ann ann-2 ann-3] [blue green yellow]" {
		t.Errorf("joined as %s", got)
	}
	if got := fmt.Sprint(w.inbox("ann")); got != "[task_assignment from team-lead]" {
		t.Errorf("ann was told %s about what was kept for her", got)
	}
	w.must(operator, &TaskAdd{Subject: "kept for eve", Owner: "eve"})
	w.must(as("eve"), &TaskAdd{Subject: "her first change"})
	if got := fmt.Sprint(w.inbox("eve")); got != "[task_assignment from team-lead]" {
		t.Errorf("eve, who joined by her first change, was told %s", got)
	}
	for _, bad := range []string{"team-lead", "operator", "user", "a b", "../x", "@", strings.Repeat("x", 65)} {
		w.refused(RuleName, operator, &TeamJoin{Name: bad})
	}
	if m := w.must(operator, &TeamJoin{Name: "bob@docs"}).(*MemberView); m.Name != "bob" {
		t.Errorf("bob@docs joined as %s", m.Name)
	}
}

func TestEightColoursThenAgain(t *testing.T) {
	w := newTeam(t)
	var got []string
	for i := range 9 {
		got = append(got, w.must(operator, &TeamJoin{Name: fmt.Sprint("m", i)}).(*MemberView).Color)
	}
	if want := "[blue green yellow purple orange pink cyan red blue]"; fmt.Sprint(got) != want {
		t.Errorf("colours %v, want %s", got, want)
	}
}

func TestHandDrivenMemberJoinsWithItsFirstChange(t *testing.T) {
	w := newTeam(t)
	id := w.add("work")
	w.refused(RuleTaskMissing, as("ann"), &TaskClaim{ID: "77"})
	if m, _ := (Snap{&w.state}).Member("ann"); m != nil {
		t.Error("a refused command joined somebody")
	}
	w.must(as("ann"), &TaskClaim{ID: id})
	if m, _ := (Snap{&w.state}).Member("ann"); m == nil || m.Backend != BackendHand {
		t.Errorf("ann is %+v", m)
	}
	if mail := w.inbox("ann"); len(mail) != 0 {
		t.Errorf("ann was told about her own claim: %v", mail)
	}
	w.refused(RuleName, as("../x"), &TaskAdd{Subject: "x"})
}

func TestRightsByActor(t *testing.T) {
	const id = "aaaaaaaa-1111-4111-8111-111111111111"
	own := session(id)
	stranger := Actor{Kind: ActorMember, Name: "ann", Scope: "elsewhere", Proof: ProofToken}
	guest := Actor{Kind: ActorGuest, Name: "guest", Proof: ProofEnv}
	w := newTeam(t, "ann")
	w.must(member("ann"), &TaskAdd{Subject: "by ann"})
	w.refused(RuleRead, stranger, &TaskAdd{Subject: "x"})
	w.refused(RuleMember, own, &TaskAdd{Subject: "x"})
	w.refused(RuleMember, guest, &TaskAdd{Subject: "x"})
	w.look(guest, &TaskList{})
	if _, err := (&TaskList{}).Look(Snap{&w.state}, w.command(stranger)); AsError(err) == nil || AsError(err).Rule != RuleRead {
		t.Errorf("a stranger's list gives %v", err)
	}
	list := newWorld(t, id)
	list.must(own, &TaskAdd{Subject: "in my own list"})
	other := session("bbbbbbbb-2222")
	list.refused(RuleMember, other, &TaskAdd{Subject: "x"})
	other.List = "shared"
	list.refused(RuleMember, other, &TaskAdd{Subject: "x"})
	shared := newWorld(t, "shared")
	shared.must(other, &TaskAdd{Subject: "in the list it was started to share"})
	done := shared.must(other, &TaskDone{ID: "1"}).(*Done)
	if done.Owner != other.Name {
		t.Errorf("the owner is %s", done.Owner)
	}
	shared.refused(RuleLead, other, &TaskAccept{ID: "1"})
	other.List = id
	list.refused(RuleMember, other, &TaskAdd{Subject: "in another session's own list"})
	for _, posing := range []string{"docs", "default"} { // a session that names itself like a list
		pose := newWorld(t, Scope(posing))
		pose.must(operator, &TaskAdd{Subject: "x"})
		pose.refused(RuleMember, session(posing), &TaskAdd{Subject: "y"})
	}
	w.refused(RuleLead, session("docs"), &TeamClose{Force: true})
}

func TestASessionThatJoined(t *testing.T) {
	w := newTeam(t)
	s := session("aaaaaaaa-1111")
	m := w.must(s, &TeamJoin{Name: "coder"}).(*MemberView)
	if m.Name != "coder" || m.Backend != BackendClient {
		t.Errorf("joined as %+v", m)
	}
	if _, r, err := w.try(s, &TeamJoin{Name: "again"}); err != nil || len(r.Events) != 0 {
		t.Errorf("joining again gave %d events and %v", len(r.Events), err)
	}
	id := w.add("work")
	w.must(s, &TaskClaim{ID: id})
	if w.task(id).Owner != "coder" {
		t.Errorf("the owner is %s", w.task(id).Owner)
	}
}

func TestDeletingNamesTheLiving(t *testing.T) {
	w := newTeam(t, "hand")
	w.must(session("aaaaaaaa-1111"), &TeamJoin{Name: "coder"})
	e := w.refused(RuleAlive, operator, &TeamClose{})
	if !strings.Contains(e.Message, "coder") || strings.Contains(e.Message, "hand") {
		t.Errorf("%q", e.Message)
	}
	if e.Hint == "" {
		t.Error("the lead is not told how to delete it all the same")
	}
	if e := w.refused(RuleAlive, as("hand"), &TeamClose{}); e.Hint != "" {
		t.Errorf("who may not is told %q", e.Hint)
	}
	w.refused(RuleLead, as("hand"), &TeamClose{Force: true})
	id := w.add("work")
	w.must(session("aaaaaaaa-1111"), &TaskStart{ID: id})
	kept := w.must(operator, &TaskAdd{Subject: "kept", Owner: "hand"}).(*Added).ID
	w.must(operator, &TeamClose{Force: true})
	if w.task(id).Owner != "" || w.task(kept).Owner != "hand" {
		t.Errorf("afterwards %s has %q and %s has %q", id, w.task(id).Owner, kept, w.task(kept).Owner)
	}
}

func TestLeavingGivesTasksBack(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.add("work")
	w.must(as("ann"), &TaskStart{ID: id})
	w.refused(RuleLead, as("ben"), &MemberLeave{Name: "ann"})
	w.must(as("ann"), &MemberLeave{})
	if got := w.task(id); got.Owner != "" || got.Status != Pending {
		t.Errorf("the task is %s of %q", got.Status, got.Owner)
	}
	w.refused(RuleMove, operator, &MemberLeave{Name: LeadName})
}

func TestTakingOver(t *testing.T) {
	w := newTeam(t)
	s := session("aaaaaaaa-1111")
	w.refused(RuleAlive, s, &TeamTake{})
	team, _ := (Snap{&w.state}).Team()
	gone := *team
	gone.NoLead = true
	w.apply(w.command(Self), []Event{{Before: team, After: &gone}})
	w.must(s, &TeamTake{})
	w.must(s, &TeamLabel{Label: "mine now"})
}

func TestOnlyTheLeadCreates(t *testing.T) {
	w := newWorld(t, "docs")
	w.must(operator, &TeamCreate{Name: "docs", LeadCreates: true})
	w.refused(RuleLead, as("ann"), &TaskAdd{Subject: "x"})
	w.must(operator, &TaskAdd{Subject: "x"})
}

func TestScopeNames(t *testing.T) {
	for in, want := range map[string]Scope{
		"Shared List/1": "Shared-List-1", "../x": "---x", "a_b-C9": "a_b-C9", "ünï": "-n-", "a😀b": "a--b", "@host": "-host",
	} {
		if got, err := ParseScope(in); err != nil || got != want {
			t.Errorf("ParseScope(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "a\x00b", strings.Repeat("x", 300)} {
		if _, err := ParseScope(bad); err == nil {
			t.Errorf("ParseScope(%.20q) is allowed", bad)
		}
	}
}
