package agent_test

import (
	"testing"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/coord"
)

// slow is a team whose completions are looked at for longer than a claim lasts.
func slow(t *testing.T) *team {
	w := newTeam(t, func(o *agent.Options) { o.Lease = 300 * time.Millisecond })
	w.end() // the next supervisor begins with the hook
	w.Hooks = &coord.Hooks{Commands: map[coord.HookEvent][]coord.HookCommand{coord.TaskCompleted: {{Command: "echo asked >> asked; sleep 1", Timeout: time.Minute}}}}
	w.supervise()
	return w
}

func TestAClaimOutlastsASlowHook(t *testing.T) {
	w := slow(t)
	id := w.add("echo ran >> ran")
	w.spawn("ann")
	w.until("the hook is asked", func() bool { return len(w.lines("asked")) == 1 })
	time.Sleep(2 * w.options.Lease)
	w.must("leases expire", &cadre.LeasesExpire{}) // as whoever looks for work does
	w.untilDone(id)
	if n := len(w.lines("ran")); n != 1 || w.task(id).Attempts != 0 || len(w.lines("asked")) != 1 {
		t.Errorf("it ran %d times, %d failed, and the hook was asked %d times", n, w.task(id).Attempts, len(w.lines("asked")))
	}
}

func TestWhatAMemberSaysIsDoneIsAskedOnce(t *testing.T) {
	w := slow(t)
	id := w.add("until [ -e end ]; do sleep 0.01; done")
	w.spawn("ann")
	w.untilState("ann", cadre.StateWorking)
	ann := *w.Session
	ann.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: w.Scope, Proof: cadre.ProofProcess}
	if _, err := ann.Do(t.Context(), "task done", &cadre.TaskDone{ID: id, Result: "said so"}); err != nil {
		t.Fatal(err) // its claim is renewed meanwhile, which changes nothing
	}
	if n := len(w.lines("asked")); n != 1 {
		t.Errorf("the hook was asked %d times", n)
	}
	w.must("member kill", &cadre.MemberKill{Name: "ann"})
}
