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
	"cadre/coord"
)

func TestAMemberStallsWithoutProgress(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Stall = 150 * time.Millisecond })
	w.spawn("ann", "ben")
	quiet := w.must("task add", &cadre.TaskAdd{Subject: "quiet", Owner: "ann", Run: "until [ -e go ]; do sleep 0.01; done; echo on; until [ -e end ]; do sleep 0.01; done"}).(*cadre.Added).ID
	w.must("task add", &cadre.TaskAdd{Subject: "loud", Owner: "ben", Run: "until [ -e end ]; do echo here; sleep 0.02; done"})
	w.untilState("ann", cadre.StateStalled)
	if m := w.member("ann"); !strings.Contains(m.Evidence, "task "+string(quiet)+": nothing to see") {
		t.Errorf("because %q", m.Evidence)
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("go")
	w.untilState("ann", cadre.StateWorking)
	w.untilState("ann", cadre.StateStalled) // again
	if got := w.task(quiet); got.Status != cadre.InProgress || got.Attempts != 0 {
		t.Errorf("%+v", got)
	}
	touch("end")
	w.untilDone(quiet)
	w.untilState("ann", cadre.StateIdle)
	w.untilState("ben", cadre.StateIdle)
	if ann, ben := w.told("ann is stalled"), w.told("ben is stalled"); ann != 2 || ben != 0 {
		t.Errorf("the lead was told %d times of ann, which stalled twice, and %d times of ben, which did not", ann, ben)
	}
}

func TestWhatAMemberDoesItselfIsProgress(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Stall = 400 * time.Millisecond })
	w.spawn("ann")
	id := w.add("until [ -e end ]; do sleep 0.01; done")
	w.untilState("ann", cadre.StateWorking)
	ann := *w.Session
	ann.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: w.Scope, Proof: cadre.ProofProcess}
	for i := range 30 {
		if _, err := ann.Do(t.Context(), "task comment", &cadre.TaskComment{ID: id, Text: fmt.Sprint("step ", i)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if n := w.told("is stalled"); n != 0 {
		t.Errorf("the lead was told %d times that it is stalled", n)
	}
	w.untilState("ann", cadre.StateStalled) // and without it is
	if err := os.WriteFile(filepath.Join(w.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.untilDone(id)
}

func TestAsksThatNobodyAnswersEndByThemselves(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	after := 300 * time.Millisecond
	w.must("team policy", &cadre.TeamPolicy{Kind: cadre.AskPlan, Then: cadre.PolicyApprove, After: &after})
	longer := time.Hour
	w.must("team policy", &cadre.TeamPolicy{Kind: cadre.AskQuestion, Then: cadre.PolicyDeny, After: &longer})
	id := w.must("task add", &cadre.TaskAdd{Subject: "gated", Run: "true", Plan: true}).(*cadre.Added).ID
	ann := *w.Session
	ann.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: w.Scope, Proof: cadre.ProofProcess}
	answer, err := ann.Do(t.Context(), "ask for", &cadre.AskFor{Kind: cadre.AskQuestion, Text: "why?"})
	if err != nil {
		t.Fatal(err)
	}
	question := answer.(*cadre.Ask)
	w.untilDone(id) // nobody looks meanwhile but the test, past every door
	w.must("team policy", &cadre.TeamPolicy{Kind: cadre.AskQuestion, Then: cadre.PolicyDeny, After: &after})
	w.until("the question is over", func() bool {
		var a *cadre.Ask
		w.view(func(snap cadre.Snap) (err error) { a, err = snap.Ask(question.ID); return err })
		return a.State == cadre.AskExpired && a.AnsweredBy == "policy"
	})
}

func TestIdleMembersSayWhy(t *testing.T) {
	w := newTeam(t)
	w.spawn("ann")
	w.untilState("ann", cadre.StateIdle)
	w.add("exit 3")
	w.until("it gave up", func() bool {
		m := w.member("ann")
		return m.State == cadre.StateIdle && strings.Contains(m.Evidence, "exit code 3")
	})
	id := w.add("touch begun; sleep 1000")
	w.until("it runs", func() bool { _, err := os.Stat(filepath.Join(w.dir, "begun")); return err == nil })
	owner := "somebody-else"
	w.must("task update", &cadre.TaskUpdate{ID: id, Owner: &owner})
	w.until("it was interrupted", func() bool {
		m := w.member("ann")
		return m.State == cadre.StateIdle && strings.HasPrefix(m.Evidence, "interrupted")
	})
}

func TestTurnsWithoutNewsAreNoMailForTheLead(t *testing.T) {
	w := newTeam(t)
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprint("m", i))
	}
	w.spawn(names...)
	for _, name := range names {
		w.untilState(name, cadre.StateIdle)
	}
	w.must("msg ack", &cadre.MsgAck{})
	woken := make(chan any, 1)
	waiting := *w.Session
	go func() {
		answer, _ := waiting.Do(context.Background(), "msg wait", &coord.MsgWait{Timeout: time.Minute})
		woken <- answer
	}()
	for turn := range 3 {
		for i, name := range names {
			m := w.must("msg send", &cadre.MsgSend{To: name, Text: fmt.Sprint("anything new? ", turn)}).(*cadre.MessageView)
			w.until(name+" was told", func() (told bool) {
				w.view(func(snap cadre.Snap) error {
					got, err := snap.Message(m.ID)
					told = got.DeliveredAt != nil
					return err
				})
				return told
			})
			peer := *w.Session
			peer.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: name, Scope: w.Scope, Proof: cadre.ProofProcess}
			if _, err := peer.Do(t.Context(), "msg send", &cadre.MsgSend{To: names[(i+1)%8], Text: fmt.Sprint("no news ", turn)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	select {
	case mail := <-woken:
		t.Fatalf("the lead was woken with %+v", mail)
	default:
	}
	id := w.add("true") // and now there is something
	w.untilDone(id)
	mail := (<-woken).([]*cadre.MessageView)
	if len(mail) != 2 || !strings.Contains(mail[0].Text, "completed task") || mail[1].Kind != cadre.MessageDigest || !strings.Contains(mail[1].Summary, "24 messages between members") {
		t.Errorf("the lead reads %+v", mail)
	}
}

// TestLeasesThatRanOutAreNoted has the machine sleep for longer than a lease, again and
// again: each time the task is tried once more, and then it needs a person. Nobody else
// is there to look.
func TestLeasesThatRanOutAreNoted(t *testing.T) {
	var slept atomic.Int64
	w := newTeam(t, func(o *agent.Options) { o.Lease, o.Heartbeat = time.Minute, 20*time.Millisecond })
	w.end()
	w.Coord.Now = func() cadre.Time {
		at := now()
		at.Up += time.Duration(slept.Load())
		return at
	}
	w.supervise()
	w.spawn("ann")
	id := w.add("echo x >> ran; sleep 1000")
	for n := 1; n <= cadre.DefaultAttempts; n++ {
		w.until("it runs", func() bool { return len(w.lines("ran")) == n })
		slept.Add(int64(2 * time.Minute))
		w.until("that is noted", func() bool { return w.task(id).Attempts == n })
	}
	w.until("it needs a person", func() bool { return slices.Contains(w.task(id).Flags, cadre.FlagPerson) && w.task(id).Owner == "" })
}
