package cadre

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// world is a scope in memory with nothing between a test and the rules.
type world struct {
	t     testing.TB
	state State
	now   Time
	n     int
}

func newWorld(t testing.TB, scope Scope) *world {
	w := &world{t: t, state: State{Name: scope}, now: Time{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: "boot-1", Up: time.Hour}}
	open, err := OpenLog(Snap{&w.state}, "epoch-1", nil, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.apply(w.command(Self), open)
	return w
}

// newTeam is a world with a team that the operator leads, and some members.
func newTeam(t testing.TB, members ...string) *world {
	w := newWorld(t, "docs")
	w.must(operator, &TeamCreate{Name: "docs"})
	for _, m := range members {
		w.must(operator, &TeamJoin{Name: m})
	}
	return w
}

var (
	operator = Actor{Kind: ActorOperator, Name: "operator", Proof: ProofOwner}
	person   = Actor{Kind: ActorOperator, Name: "operator", Proof: ProofTerminal}
)

// as is the operator acting for a member.
func as(name string) Actor {
	return Actor{Kind: ActorMember, Name: name, Proof: ProofOwner, By: "operator"}
}

// member is a member of the team by its own token.
func member(name string) Actor {
	return Actor{Kind: ActorMember, Name: name, Scope: "docs", Proof: ProofToken}
}

func session(id string) Actor {
	return Actor{Kind: ActorSession, Name: "session-" + id[:min(8, len(id))], Session: id, Proof: ProofEnv}
}

func (w *world) command(a Actor) Command {
	w.n++
	return Command{ID: CommandID(fmt.Sprint("c", w.n)), Actor: a, Door: "test", Verb: "test", Now: w.now}
}

// try carries out a verb and gives its answer and receipt.
func (w *world) try(a Actor, v Change) (any, Receipt, error) {
	w.t.Helper()
	c := w.command(a)
	events, err := v.Decide(Snap{&w.state}, c)
	if err != nil {
		if len(events) > 0 {
			w.t.Fatalf("%T refused with %v and gave %d events all the same", v, err, len(events))
		}
		return nil, Receipt{}, err
	}
	again, err := v.Decide(Snap{&w.state}, c)
	if err != nil || len(again) != len(events) {
		w.t.Fatalf("%T decided twice: %d events, then %d and %v", v, len(events), len(again), err)
	}
	w.apply(c, events)
	r := Receipt{Head: w.state.Head(), Events: events}
	answer, err := v.Answer(Snap{&w.state}, c, r)
	if err != nil {
		w.t.Fatalf("%T was done, but has no answer: %v", v, err)
	}
	w.check()
	return answer, r, nil
}

func (w *world) apply(c Command, events []Event) {
	w.t.Helper()
	if _, _, err := Seal(w.state.Head(), w.state.Name, c, events); err != nil {
		w.t.Fatal(err)
	}
	w.state.Apply(events...)
}

// check holds the state against the invariants.
func (w *world) check() {
	w.t.Helper()
	if err := CheckInvariants(Snap{&w.state}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) must(a Actor, v Change) any {
	w.t.Helper()
	answer, _, err := w.try(a, v)
	if err != nil {
		w.t.Fatalf("%s: %T%+v: %v", a, v, v, err)
	}
	return answer
}

// refused expects a rule to refuse, and everything to stay as it was.
func (w *world) refused(rule Rule, a Actor, v Change) *Error {
	w.t.Helper()
	head := w.state.Head()
	_, _, err := w.try(a, v)
	if e, ok := errors.AsType[*Error](err); !ok || e.Rule != rule {
		w.t.Fatalf("%s: %T%+v: got %v, want a refusal by %q", a, v, v, err, rule)
	}
	if w.state.Head() != head {
		w.t.Fatalf("a refused command moved the log from %v to %v", head, w.state.Head())
	}
	return AsError(err)
}

// add creates tasks and gives the last one's id.
func (w *world) add(subject string, blockedBy ...TaskID) TaskID {
	w.t.Helper()
	return w.must(operator, &TaskAdd{Subject: subject, BlockedBy: blockedBy}).(*Added).ID
}

func (w *world) task(id TaskID) *Task {
	w.t.Helper()
	t, err := Snap{&w.state}.Task(id)
	if err != nil || t == nil {
		w.t.Fatalf("task %s: %v, %v", id, t, err)
	}
	return t
}

func (w *world) look(a Actor, q Query) any {
	w.t.Helper()
	answer, err := q.Look(Snap{&w.state}, w.command(a))
	if err != nil {
		w.t.Fatalf("%T: %v", q, err)
	}
	return answer
}

func (w *world) inbox(name string) []string {
	w.t.Helper()
	var out []string
	for m, err := range (Snap{&w.state}).Unread(name) {
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, string(m.Kind)+" from "+m.From)
	}
	return out
}

func wantIDs(t *testing.T, got []TaskID, want ...TaskID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got tasks %v, want %v", got, want)
	}
}
