// Package agenttest holds what every agent.Backend must do.
package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
)

// Subject is a backend with what it takes to try it.
type Subject struct {
	Backend agent.Backend
	Member  *cadre.Member // one that it can run
	Odd     *cadre.Member // one that it must refuse
	Env     []string

	Patience time.Duration // how long something may take that must happen; 20 s without

	Succeed *cadre.TaskView // says "hello"
	Fail    *cadre.TaskView // says "sorry" and fails
	Hang    *cadre.TaskView // starts processes that ignore being asked to end, and goes on for ever

	Busy func() bool               // whether the work of Hang has begun
	Left func() []string           // what is left of any work, by name
	Kill func(cadre.Process) error // ends a process without asking
}

// Check is one thing that a backend must do.
type Check struct {
	Name string
	Run  func(Subject, *bench) error
}

// Run checks a backend. Each check gets a subject of its own.
func Run(t *testing.T, subject func(t *testing.T) Subject) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if err := Try(c, subject(t), t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Try makes one check, and says what was wrong.
func Try(c Check, s Subject, dir string) error {
	if s.Patience == 0 {
		s.Patience = 20 * time.Second
	}
	b := &bench{subject: s, dir: dir}
	err := c.Run(s, b)
	for _, w := range b.started {
		w.End()
	}
	return err
}

// bench starts workers that end with the check.
type bench struct {
	subject Subject
	dir     string
	started []agent.Worker
}

func (b *bench) start() (agent.Worker, error) {
	w, err := b.subject.Backend.Start(agent.Spec{
		Scope: "agenttest", Member: b.subject.Member, Dir: b.dir, Env: b.subject.Env, Heartbeat: 20 * time.Millisecond, Grace: 100 * time.Millisecond,
	})
	if err == nil {
		b.started = append(b.started, w)
	}
	return w, err
}

// Checks lists everything that a backend must do.
func Checks() []Check {
	return []Check{
		{"RefusesWhatItCannotHonour", refuses},
		{"DoesTasksOneAfterAnother", doesTasks},
		{"EndsWorkThatIsCancelled", endsWork},
		{"ShowsThatItIsAlive", beats},
		{"ShowsProgress", progress},
		{"TakesMessages", takesMessages},
		{"ReadsMessagesOnce", readsOnce},
		{"LeavesNothingWhenItEnds", func(s Subject, b *bench) error {
			return leavesNothing(s, b, func(w agent.Worker) error { w.End(); w.End(); return nil })
		}},
		{"LeavesNothingWhenItIsKilled", func(s Subject, b *bench) error {
			return leavesNothing(s, b, func(w agent.Worker) error { return s.Kill(w.Process()) })
		}},
	}
}

func refuses(s Subject, _ *bench) error {
	if no := s.Backend.Check(s.Member); len(no) > 0 {
		return fmt.Errorf("a member that it can run is refused: %s", strings.Join(no, "; "))
	}
	if no := s.Backend.Check(s.Odd); len(no) == 0 {
		return errors.New("a member that it cannot run is not refused")
	}
	return nil
}

func doesTasks(s Subject, b *bench) error {
	w, err := b.start()
	if err != nil {
		return err
	}
	if w.Process().PID <= 0 || w.Process().Start == "" {
		return fmt.Errorf("its process is %v", w.Process())
	}
	for range 2 {
		if err := does(s.Patience, w, s.Succeed, true, "hello"); err != nil {
			return err
		}
		if err := does(s.Patience, w, s.Fail, false, "sorry"); err != nil {
			return err
		}
	}
	return nil
}

// does has a worker do a task and looks at what came of it.
func does(patience time.Duration, w agent.Worker, t *cadre.TaskView, ok bool, says string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := w.Do(ctx, t)
	if err != nil {
		return fmt.Errorf("task %s: %w", t.ID, err)
	}
	if got.OK != ok || !strings.Contains(got.Summary, says) {
		return fmt.Errorf("task %s: OK is %t with %q, want %t with %q", t.ID, got.OK, got.Summary, ok, says)
	}
	return nil
}

// hang begins work that does not end by itself, and gives how it ends.
func hang(ctx context.Context, s Subject, w agent.Worker) (<-chan error, error) {
	ended := make(chan error, 1)
	go func() {
		got, err := w.Do(ctx, s.Hang)
		if err == nil && got.OK {
			err = errors.New("work that was ended is told to be done")
			ended <- err
			return
		}
		ended <- nil
	}()
	return ended, within(s.Patience, "the work to begin", s.Busy)
}

func within(patience time.Duration, what string, so func() bool) error {
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("waited in vain for %s", what)
		}
	}
	return nil
}

// arrives waits for something on a channel, or its close.
func arrives[T any](patience time.Duration, what string, c <-chan T) (v T, err error) {
	select {
	case v = <-c:
	case <-time.After(patience):
		err = fmt.Errorf("waited in vain for %s", what)
	}
	return v, err
}

func endsWork(s Subject, b *bench) error {
	w, err := b.start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended, err := hang(ctx, s, w)
	if err != nil {
		return err
	}
	cancel()
	wrong, err := arrives(s.Patience, "the end of cancelled work", ended)
	if err := errors.Join(wrong, err); err != nil {
		return err
	}
	if left := s.Left(); len(left) > 0 {
		return fmt.Errorf("cancelled work left %s", strings.Join(left, ", "))
	}
	return does(s.Patience, w, s.Succeed, true, "hello")
}

func beats(s Subject, b *bench) error {
	w, err := b.start()
	if err != nil {
		return err
	}
	for range 3 {
		if _, err := arrives(s.Patience, "a heartbeat", w.Beats()); err != nil {
			return err
		}
	}
	return nil
}

func progress(s Subject, b *bench) error {
	w, err := b.start()
	if err != nil {
		return err
	}
	before := w.Progress()
	if err := does(s.Patience, w, s.Succeed, true, "hello"); err != nil {
		return err
	}
	return within(s.Patience, "some progress", func() bool { return w.Progress() > before })
}

func takesMessages(s Subject, b *bench) error {
	w, err := b.start()
	if err != nil {
		return err
	}
	m := &cadre.Message{ID: "m1", From: "team-lead", To: s.Member.Name, Kind: cadre.MessagePlain, Text: "hello"}
	return errors.Join(w.Tell(m), w.Tell(m), does(s.Patience, w, s.Succeed, true, "hello"))
}

// readsOnce has a worker that thinks read a message on its own and with a task, each
// once. One that does not think reads nothing.
func readsOnce(s Subject, b *bench) error {
	w, err := b.start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Patience)
	defer cancel()
	tasks := []*cadre.TaskView{s.Succeed, s.Succeed}
	if !s.Backend.RunsOnly() {
		tasks = append(tasks, nil, nil)
	}
	for i, t := range tasks {
		fresh := i%2 == 0
		id := cadre.MessageID(fmt.Sprintf("m%d", i))
		if fresh {
			if err := w.Tell(&cadre.Message{ID: id, From: "team-lead", To: s.Member.Name, Kind: cadre.MessagePlain, Text: "how is it going?"}); err != nil {
				return err
			}
		}
		got, err := w.Do(ctx, t)
		if err != nil {
			return err
		}
		var want []cadre.MessageID
		if fresh && !s.Backend.RunsOnly() {
			want = []cadre.MessageID{id}
		}
		if !got.OK || !slices.Equal(got.Read, want) {
			return fmt.Errorf("turn %d read %v, OK is %t, want %v", i+1, got.Read, got.OK, want)
		}
	}
	return nil
}

// leavesNothing ends a worker in the middle of its work.
func leavesNothing(s Subject, b *bench, end func(agent.Worker) error) error {
	w, err := b.start()
	if err != nil {
		return err
	}
	ended, err := hang(context.Background(), s, w)
	if err != nil {
		return err
	}
	if err := end(w); err != nil {
		return err
	}
	if _, err := arrives(s.Patience, "its end", w.Done()); err != nil {
		return err
	}
	wrong, err := arrives(s.Patience, "the end of its work", ended)
	if err := errors.Join(wrong, err); err != nil {
		return err
	}
	if left := s.Left(); len(left) > 0 {
		return fmt.Errorf("it left %s", strings.Join(left, ", "))
	}
	if w.Why() == "" {
		return errors.New("it does not say how it ended")
	}
	return nil
}
