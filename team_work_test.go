package cadre

import (
	"testing"
	"time"
)

func TestTeamMode(t *testing.T) {
	w := spawned(t, "ann")
	w.must(operator, &TeamJoin{Name: "ben"})
	w.refused(RuleValue, operator, &TeamMode{Mode: "chaos"})
	w.refused(RuleLead, as("ann"), &TeamMode{Mode: ModeDispatch})
	w.must(operator, &TeamMode{Mode: ModeDispatch})
	if _, r, err := w.try(operator, &TeamMode{Mode: ModeDispatch}); err != nil || len(r.Events) != 0 {
		t.Errorf("the same again: %v, %v", r.Events, err)
	}
	id := w.add("open")
	w.refused(RuleNothing, as("ann"), &TaskNext{Claim: true})
	w.refused(RuleLead, as("ann"), &TaskClaim{ID: id})
	w.refused(RuleLead, as("ann"), &TaskDone{ID: id})
	w.must(as("ben"), &TaskClaim{ID: id}) // nobody hands anything to whom Cadre does not run
	mine := w.must(operator, &TaskAdd{Subject: "ann's", Owner: "ann"}).(*Added).ID
	if got := w.must(as("ann"), &TaskNext{Claim: true}).(*TaskView); got.ID != mine {
		t.Errorf("ann got %s", got.ID)
	}
	w.must(operator, &TeamMode{Mode: ModeSelfClaim})
	if s := w.must(operator, &TeamLimit{Most: 0}).(*TeamView).Settings; s.Mode != "" || s.Limits != nil {
		t.Errorf("%+v", s)
	}
}

func TestTeamLimit(t *testing.T) {
	w := spawned(t, "ann")
	w.refused(RuleLimit, operator, &TeamLimit{Most: -1})
	w.refused(RuleValue, operator, &TeamLimit{Most: 1, Backend: BackendHand})
	w.refused(RuleLead, as("ann"), &TeamLimit{Most: 1})
	w.must(operator, &TeamLimit{Most: 4})
	s := w.must(operator, &TeamLimit{Most: 2, Backend: BackendShell}).(*TeamView).Settings
	if s.Limits[""] != 4 || s.Limits[BackendShell] != 2 {
		t.Errorf("%+v", s)
	}
	s = w.must(operator, &TeamLimit{Backend: BackendShell}).(*TeamView).Settings
	if len(s.Limits) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestTasksDispatch(t *testing.T) {
	w := spawned(t, "ann", "ben", "cat")
	w.must(operator, &TeamMode{Mode: ModeDispatch})
	low, high := w.add("low"), w.must(operator, &TaskAdd{Subject: "high", Priority: "urgent"}).(*Added).ID
	mine := w.must(operator, &TaskAdd{Subject: "cat's", Owner: "cat", Plan: true}).(*Added).ID
	w.must(operator, &MemberKill{Name: "ben"})
	give := &TasksDispatch{To: []Idler{{Name: "ann"}, {Name: "ben"}, {Name: "nobody"}, {Name: "cat"}}, Lease: time.Minute}
	got := w.must(Self, give).([]Handed)
	if len(got) != 2 || got[0].To != "ann" || got[0].Task.ID != high || got[1].To != "cat" || got[1].Task.ID != mine {
		t.Fatalf("%+v", got)
	}
	if ann, cat := w.task(high), w.task(mine); ann.Status != InProgress || !ann.Leased || cat.Status != Pending || cat.Leased {
		t.Errorf("%+v\n%+v", ann, cat)
	}
	w.must(operator, &MemberResume{Name: "ben"})
	if got := w.must(Self, &TasksDispatch{To: []Idler{{Name: "ben", Runs: true}}}).([]Handed); len(got) != 0 {
		t.Errorf("ben runs %+v", got)
	}
	if got := w.must(Self, &TasksDispatch{To: []Idler{{Name: "ben"}}}).([]Handed); len(got) != 1 || got[0].Task.ID != low {
		t.Errorf("ben got %+v", got)
	}
}

func TestAPlanThatIsRefusedNeedsAPerson(t *testing.T) {
	w := spawned(t, "ann")
	id := w.must(operator, &TaskAdd{Subject: "x", Run: "true", Plan: true}).(*Added).ID
	got := w.must(as("ann"), &TaskNext{Claim: true, Runs: true, Lease: time.Minute}).(*TaskView)
	if got.ID != id || got.Status != Pending || w.task(id).Leased {
		t.Fatalf("%+v", got)
	}
	w.must(as("ann"), &TaskFail{ID: id, Fence: got.Fence, Result: "it could not even make a plan"})
	if got := w.task(id); got.Attempts != 1 || got.Owner != "" {
		t.Errorf("%+v", got)
	}
	got = w.must(as("ann"), &TaskNext{Claim: true, Runs: true, Lease: time.Minute}).(*TaskView)
	w.must(as("ann"), &TaskFail{ID: id, Fence: got.Fence, Final: true, Result: "its plan was not approved"})
	if got := w.task(id); !got.has(FlagPerson) || got.Owner != "" || got.Attempts != DefaultAttempts {
		t.Errorf("%+v", got)
	}
}

func TestTheNextTaskIsTakenUpWithTheCompletion(t *testing.T) {
	w := spawned(t, "ann", "ben")
	one := w.must(operator, &TaskAdd{Subject: "one", Run: "true"}).(*Added).ID
	two := w.must(operator, &TaskAdd{Subject: "two", Run: "true", BlockedBy: []TaskID{one}}).(*Added).ID
	w.must(operator, &TaskAdd{Subject: "nothing to run", Priority: "urgent"})
	first := w.must(as("ann"), &TaskNext{Claim: true, Lease: time.Minute, Runs: true}).(*TaskView)
	done := &TaskDone{ID: first.ID, Fence: first.Fence, Take: &Take{Lease: time.Minute, Runs: true}}
	got := w.must(as("ann"), done).(*Done)
	if got.Next == nil || got.Next.ID != two || got.Next.Owner != "ann" || got.Next.Status != InProgress || !w.task(two).Leased {
		t.Fatalf("next is %+v", got.Next)
	}
	w.refused(RuleFence, as("ann"), &TaskDone{ID: two, Fence: got.Next.Fence + 1, Take: &Take{}})
	if got := w.must(as("ann"), &TaskDone{ID: two, Fence: got.Next.Fence, Take: &Take{Runs: true}}).(*Done); got.Next != nil {
		t.Errorf("next is %+v", got.Next)
	}
	w.must(operator, &TeamMode{Mode: ModeDispatch})
	three := w.must(operator, &TaskAdd{Subject: "three", Run: "true", Owner: "ben"}).(*Added).ID
	w.must(operator, &TaskAdd{Subject: "four", Run: "true"})
	if got := w.must(as("ben"), &TaskDone{ID: three, Take: &Take{Runs: true}}).(*Done); got.Next != nil {
		t.Errorf("who is handed its work took up %+v", got.Next)
	}
}
