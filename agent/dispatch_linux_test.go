package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
)

func TestTheSupervisorHandsOutWork(t *testing.T) {
	w := newTeam(t)
	w.must("team mode", &cadre.TeamMode{Mode: cadre.ModeDispatch})
	one := w.add(`echo "$CADRE_TASK" >> ran; sleep 0.05`)
	ids := []cadre.TaskID{one, w.add(`echo "$CADRE_TASK" >> ran`, one)}
	w.spawn("ann", "ben", "cat")
	for range 20 {
		ids = append(ids, w.add(`echo "$CADRE_TASK" >> ran`))
	}
	mine := w.must("task add", &cadre.TaskAdd{Subject: "ben's", Run: `echo "$CADRE_TASK" >> ran`, Owner: "ben"}).(*cadre.Added).ID
	ids = append(ids, mine)
	w.untilDone(ids...)
	for _, name := range []string{"ann", "ben", "cat"} {
		w.untilState(name, cadre.StateIdle)
	}
	got := w.lines("ran")
	slices.Sort(got)
	if len(got) != len(ids) || len(slices.Compact(got)) != len(ids) {
		t.Errorf("%d runs of %d tasks", len(got), len(ids))
	}
	if w.task(mine).Owner != "ben" {
		t.Errorf("ben's task was done by %s", w.task(mine).Owner)
	}
	later := w.add("true") // all of them wait by now
	w.untilDone(later)
	handed := 0
	for e, err := range w.Store.Events(context.Background(), w.Scope, cadre.Head{}, false) {
		if err != nil {
			t.Fatal(err)
		}
		if after, ok := e.After.(*cadre.Task); ok && after.Status == cadre.InProgress && e.Before.(*cadre.Task).Status == cadre.Pending {
			if handed++; e.Verb != "task dispatch" || e.Actor.Kind != cadre.ActorCadre {
				t.Errorf("task %s was started by %q of %s", after.ID, e.Verb, e.Actor)
			}
		}
	}
	if handed != len(ids)+1 {
		t.Errorf("%d starts of %d tasks", handed, len(ids)+1)
	}
}

func TestAMemberThatIsHandedWorkTakesNone(t *testing.T) {
	w := newTeam(t)
	w.must("team mode", &cadre.TeamMode{Mode: cadre.ModeDispatch})
	w.spawn("ann")
	w.untilState("ann", cadre.StateIdle)
	id := w.must("task add", &cadre.TaskAdd{Subject: "nothing to run"}).(*cadre.Added).ID
	ann := *w.Session
	ann.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: w.Scope, Proof: cadre.ProofProcess}
	if _, err := ann.Do(t.Context(), "task next", &cadre.TaskNext{Claim: true}); err == nil || cadre.AsError(err).Rule != cadre.RuleNothing {
		t.Errorf("next: %v", err)
	}
	for _, v := range []any{&cadre.TaskClaim{ID: id}, &cadre.TaskStart{ID: id}, &cadre.TaskDone{ID: id}} {
		if _, err := ann.Do(t.Context(), "x", v); err == nil || cadre.AsError(err).Rule != cadre.RuleLead {
			t.Errorf("%T: %v", v, err)
		}
	}
	w.must("team mode", &cadre.TeamMode{Mode: cadre.ModeSelfClaim})
	if _, err := ann.Do(t.Context(), "task next", &cadre.TaskNext{Claim: true}); err != nil {
		t.Errorf("next, where members take their work: %v", err)
	}
}

func TestModesChangeWhileMembersWork(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann", "ben", "cat", "dan")
	var ids []cadre.TaskID
	for i := range 60 {
		mode := cadre.ModeDispatch
		if i%20 < 10 {
			mode = cadre.ModeSelfClaim
		}
		w.must("team mode", &cadre.TeamMode{Mode: mode})
		ids = append(ids, w.add(`echo "$CADRE_TASK" >> ran`))
	}
	w.untilDone(ids...)
	got := w.lines("ran")
	slices.Sort(got)
	if len(got) != len(ids) || len(slices.Compact(got)) != len(ids) {
		t.Errorf("%d runs of %d tasks", len(got), len(ids))
	}
}

func TestLimitsOfATeam(t *testing.T) {
	w := newTeam(t)
	w.must("team limit", &cadre.TeamLimit{Most: 1, Backend: cadre.BackendShell})
	w.spawn("ann", "ben", "eve")
	w.untilDone(w.add("true"))
	running := func() (n int) {
		for _, name := range []string{"ann", "ben", "eve"} {
			if w.member(name).Process != nil {
				n++
			}
		}
		return n
	}
	if n := running(); n != 1 {
		t.Errorf("%d run, one may", n)
	}
	w.must("team limit", &cadre.TeamLimit{Most: 2})
	w.must("team limit", &cadre.TeamLimit{Most: 0, Backend: cadre.BackendShell})
	w.until("two run", func() bool { return running() == 2 })
	w.must("team limit", &cadre.TeamLimit{})
	w.until("all run", func() bool { return running() == 3 })
}

func TestAPlanGateHoldsACommand(t *testing.T) {
	for _, mode := range []cadre.WorkMode{cadre.ModeSelfClaim, cadre.ModeDispatch} {
		t.Run(string(mode), func(t *testing.T) {
			w := newTeam(t)
			w.must("team mode", &cadre.TeamMode{Mode: mode})
			w.spawn("ann")
			add := func(run string) cadre.TaskID {
				return w.must("task add", &cadre.TaskAdd{Subject: "gated", Run: run, Plan: true}).(*cadre.Added).ID
			}
			approved, refused := add("echo approved >> ran"), add("echo refused >> ran")
			asks := map[cadre.TaskID]*cadre.Ask{}
			w.until("both plans are asked for", func() bool {
				w.view(func(snap cadre.Snap) error {
					for a, err := range snap.OpenAsks() {
						if err != nil {
							return err
						}
						asks[a.Task] = a
					}
					return nil
				})
				return len(asks) == 2
			})
			w.untilDone(w.add("true")) // and others need not wait for that
			if got := w.lines("ran"); len(got) != 0 {
				t.Fatalf("%v ran, and no plan was approved", got)
			}
			if text := asks[approved].Text; !strings.Contains(text, "echo approved") || asks[approved].From != "ann" {
				t.Errorf("%s asks for %q", asks[approved].From, text)
			}
			w.must("ask approve", &cadre.AskApprove{ID: asks[approved].ID})
			w.must("ask reject", &cadre.AskReject{ID: asks[refused].ID, Text: "never"})
			w.untilDone(approved)
			w.until("the other needs a person", func() bool { return slices.Contains(w.task(refused).Flags, cadre.FlagPerson) })
			w.untilState("ann", cadre.StateIdle)
			if got := w.lines("ran"); !slices.Equal(got, []string{"approved"}) {
				t.Errorf("%v ran", got)
			}
			if r := w.task(refused).Result; r == nil || !strings.Contains(r.Summary, "never") {
				t.Errorf("its result is %+v", r)
			}
		})
	}
}

func TestManyMembersWait(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Heartbeat = time.Second })
	w.must("team mode", &cadre.TeamMode{Mode: cadre.ModeDispatch})
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	w.spawn(names...)
	for _, name := range names {
		w.untilState(name, cadre.StateIdle)
	}
	var ids []cadre.TaskID
	for range 40 {
		ids = append(ids, w.add(`echo "$CADRE_TASK" >> ran`))
	}
	w.untilDone(ids...)
	if got := w.lines("ran"); len(got) != len(ids) {
		t.Errorf("%d runs of %d tasks", len(got), len(ids))
	}
}

// around is a store with something before or after each change.
type around struct {
	cadre.Store
	do func(c cadre.Command, change func() (cadre.Receipt, error)) (cadre.Receipt, error)
}

func (a around) Update(ctx context.Context, s cadre.Scope, c cadre.Command, d cadre.Decide) (cadre.Receipt, error) {
	return a.do(c, func() (cadre.Receipt, error) { return a.Store.Update(ctx, s, c, d) })
}

// TestWhatIsHandedInATurnIsPutOff: a member begins a long turn while a task is on its way
// to it. The claim would run out, and nobody tried.
func TestWhatIsHandedInATurnIsPutOff(t *testing.T) {
	w := thinking(t)
	w.end()
	w.must("team mode", &cadre.TeamMode{Mode: cadre.ModeDispatch})
	var reports atomic.Int32
	waits, handing := make(chan struct{}), make(chan struct{})
	w.Coord.Store = around{w.Store, func(c cadre.Command, change func() (cadre.Receipt, error)) (cadre.Receipt, error) {
		if c.Verb == "member report" && reports.Add(1) == 2 { // that it is idle, whereupon it looks at its mail
			close(waits)
			<-handing
		}
		receipt, err := change()
		if c.Verb == "task dispatch" && len(receipt.Events) > 0 && reports.Load() == 2 {
			close(handing)
			w.until("it reads", func() bool { return w.turns() == 2 })
		}
		return receipt, err
	}}
	w.supervise()
	w.spawnCommand("ann", `echo turn >> turns; until [ -e on$(wc -l < turns) ]; do sleep 0.01; done; echo done`, "")
	goOn := func(turn string) {
		if err := os.WriteFile(filepath.Join(w.dir, "on"+turn), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := w.open("Outline")
	w.until("it works", func() bool { return w.turns() == 1 })
	w.must("msg send", &cadre.MsgSend{To: "ann", Text: "read this"})
	goOn("1")
	w.untilDone(one)
	<-waits
	two := w.open("Chapters")
	w.until("it is put off", func() bool {
		return w.turns() == 2 && w.task(two).Status == cadre.Pending && w.task(two).Owner == "ann"
	})
	goOn("2")
	goOn("3")
	w.untilDone(two)
	if got := w.task(two); got.Attempts != 0 {
		t.Errorf("%d attempts at it failed", got.Attempts)
	}
}
