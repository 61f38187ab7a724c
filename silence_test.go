package cadre

import (
	"slices"
	"testing"
	"time"
)

// played makes a team whose lead and whose bob a client plays, bob at work since now, and
// whose ann is driven by hand, at work as well.
func played(t *testing.T) *world {
	w := newWorld(t, "docs")
	w.must(External, &Foreign{
		Team: &ForeignTeam{Name: "docs", CreatedAt: w.now.Wall, LeadSession: "s", Members: []ForeignMember{
			{Name: LeadName, Lead: true, JoinedAt: w.now.Wall}, {Name: "bob", JoinedAt: w.now.Wall},
		}},
		Tasks: []ForeignTask{
			{ID: "1", By: External, Subject: new("one"), Status: new("in_progress"), Owner: new("bob")},
			{ID: "2", By: External, Subject: new("two"), Status: new("in_progress"), Owner: new(LeadName)},
		},
	})
	w.must(operator, &TeamJoin{Name: "ann"})
	w.must(as("ann"), &TaskStart{ID: w.add("three")})
	return w
}

func TestClientsHeard(t *testing.T) {
	w := played(t)
	began := w.now.Wall
	heard := func(after time.Duration, names ...string) {
		t.Helper()
		v := &ClientsHeard{Last: map[string]time.Time{}}
		for _, n := range names {
			v.Last[n] = began.Add(after)
		}
		w.must(Self, v)
	}
	states := func() (out []MemberState) {
		for _, n := range []string{LeadName, "bob", "ann"} {
			out = append(out, w.member(n).State)
		}
		return out
	}
	listens := func() bool {
		l, err := Snap{&w.state}.ListensFor(w.now.Wall)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	w.pass(StalledAfter - time.Second)
	if heard(0, LeadName, "bob", "ann"); slices.Contains(states(), StateStalled) || listens() {
		t.Errorf("too early: %v", states())
	}
	w.pass(time.Second)
	if !listens() {
		t.Error("nobody listens")
	}
	heard(0, LeadName)
	if got := states(); !slices.Equal(got, []MemberState{StateStalled, StateIdle, StateIdle}) {
		t.Errorf("of bob nothing is told: %v", got)
	}
	mail := len(w.inbox(LeadName))
	heard(0, LeadName, "bob", "ann")
	if got := states(); !slices.Equal(got, []MemberState{StateStalled, StateStalled, StateIdle}) {
		t.Errorf("silent are the lead and bob: %v", got)
	}
	heard(0, LeadName, "bob", "ann")
	if got := len(w.inbox(LeadName)); got != mail+1 {
		t.Errorf("the lead was told %d times", got-mail)
	}
	// The team's file goes on saying that bob is in a turn.
	w.must(External, &Foreign{Team: &ForeignTeam{Name: "docs", CreatedAt: began, Members: []ForeignMember{
		{Name: LeadName, Lead: true, JoinedAt: began}, {Name: "bob", JoinedAt: began, Active: new(true)},
	}}})
	if got := w.member("bob").State; got != StateStalled {
		t.Errorf("a dead client's file makes bob %s", got)
	}
	w.pass(time.Minute)
	heard(StalledAfter+30*time.Second, LeadName)
	w.must(operator, &TaskRelease{ID: "1"})
	heard(0, "bob")
	if got := states(); !slices.Equal(got, []MemberState{StateIdle, StateIdle, StateIdle}) {
		t.Errorf("the lead goes on, and bob has nothing to do: %v", got)
	}
	if w.must(operator, &TaskRelease{ID: "2"}); listens() {
		t.Error("there is nothing to listen for")
	}
}

// A client's member that stopped in the middle of a turn is stalled until it is heard
// again, also without a task, and the lead is told once.
func TestSilenceInATurn(t *testing.T) {
	w := played(t)
	began := w.now.Wall
	says := func() {
		w.must(External, &Foreign{Team: &ForeignTeam{Name: "docs", CreatedAt: began, Members: []ForeignMember{
			{Name: LeadName, Lead: true, JoinedAt: began}, {Name: "bob", JoinedAt: began, Active: new(true)},
		}}})
	}
	w.must(operator, &TaskRelease{ID: "1"})
	says()
	mail := len(w.inbox(LeadName))
	for range 3 {
		w.pass(StalledAfter)
		w.must(Self, &ClientsHeard{Last: map[string]time.Time{"bob": began}})
		says()
		if bob := w.member("bob"); bob.State != StateStalled {
			t.Errorf("bob is %s: %s", bob.State, bob.Evidence)
		}
	}
	if got := len(w.inbox(LeadName)) - mail; got != 1 {
		t.Errorf("the lead was told %d times", got)
	}
	w.pass(time.Minute)
	w.must(Self, &ClientsHeard{Last: map[string]time.Time{"bob": w.now.Wall}})
	if bob := w.member("bob"); bob.State != StateWorking || bob.Evidence != inTurn {
		t.Errorf("bob is heard again, and is %s: %s", bob.State, bob.Evidence)
	}
}
