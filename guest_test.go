package cadre

import (
	"strings"
	"testing"
	"time"
)

// pass lets time go by, on both clocks.
func (w *world) pass(d time.Duration) {
	w.wait(d)
	w.now.Up += d
}

// TestAGuestsClaimIsLeasedAtOnce, whichever way the task becomes its own.
func TestAGuestsClaimIsLeasedAtOnce(t *testing.T) {
	w := newTeam(t)
	me := guest("codex", "c1")
	w.must(me, &TaskAdd{Subject: "made for itself", Owner: "codex"})
	w.add("two")
	w.add("three")
	w.add("four")
	w.must(me, &TaskUpdate{ID: "2", Owner: new("codex")})
	w.must(me, &TaskUpdate{ID: "3", Owner: new("codex"), Status: new("in_progress")})
	w.must(me, &TaskUpdate{ID: "4", Status: new("in_progress")})
	for _, id := range []TaskID{"1", "2", "3", "4"} {
		if got := w.task(id); got.Owner != "codex" || !got.Leased {
			t.Errorf("task %s: owner %q, lease %v", id, got.Owner, got.Leased)
		}
	}
	w.must(me, &TaskUpdate{ID: "3", Status: new("completed")})
	if w.task("3").Leased {
		t.Error("a completed task has a lease")
	}
	w.add("of another")
	w.must(operator, &TaskUpdate{ID: "5", Owner: new("bob")})
	if w.task("5").Leased {
		t.Error("somebody else's claim has a lease")
	}
}

// TestAGuestThatIsSilentIsLost: with all that it had, also what it was given, and the
// lead is told once. Whoever looks at its task finds it free.
func TestAGuestThatIsSilentIsLost(t *testing.T) {
	w := newTeam(t, "ann")
	me := guest("codex", "c1")
	w.add("one")
	w.add("two")
	w.must(me, &TaskClaim{ID: "1"})
	w.must(operator, &TaskUpdate{ID: "2", Owner: new("codex")})
	w.pass(GuestLease - time.Second)
	w.must(me, &GuestRenew{})
	w.pass(GuestLease - time.Second)
	if lost, err := (Snap{&w.state}).GuestsLost(w.now); err != nil || lost {
		t.Fatalf("a guest that was renewed is lost: %v, %v", lost, err)
	}
	w.refused(RuleOwned, as("ann"), &TaskClaim{ID: "1"})
	w.pass(2 * time.Second)
	if lost, err := (Snap{&w.state}).GuestsLost(w.now); err != nil || !lost {
		t.Fatalf("a silent guest is not lost: %v, %v", lost, err)
	}
	w.must(as("ann"), &TaskClaim{ID: "1"})
	if one, two := w.task("1"), w.task("2"); one.Owner != "ann" || two.Owner != "" || two.Status != Pending {
		t.Errorf("one is %s's, two %q's", one.Owner, two.Owner)
	}
	if m := w.member("codex"); m.State != StateUnreachable {
		t.Errorf("the guest is %s", m.State)
	}
	w.must(Self, &LeasesExpire{})
	if got := w.told(); !strings.Contains(got, "codex was lost") || !strings.Contains(got, "task 1, 2") || len(w.inbox(LeadName)) != 1 {
		t.Errorf("the lead was told %d times, the last time: %s", len(w.inbox(LeadName)), got)
	}
	w.must(me, &GuestRenew{})
	if m := w.member("codex"); m.State != StateIdle || m.Lease == nil || w.task("1").Owner != "ann" {
		t.Errorf("back again it is %s", m.State)
	}
}

// TestAGuestThatHoldsNothingIsLostToo, later, and saying that it is there is no event
// each time.
func TestAGuestThatHoldsNothingIsLostToo(t *testing.T) {
	w := newTeam(t)
	me := guest("codex", "c1")
	w.must(me, &TaskAdd{Subject: "for whoever"})
	events := 0
	for range 60 {
		w.pass(10 * time.Second)
		_, r, err := w.try(me, &GuestRenew{})
		if err != nil {
			t.Fatal(err)
		}
		events += len(r.Events)
	}
	if events == 0 || events > 6 {
		t.Errorf("to be there for ten minutes took %d events", events)
	}
	w.must(Self, &LeasesExpire{Guests: true})
	if m := w.member("codex"); m.State != StateIdle {
		t.Fatalf("it is %s", m.State)
	}
	w.pass(GuestStay)
	w.must(Self, &LeasesExpire{Guests: true})
	if m := w.member("codex"); m.State != StateDeparted {
		t.Errorf("it is %s", m.State)
	}
	if got := w.told(); !strings.Contains(got, "codex was lost (its lease ran out)") || strings.Contains(got, "pending again") {
		t.Errorf("the lead was told: %s", got)
	}
}

// TestALostGuestHasLeftOnceItsStayIsOver, of which nobody is told twice; and is back, as
// who it was, when its connection is there after all.
func TestALostGuestHasLeftOnceItsStayIsOver(t *testing.T) {
	for how, comes := range map[string]func(*world, Actor){
		"it renews":         func(w *world, me Actor) { w.must(me, &GuestRenew{}) },
		"it does something": func(w *world, me Actor) { w.must(me, &TaskAdd{Subject: "two"}) },
	} {
		t.Run(how, func(t *testing.T) {
			w := newTeam(t)
			me := guest("codex", "c1")
			w.add("one")
			w.must(me, &TaskClaim{ID: "1"})
			w.pass(GuestLease)
			w.must(Self, &LeasesExpire{Guests: true})
			if m := w.member("codex"); m.State != StateUnreachable || w.task("1").Attempts != 1 {
				t.Fatalf("it is %s, after %d attempts", m.State, w.task("1").Attempts)
			}
			w.pass(GuestStay)
			if lost, err := (Snap{&w.state}).GuestsLost(w.now); err != nil || !lost {
				t.Fatalf("nobody sees that it has left: %v, %v", lost, err)
			}
			w.must(Self, &LeasesExpire{Guests: true})
			if m := w.member("codex"); m.State != StateDeparted {
				t.Errorf("after its stay it is %s", m.State)
			}
			if lost, err := (Snap{&w.state}).GuestsLost(w.now); err != nil || lost || len(w.inbox(LeadName)) != 1 {
				t.Errorf("lost again: %v, %v; the lead was told %d times", lost, err, len(w.inbox(LeadName)))
			}
			comes(w, me)
			if m := w.member("codex"); m.State != StateIdle || m.Lease.expired(w.now) || len(w.look(operator, &TeamShow{}).(*TeamView).Members) != 2 {
				t.Errorf("back again it is %+v", m)
			}
			w.must(operator, &MemberLeave{Name: "codex"})
			w.must(me, &GuestRenew{})
			if m := w.member("codex"); m.State != StateDeparted {
				t.Errorf("who was taken out of the team is %s", m.State)
			}
		})
	}
}

// TestOnlyWhatGuestsHeldIsGivenBackByWhoLooks: a member that Cadre runs has a supervisor
// for that.
func TestOnlyWhatGuestsHeldIsGivenBackByWhoLooks(t *testing.T) {
	w := newTeam(t, "ann")
	w.add("one")
	w.must(as("ann"), &TaskClaim{ID: "1", Lease: time.Second})
	w.pass(time.Minute)
	w.must(Self, &LeasesExpire{Guests: true})
	if got := w.task("1").Owner; got != "ann" {
		t.Errorf("it is %q's", got)
	}
	w.must(Self, &LeasesExpire{})
	if got := w.task("1").Owner; got != "" {
		t.Errorf("it is %q's", got)
	}
	list := newWorld(t, "docs")
	list.add("one")
	list.must(guest("codex", "c1"), &TaskClaim{ID: "1"})
	list.pass(GuestLease)
	list.must(Self, &LeasesExpire{Guests: true})
	if got := list.task("1").Owner; got != "" {
		t.Errorf("on a list without a team it is %q's", got)
	}
}

// TestATeamIsDormantWhenAGuestThatLedItIsGone, and another may take it over.
func TestATeamIsDormantWhenAGuestThatLedItIsGone(t *testing.T) {
	founder := guest("codex", "c1")
	founder.Role = RoleLead
	for how, goes := range map[string]func(*world){
		"hangs up":  func(w *world) { w.must(founder, &MemberLeave{}) },
		"is killed": func(w *world) { w.pass(GuestStay); w.must(Self, &LeasesExpire{Guests: true}) },
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, "docs")
			w.must(founder, &TeamCreate{Name: "docs"})
			w.must(founder, &TaskAdd{Subject: "one", Owner: LeadName})
			w.must(founder, &TeamLabel{Label: "Mine"})
			w.refused(RuleAlive, session("s1"), &TeamTake{})
			goes(w)
			if team := w.look(operator, &TeamShow{}).(*TeamView); !team.NoLead || w.task("1").Owner != "" {
				t.Fatalf("dormant: %v, the task is %q's", team.NoLead, w.task("1").Owner)
			}
			w.must(session("s1"), &TeamTake{})
			w.must(session("s1"), &TeamLabel{Label: "Ours"})
			w.refused(RuleLead, founder, &TeamLabel{Label: "Mine again"})
			if m := w.member(LeadName); m.Lease != nil {
				t.Error("a session that took over has a lease")
			}
		})
	}
	w := newWorld(t, "docs")
	w.must(founder, &TeamCreate{Name: "docs"})
	w.pass(GuestStay)
	w.must(Self, &LeasesExpire{Guests: true})
	w.must(founder, &GuestRenew{})
	if w.look(operator, &TeamShow{}).(*TeamView).NoLead {
		t.Error("a lead that is there again does not lead")
	}
}

// TestGuestsOfOneProgramGetNamesOfTheirOwn, also beside the one that founded the team.
func TestGuestsOfOneProgramGetNamesOfTheirOwn(t *testing.T) {
	w := newWorld(t, "docs")
	founder := guest("codex", "c1")
	founder.Role = RoleLead
	w.must(founder, &TeamCreate{Name: "docs"})
	w.must(guest("codex", "c2"), &TeamJoin{})
	w.must(guest("codex", "c3"), &TeamJoin{})
	for name, connection := range map[string]string{"codex-2": "c2", "codex-3": "c3"} {
		if m := w.member(name); m == nil || m.Session != connection {
			t.Errorf("%s is %+v", name, m)
		}
	}
	w.refused(RuleName, guest("codex", "c4"), &TeamJoin{Name: "codex"})
}
