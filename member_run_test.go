package cadre

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// spawned is a team with members that run.
func spawned(t *testing.T, names ...string) *world {
	w := newTeam(t)
	for i, name := range names {
		w.must(operator, &MemberSpawn{Name: name, Backend: BackendShell})
		w.must(Self, &MemberStarted{Name: name, Process: processOf(i)})
	}
	return w
}

func processOf(i int) Process { return Process{PID: 100 + i, Start: "boot-1"} }

func (w *world) member(name string) *Member {
	w.t.Helper()
	m, err := Snap{&w.state}.Member(name)
	if err != nil || m == nil {
		w.t.Fatalf("%s: %v, %v", name, m, err)
	}
	return m
}

// told is what the lead was told last.
func (w *world) told() (text string) {
	for m, err := range (Snap{&w.state}).Inbox(LeadName, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		text = m.Text
	}
	return text
}

func TestSpawnGivesTheMemberItsTasks(t *testing.T) {
	w := newTeam(t, "ben")
	a, b := w.add("a"), w.add("b")
	w.must(operator, &MemberSpawn{Name: "ann", Backend: BackendShell, Tasks: []TaskID{a, b}, Folder: "/src", CWD: "."})
	m := w.member("ann")
	if m.State != StateStarting || m.CWD != "/src" || m.Requested.CWD != "." || !m.Alive() {
		t.Errorf("%+v, asked for %+v", m, m.Requested)
	}
	if w.task(a).Owner != "ann" || w.task(b).Owner != "ann" || len(w.inbox("ann")) != 2 {
		t.Errorf("the tasks belong to %q and %q, mail %v", w.task(a).Owner, w.task(b).Owner, w.inbox("ann"))
	}
	done := w.add("done")
	w.must(operator, &TaskDone{ID: done})
	for name, tt := range map[string]struct {
		rule Rule
		who  Actor
		verb *MemberSpawn
	}{
		"not the lead":    {RuleLead, as("ben"), &MemberSpawn{Name: "eve", Backend: BackendShell}},
		"no backend":      {RuleValue, operator, &MemberSpawn{Name: "eve", Backend: BackendHand}},
		"a bad name":      {RuleName, operator, &MemberSpawn{Name: "team-lead", Backend: BackendShell}},
		"another's task":  {RuleOwned, operator, &MemberSpawn{Name: "eve", Backend: BackendShell, Tasks: []TaskID{a}}},
		"no such task":    {RuleTaskMissing, operator, &MemberSpawn{Name: "eve", Backend: BackendShell, Tasks: []TaskID{"99"}}},
		"a finished task": {RuleOwned, operator, &MemberSpawn{Name: "eve", Backend: BackendShell, Tasks: []TaskID{done}}},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.refused(tt.rule, tt.who, tt.verb)
			if m, _ := (Snap{&w.state}).Member("eve"); m != nil {
				t.Errorf("%s is a member all the same", m.Name)
			}
		})
	}
}

func TestADeadMemberLosesEverythingOnce(t *testing.T) {
	w := spawned(t, "ann")
	running, kept := w.add("running"), w.add("kept")
	owner := "ann"
	w.must(operator, &TaskUpdate{ID: kept, Owner: &owner})
	w.must(as("ann"), &TaskStart{ID: running, Lease: time.Minute})
	fence := w.task(running).Fence
	p := processOf(0)
	gone := &MemberGone{Name: "ann", Process: &p, Why: "killed"}
	w.must(Self, gone)
	if m := w.member("ann"); m.State != StateDead || m.Process != nil || m.Alive() {
		t.Errorf("%+v", m)
	}
	if r, k := w.task(running), w.task(kept); r.Status != Pending || r.Owner != "" || r.Attempts != 1 || k.Owner != "" || k.Attempts != 0 {
		t.Errorf("%+v\n%+v", r, k)
	}
	w.refused(RuleFence, as("ann"), &TaskDone{ID: running, Fence: fence})
	w.must(Self, gone)
	if got := w.inbox(LeadName); len(got) != 1 {
		t.Errorf("the lead was told %v", got)
	}
}

func TestADeathOfAnEarlierProcessIsNoDeath(t *testing.T) {
	w := spawned(t, "ann")
	w.must(Self, &MemberGone{Name: "ann", Process: &Process{PID: 1, Start: "x"}, Why: "late news"})
	if m := w.member("ann"); m.State != StateIdle {
		t.Errorf("it is %s", m.State)
	}
}

func TestKillAndResume(t *testing.T) {
	w := spawned(t, "ann")
	id := w.add("x")
	w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
	w.must(operator, &AskShutdownOf{Name: "ann"})
	w.refused(RuleMove, operator, &MemberResume{Name: "ann"})
	w.refused(RuleLead, as("ann"), &MemberKill{Name: "ann"})
	w.must(operator, &MemberKill{Name: "ann"})
	if got := w.task(id); got.Owner != "" || got.Attempts != 0 {
		t.Errorf("%+v", got)
	}
	for a, err := range (Snap{&w.state}).OpenAsks() {
		t.Errorf("%+v is still open, %v", a, err)
	}
	w.refused(RuleMove, operator, &MemberNudge{Name: "ann"})
	p := processOf(0)
	w.must(Self, &MemberGone{Name: "ann", Process: &p, Why: "ended"})
	if m := w.member("ann"); m.State != StateDeparted || m.Process != nil {
		t.Errorf("%+v", m)
	}
	w.must(operator, &MemberResume{Name: "ann"})
	w.must(Self, &MemberStarted{Name: "ann", Process: processOf(7)})
	w.must(operator, &MemberNudge{Name: "ann"})
	if m := w.member("ann"); m.State != StateIdle || m.Process.PID != 107 {
		t.Errorf("%+v", m)
	}
	w.refused(RuleMove, Self, &MemberStarted{Name: "ann", Process: processOf(8)})
	w.must(operator, &TeamJoin{Name: "ben"})
	w.refused(RuleMove, operator, &MemberKill{Name: "ben"})
}

func TestAFailedTaskIsTriedAgainAndThenNeedsAPerson(t *testing.T) {
	w := spawned(t, "ann")
	id := w.must(operator, &TaskAdd{Subject: "x", Run: "false"}).(*Added).ID
	for range DefaultAttempts {
		got := w.must(as("ann"), &TaskNext{Claim: true, Lease: time.Minute, Runs: true}).(*TaskView)
		w.refused(RuleFence, as("ann"), &TaskFail{ID: got.ID, Fence: got.Fence + 1, Result: "late"})
		w.must(as("ann"), &TaskFail{ID: got.ID, Fence: got.Fence, Result: "exit code 1"})
	}
	w.refused(RuleNothing, as("ann"), &TaskNext{Claim: true, Runs: true})
	got := w.task(id)
	if !got.has(FlagPerson) || got.Attempts != DefaultAttempts || got.Result.Summary != "exit code 1" {
		t.Errorf("%+v, result %+v", got, got.Result)
	}
	if got := w.inbox(LeadName); len(got) != DefaultAttempts || !strings.Contains(w.told(), "attempt 3 of 3") {
		t.Errorf("the lead was told %v", got)
	}
}

func TestOnlyTasksWithACommandAreRun(t *testing.T) {
	w := spawned(t, "ann")
	owner := "ann"
	w.must(operator, &TaskUpdate{ID: w.add("to think about"), Owner: &owner})
	w.add("to think about too")
	w.refused(RuleNothing, as("ann"), &TaskNext{Claim: true, Runs: true})
	id := w.must(operator, &TaskAdd{Subject: "x", Run: "true"}).(*Added).ID
	if got := w.must(as("ann"), &TaskNext{Claim: true, Runs: true}).(*TaskView); got.ID != id {
		t.Errorf("ann runs %s, want %s", got.ID, id)
	}
	w.must(as("ann"), &TaskDone{ID: id, Tell: true})
	w.must(as("ann"), &TaskDone{ID: id, Tell: true})
	if got := w.inbox(LeadName); len(got) != 1 || !strings.Contains(w.told(), "ann completed task") {
		t.Errorf("the lead was told %v", got)
	}
}

func TestANewSupervisorTakesOver(t *testing.T) {
	w := spawned(t, "ann", "ben", "eve")
	id := w.add("x")
	w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
	fence := w.task(id).Fence
	w.must(operator, &MemberKill{Name: "ben"})
	w.refused(RuleLead, as("eve"), &MembersRecover{})
	again := w.must(operator, &MembersRecover{}).([]*Member)
	if len(again) != 2 || w.member("ben").Process != nil || w.member("ben").State != StateDeparted {
		t.Errorf("started again: %v; ben is %+v", again, w.member("ben"))
	}
	if got := w.task(id); got.Status != Pending || got.Owner != "ann" || got.Attempts != 0 || got.Leased {
		t.Errorf("%+v", got)
	}
	const waits = "ann is starting: waits for a supervisor"
	if got := w.look(operator, &TeamShow{}).(*TeamView).Active; got.Active || !slices.Contains(got.Evidence, waits) {
		t.Errorf("at work is %t, because %q", got.Active, got.Evidence)
	}
	w.must(Self, &MemberStarted{Name: "ann", Process: processOf(9)})
	w.must(as("ann"), &TaskStart{ID: id, Lease: time.Minute})
	if got := w.look(operator, &TeamShow{}).(*TeamView).Active; !got.Active {
		t.Errorf("nobody is at work, because %q", got.Evidence)
	}
	w.must(operator, &MembersRecover{})
	w.refused(RuleFence, as("ann"), &TaskDone{ID: id, Fence: fence})
	if again := w.must(operator, &MembersRecover{}).([]*Member); len(again) != 0 {
		t.Errorf("started again twice: %v", again)
	}
}

func TestProcessesAreFoundByTheirTeam(t *testing.T) {
	w := newWorld(t, Host)
	one, two := Running{Process: processOf(1), Scope: "docs", Member: "ann"}, Running{Process: processOf(2), Scope: "docs-2", Member: "ann"}
	for range 2 {
		w.must(Self, &RunningSet{Running: one})
		w.must(Self, &RunningSet{Running: two})
	}
	if got, err := (Snap{&w.state}).Processes("docs"); err != nil || len(got) != 1 || *got[0] != one {
		t.Errorf("%v, %v", got, err)
	}
	for range 2 {
		w.must(Self, &RunningSet{Running: one, Ended: true})
	}
	if got, err := (Snap{&w.state}).Processes("docs"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTheLeadHearsOnceThatAMemberPosed(t *testing.T) {
	w := spawned(t, "ann")
	for range 3 {
		w.must(Self, &MemberPosed{Name: "ann", Did: "used a token that is not its own"})
	}
	if got := w.inbox(LeadName); len(got) != 1 || !strings.Contains(w.told(), "ann used a token") {
		t.Errorf("the lead was told %v", got)
	}
}

func TestOnlyOnesOwnMailIsDelivered(t *testing.T) {
	w := spawned(t, "ann", "ben")
	id := w.must(operator, &MsgSend{To: "ann", Text: "hello"}).(*MessageView).ID
	for _, name := range []string{"ben", "ann"} {
		w.must(as(name), &MsgDeliver{IDs: []MessageID{id, "m999"}})
		m, err := (Snap{&w.state}).Message(id)
		if err != nil || (m.DeliveredAt != nil) != (name == "ann") || m.ReadAt != nil {
			t.Errorf("after %s: %+v, %v", name, m, err)
		}
	}
}

func TestWhatIsKnownOfAMember(t *testing.T) {
	w := spawned(t, "ann")
	w.must(Self, &MemberKnown{Name: "ann", Session: "s1", Model: "large"})
	w.must(Self, &MemberKnown{Name: "ann", Mode: "bold", Told: true})
	m := w.member("ann")
	if m.Session != "s1" || m.Model != "large" || m.Mode != "bold" || !m.Told || m.Requested.Model != "" {
		t.Errorf("%+v, asked for %+v", m, m.Requested)
	}
	head := w.state.Head()
	w.must(Self, &MemberKnown{Name: "ann", Session: "s1"})
	if got := w.state.Head(); got != head {
		t.Errorf("the same again is %v after %v", got, head)
	}
}

func TestATaskIsPutOff(t *testing.T) {
	w := spawned(t, "ann", "ben")
	id := w.add("x")
	w.must(as("ann"), &TaskNext{Claim: true, Lease: time.Minute})
	before := w.task(id)
	w.refused(RuleFence, as("ann"), &TaskDefer{ID: id, Fence: before.Fence + 1})
	w.refused(RuleFence, as("ben"), &TaskDefer{ID: id, Fence: before.Fence})
	w.must(as("ann"), &TaskDefer{ID: id, Fence: before.Fence})
	if got := w.task(id); got.Status != Pending || got.Owner != "ann" || got.Attempts != 0 || got.Leased || got.Fence <= before.Fence {
		t.Errorf("%+v", got)
	}
}

func TestACompletedTaskNeedsNoRenewal(t *testing.T) {
	w := spawned(t, "ann", "ben")
	id := w.add("x")
	w.must(as("ann"), &TaskNext{Claim: true, Lease: time.Minute})
	w.must(as("ann"), &TaskDone{ID: id})
	w.must(as("ann"), &TaskRenew{ID: id, Fence: w.task(id).Fence, Lease: time.Minute})
	if got := w.task(id); got.Status != Completed || got.Leased {
		t.Errorf("%+v", got)
	}
	w.refused(RuleFence, as("ben"), &TaskRenew{ID: id, Lease: time.Minute})
}

// TestAVanishedTeamsMembersAreAskedOnce, however often it is found that it is gone: the
// store may die before it has put the team away.
func TestAVanishedTeamsMembersAreAskedOnce(t *testing.T) {
	w := newTeam(t)
	for _, name := range []string{"ann", "ben"} {
		w.must(operator, &MemberSpawn{Name: name, Backend: BackendShell})
	}
	w.must(operator, &AskShutdownOf{Name: "ben"})
	for range 2 {
		c := w.command(External)
		events, err := (&ForeignEnd{Why: TeamVanished}).Decide(Snap{&w.state}, c)
		if err != nil {
			t.Fatal(err)
		}
		w.apply(c, events)
		w.check()
	}
	asked := map[string]int{}
	for a, err := range (Snap{&w.state}).OpenAsks() {
		if err != nil {
			t.Fatal(err)
		}
		asked[a.Member]++
	}
	if asked["ann"] != 1 || asked["ben"] != 1 || len(w.inbox("ann")) != 1 || len(w.inbox("ben")) != 1 {
		t.Errorf("asked: %v; ann has %d letters, ben %d", asked, len(w.inbox("ann")), len(w.inbox("ben")))
	}
}
