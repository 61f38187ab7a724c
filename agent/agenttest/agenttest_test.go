package agenttest

import (
	"context"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
)

// sloppy is a backend that does one thing wrong at a time.
type sloppy struct{ wrong string }

func (s sloppy) Check(m *cadre.Member) []string {
	if (m.Model != "") != (s.wrong == "RefusesWhatItCannotHonour") {
		return []string{"model"}
	}
	return nil
}

func (sloppy) RunsOnly() bool { return false }

func (s sloppy) Start(agent.Spec) (agent.Worker, error) {
	w := &sloppyWorker{sloppy: s, done: make(chan struct{}), beat: make(chan struct{}, 3)}
	if s.wrong != "ShowsThatItIsAlive" {
		for range 3 {
			w.beat <- struct{}{}
		}
	}
	return w, nil
}

type sloppyWorker struct {
	sloppy
	done, beat chan struct{}
	ended      bool
	did        int64
	mail       []cadre.MessageID
}

func (w *sloppyWorker) Process() cadre.Process { return cadre.Process{PID: 1, Start: "now"} }

func (w *sloppyWorker) Do(ctx context.Context, t *cadre.TaskView) (agent.Outcome, error) {
	if t != nil && t.ID == "hang" {
		select {
		case <-ctx.Done():
		case <-w.done:
		}
		return agent.Outcome{OK: w.wrong == "EndsWorkThatIsCancelled"}, nil
	}
	if w.wrong != "ShowsProgress" {
		w.did++
	}
	read := w.mail
	if w.mail = nil; w.wrong == "ReadsMessagesOnce" {
		w.mail = read
	}
	if t == nil {
		return agent.Outcome{OK: true, Read: read}, nil
	}
	ok := t.ID == "succeed" || w.wrong == "DoesTasksOneAfterAnother"
	return agent.Outcome{OK: ok, Summary: "hello, or sorry", Read: read}, nil
}

func (w *sloppyWorker) Tell(m *cadre.Message) error {
	if w.wrong == "TakesMessages" {
		return context.Canceled
	}
	w.mail = append(w.mail, m.ID)
	return nil
}

func (w *sloppyWorker) Beats() <-chan struct{} { return w.beat }
func (w *sloppyWorker) Progress() int64        { return w.did }
func (w *sloppyWorker) Done() <-chan struct{}  { return w.done }

func (w *sloppyWorker) Why() string {
	if w.wrong == "LeavesNothingWhenItIsKilled" {
		return ""
	}
	return "it ended"
}

func (w *sloppyWorker) End() {
	if !w.ended {
		w.ended = true
		close(w.done)
	}
}

func sloppySubject(wrong string) Subject {
	s := Subject{
		Backend: sloppy{wrong}, Member: &cadre.Member{Name: "ann"}, Odd: &cadre.Member{Name: "ann", Model: "large"},
		Succeed: &cadre.TaskView{ID: "succeed"}, Fail: &cadre.TaskView{ID: "fail"}, Hang: &cadre.TaskView{ID: "hang"},
		Busy: func() bool { return true }, Patience: 200 * time.Millisecond,
		Left: func() []string { return nil },
	}
	if wrong == "LeavesNothingWhenItEnds" {
		s.Left = func() []string { return []string{"a process"} }
	}
	return s
}

// TestEachCheckCanFail gives every check a backend that does just that wrong.
func TestEachCheckCanFail(t *testing.T) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			for wrong, fails := range map[string]bool{"": false, c.Name: true} {
				s := sloppySubject(wrong)
				var w *sloppyWorker
				s.Backend = watched{s.Backend, &w}
				s.Kill = func(cadre.Process) error { w.End(); return nil }
				if err := Try(c, s, t.TempDir()); (err != nil) != fails {
					t.Errorf("with %q wrong: %v", wrong, err)
				}
			}
		})
	}
}

// watched remembers the worker that was started.
type watched struct {
	agent.Backend
	worker **sloppyWorker
}

func (b watched) Start(s agent.Spec) (agent.Worker, error) {
	w, err := b.Backend.Start(s)
	*b.worker = w.(*sloppyWorker)
	return w, err
}
