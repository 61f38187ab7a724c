package agent_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/internal/proc"
)

func TestShutdown(t *testing.T) {
	for name, tt := range map[string]struct {
		run  string
		done bool
	}{
		"idle":                    {"", true},
		"after its task":          {"touch begun; sleep 0.3; touch finished", true},
		"at the deadline":         {`touch begun; trap "" TERM; while :; do sleep 1; done`, false},
		"with what it left there": {`setsid sleep 1000 & touch begun; wait`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTeam(t, func(o *agent.Options) {
				if o.Deadline = 20 * time.Second; !tt.done {
					o.Deadline = 100 * time.Millisecond
				}
			})
			w.spawn("ann")
			w.untilState("ann", cadre.StateIdle)
			var id cadre.TaskID
			if tt.run != "" {
				id = w.add(tt.run)
				w.until("it runs", func() bool { _, err := os.Stat(filepath.Join(w.dir, "begun")); return err == nil })
			}
			w.must("member stop", &cadre.AskShutdownOf{Name: "ann"})
			w.untilState("ann", cadre.StateDeparted)
			w.until("its process is gone", func() bool { return w.member("ann").Process == nil })
			if id != "" && (w.task(id).Status == cadre.Completed) != tt.done {
				t.Errorf("its task is %s", w.task(id).Status)
			}
			for _, p := range proc.Marked("TEST_MARK=" + t.Name()) {
				t.Errorf("process %s is left", p)
			}
			w.view(func(snap cadre.Snap) error {
				for a, err := range snap.OpenAsks() {
					t.Errorf("%+v is open, %v", a, err)
				}
				return nil
			})
		})
	}
}

func TestARefusedShutdownIsNoDeadline(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Deadline = 300 * time.Millisecond })
	w.spawn("ann")
	id := w.add("touch begun; until [ -e end ]; do sleep 0.01; done")
	w.until("it runs", func() bool { _, err := os.Stat(filepath.Join(w.dir, "begun")); return err == nil })
	ask := w.must("member stop", &cadre.AskShutdownOf{Name: "ann"}).(*cadre.Ask)
	ann := *w.Session
	ann.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: w.Scope, Proof: cadre.ProofProcess}
	if _, err := ann.Do(t.Context(), "ask reject", &cadre.AskReject{ID: ask.ID, Text: "not yet"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * w.options.Deadline)
	if m := w.member("ann"); m.State != cadre.StateWorking {
		t.Fatalf("ann is %s: %s", m.State, m.Evidence)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.untilDone(id)
	w.untilState("ann", cadre.StateIdle)
	w.must("member stop", &cadre.AskShutdownOf{Name: "ann"})
	w.untilState("ann", cadre.StateDeparted)
}

func TestWhoIsAskedTwiceEndsOnce(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Deadline = time.Hour })
	w.spawn("ann")
	id := w.add("touch begun; until [ -e end ]; do sleep 0.01; done")
	w.until("it runs", func() bool { _, err := os.Stat(filepath.Join(w.dir, "begun")); return err == nil })
	for range 2 {
		w.must("member stop", &cadre.AskShutdownOf{Name: "ann"})
	}
	if err := os.WriteFile(filepath.Join(w.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.untilDone(id)
	w.untilState("ann", cadre.StateDeparted)
}
