package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cadre"
)

// errNothing says that nothing is right for the member to do now.
var errNothing = &cadre.Error{Code: cadre.CodeNotFound, Rule: cadre.RuleNothing}

// loop is the member's life: take what is right to do, do it, look again, and wait
// when there is nothing.
func (r *runner) loop() {
	for r.ctx.Err() == nil {
		if r.endsAsAsked() {
			return
		}
		t, err := r.next()
		if errors.Is(err, errNothing) && r.due.Load() && (r.free || !r.v.settings().Dispatched()) {
			if r.free = false; !r.think() {
				return
			}
			continue
		}
		if err != nil {
			again := time.Duration(1<<63 - 1)
			if !errors.Is(err, errNothing) && !errors.Is(err, cadre.ErrForbidden) && r.ctx.Err() == nil { // forbidden: it just left
				r.v.warn("%s cannot take up work: %v", r.member.Name, err)
				again = r.v.Heartbeat
			}
			on := false
			if t, on = r.rest(again); !on {
				return
			}
		}
		if t != nil && !r.work(t) {
			return
		}
	}
}

// next is what the member is to do now: what it was handed, or, where members do so,
// what it takes.
func (r *runner) next() (*cadre.TaskView, error) {
	if t := r.taken; t != nil {
		r.taken = nil
		return t, nil
	}
	select {
	case h := <-r.given:
		if t := r.accept(h); t != nil {
			return t, nil
		}
	default:
	}
	r.v.wait(r, true) // before it looks: what becomes ready from now on wakes it
	if r.v.settings().Dispatched() {
		return nil, errNothing
	}
	answer, err := r.self.Do(r.ctx, "task next", &cadre.TaskNext{Claim: true, Lease: r.v.Lease, Runs: r.backend.RunsOnly()})
	if err != nil {
		r.idle()
		return nil, err
	}
	r.v.wait(r, false)
	r.v.wake(func(*runner) bool { return true }) // it may have been woken for another task than it took
	return answer.(*cadre.TaskView), nil
}

// accept gives a task that was handed over, unless that claim is over: a member that
// did something else meanwhile may have found it by itself, or have been at that for too
// long.
func (r *runner) accept(h handed) *cadre.TaskView {
	r.v.wait(r, false)
	if h.turn == r.v.turn(r) {
		return h.task
	}
	if h.task.Status != cadre.InProgress {
		return nil // it is chosen again
	}
	answer, err := r.self.Do(r.ctx, "task renew", &cadre.TaskRenew{ID: h.task.ID, Fence: h.task.Fence, Lease: r.v.Lease})
	if err != nil || answer.(*cadre.TaskView).Status != cadre.InProgress {
		return nil
	}
	return h.task
}

func (r *runner) idle() { r.report(cadre.StateIdle, cmp.Or(r.because, "nothing is ready for it")) }

// rest waits until there may be something to do, and says whether the member goes on.
func (r *runner) rest(most time.Duration) (*cadre.TaskView, bool) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	r.v.rests(r, true)
	defer r.v.rests(r, false)
	poke(r.v.hand)
	for {
		select {
		case <-r.ctx.Done():
			return nil, false
		case <-r.worker.Done():
			return nil, false
		case <-r.worker.Beats():
		case <-r.none:
			if r.idle(); r.due.Load() {
				r.free = true
				return nil, true
			}
		case h := <-r.given:
			return r.accept(h), true
		case <-r.wake:
			return nil, true
		case <-timer.C:
			return nil, true
		}
	}
}

// endsAsAsked agrees to a shutdown that was asked for.
func (r *runner) endsAsAsked() bool {
	select {
	case ask := <-r.asked:
		_, err := r.self.Do(r.ctx, "ask approve", &cadre.AskApprove{ID: ask})
		if errors.Is(err, cadre.ErrConflict) {
			return false // it refused
		}
		if err != nil && r.ctx.Err() == nil {
			r.v.warn("%s was asked to shut down: %v", r.member.Name, err)
			return false
		}
		r.stop(errDeparted)
		return true
	default:
		return false
	}
}

// report says what the member does, if that is new.
func (r *runner) report(state cadre.MemberState, evidence string) {
	if r.state == state || r.ctx.Err() != nil {
		return
	}
	if _, err := r.self.Do(r.ctx, "member report", &cadre.MemberReport{State: state, Evidence: evidence}); err != nil {
		if r.ctx.Err() == nil {
			r.v.warn("%s: %v", r.member.Name, err)
		}
		return
	}
	r.state = state
}

// ended is how a worker came back from a task.
type ended struct {
	Outcome
	err error
}

// work does one task and says what came of it. It says whether the worker is still
// there.
func (r *runner) work(t *cadre.TaskView) bool {
	r.v.begins(r)
	if t.Status != cadre.InProgress && r.backend.RunsOnly() {
		r.plan(t, shown(t))
		return true
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	r.mu.Lock()
	r.task, r.fence, r.cancel = t.ID, t.Fence, cancel
	r.mu.Unlock()
	r.because = ""
	r.report(cadre.StateWorking, "took task "+string(t.ID))
	done := make(chan ended, 1)
	go func() {
		r.due.Store(false)
		out, err := r.worker.Do(ctx, t)
		done <- ended{out, err}
	}()
	out := r.attend(t, cancel, done)
	r.mu.Lock()
	r.cancel = nil
	r.mu.Unlock()
	if out.err != nil || r.ctx.Err() != nil {
		return false
	}
	if ctx.Err() != nil {
		r.state = cadre.StateUnreachable // whoever took the claim away may have said so
		r.because = fmt.Sprintf("interrupted: task %s is not its own any more", t.ID)
		r.due.Store(!r.backend.RunsOnly()) // its mail was not read
		r.expire()                         // it may be that its lease ran out, as after a sleep of the machine
		return true
	}
	r.read(out.Outcome)
	switch {
	case out.Limited:
		r.do("task defer", &cadre.TaskDefer{ID: t.ID, Fence: t.Fence})
		return r.pause(out.Outcome)
	case out.OK && t.Status != cadre.InProgress:
		r.plan(t, out.Summary)
	default:
		r.finish(t, out.Outcome)
	}
	return true
}

// shown is the plan of a member that only runs commands: the task as it is.
func shown(t *cadre.TaskView) string {
	text := t.Subject
	for _, more := range []string{t.Description, t.Run} {
		if more != "" {
			text += "\n\n" + more
		}
	}
	return text
}

// plan asks for the approval without which a task cannot be started. What was refused
// is not asked for again: then a person has to look at the task.
func (r *runner) plan(t *cadre.TaskView, text string) {
	text = strings.ToValidUTF8(text[:min(len(text), cadre.MaxMessage)], "")
	before, err := r.planned(t.ID)
	switch {
	case err != nil:
	case before != nil && before.State == cadre.AskRejected && before.Digest == cadre.Digest(text):
		_, err = r.self.Do(r.ctx, "task fail", &cadre.TaskFail{ID: t.ID, Fence: t.Fence, Final: true, Result: "its plan was not approved: " + before.Answer})
		delete(r.plans, t.ID) // a person who has it tried again is asked again
	default:
		var answer any
		if answer, err = r.self.Do(r.ctx, "ask for", &cadre.AskFor{Kind: cadre.AskPlan, Task: t.ID, Text: text}); err == nil {
			r.plans[t.ID] = answer.(*cadre.Ask).ID
		}
	}
	if err != nil && r.ctx.Err() == nil {
		r.v.warn("the plan of task %s: %v", t.ID, err)
		select { // it would be chosen again at once
		case <-time.After(r.v.Heartbeat):
		case <-r.ctx.Done():
		}
	}
}

// planned is what was last asked about a task's plan, as it stands now: the supervisor
// may not have heard of an answer yet.
func (r *runner) planned(task cadre.TaskID) (ask *cadre.Ask, err error) {
	id, asked := r.plans[task]
	if !asked {
		return nil, nil
	}
	err = r.v.Store.View(r.ctx, r.v.Scope, func(snap cadre.Snap) error {
		ask, err = snap.Ask(id)
		return err
	})
	return ask, err
}

// attend renews the claim for as long as the worker shows that it is alive, and waits
// for it to come back. When it is silent for too long, its claim runs out; when it
// has lost its claim, its work is ended. A turn without a task has no claim. What the
// member is handed meanwhile is put off.
func (r *runner) attend(t *cadre.TaskView, lost func(), done <-chan ended) ended {
	renewed, seen := time.Now(), r.progress()
	moved := renewed
	silence := time.NewTimer(r.v.Lease)
	defer silence.Stop()
	does := "what it was told"
	if t != nil {
		does = "task " + string(t.ID)
	}
	for {
		select {
		case out := <-done:
			return out
		case <-r.worker.Beats():
			if now := r.progress(); now != seen {
				seen, moved = now, time.Now()
			}
			if time.Since(moved) >= r.v.Stall {
				r.report(cadre.StateStalled, fmt.Sprintf("%s: nothing to see of it since %s", does, moved.UTC().Format(time.TimeOnly)))
			} else if r.state == cadre.StateStalled {
				r.report(cadre.StateWorking, does+" goes on")
			}
			if time.Since(renewed) < r.v.Heartbeat/2 || t == nil || t.Status != cadre.InProgress { // a claim to plan has no end
				continue
			}
			_, err := r.self.Do(r.ctx, "task renew", &cadre.TaskRenew{ID: t.ID, Fence: t.Fence, Lease: r.v.Lease})
			if errors.Is(err, cadre.ErrConflict) || errors.Is(err, cadre.ErrNotFound) {
				lost()
			}
			renewed = time.Now()
			silence.Reset(r.v.Lease)
		case h := <-r.given: // too late: nobody would renew that claim
			if h.task.Status == cadre.InProgress && (t == nil || t.ID != h.task.ID) {
				r.do("task defer", &cadre.TaskDefer{ID: h.task.ID, Fence: h.task.Fence})
			}
		case <-silence.C:
			r.expire()
		}
	}
}

// expire has it noted which claims are over. A look for work would do so too, but if
// there is none it changes nothing.
func (r *runner) expire() {
	if _, err := r.v.system().Do(r.ctx, "leases expire", &cadre.LeasesExpire{}); err != nil && r.ctx.Err() == nil {
		r.v.warn("%s: %v", r.member.Name, err)
	}
}

// progress is what there is to see of the member's work.
func (r *runner) progress() int64 { return r.worker.Progress() + r.said.Load() }

// finish writes what came of a task. A completion that is refused, by a hook or
// because the task waits again, is a failed attempt; a claim that was lost meanwhile is
// somebody else's now.
func (r *runner) finish(t *cadre.TaskView, out Outcome) {
	failed := out.Summary
	if out.OK {
		done := &cadre.TaskDone{ID: t.ID, Fence: t.Fence, Result: out.Summary, Tell: true}
		if r.backend.RunsOnly() && len(r.asked) == 0 && !r.v.settings().Dispatched() { // others may have something else to do first
			done.Take = &cadre.Take{Lease: r.v.Lease, Runs: true}
		}
		letGo := r.hold(t)
		answer, err := r.self.Do(r.ctx, "task done", done)
		letGo()
		if err == nil {
			if done.Take != nil {
				r.taken = answer.(*cadre.Done).Next
			}
			return
		}
		failed = err.Error()
		if errors.Is(err, cadre.ErrConflict) || r.ctx.Err() != nil {
			r.v.warn("what %s did on task %s came too late: %v", r.member.Name, t.ID, err)
			return
		}
	}
	r.failed("task "+string(t.ID), failed)
	if _, err := r.self.Do(r.ctx, "task fail", &cadre.TaskFail{ID: t.ID, Fence: t.Fence, Result: failed}); err != nil && r.ctx.Err() == nil {
		r.v.warn("task %s of %s: %v", t.ID, r.member.Name, err)
	}
}

// failed says why the member has nothing to do: something came to nothing.
func (r *runner) failed(what, why string) {
	first, _, _ := strings.Cut(why, "\n")
	r.because = fmt.Sprintf("failed: %s, %s", what, strings.ToValidUTF8(first[:min(len(first), 200)], ""))
}

// hold renews a claim until it is let go, while something else than the worker is waited
// for: a hook may take longer than a lease.
func (r *runner) hold(t *cadre.TaskView) (letGo func()) {
	over := make(chan struct{})
	var held sync.WaitGroup
	held.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(r.v.Lease / 3):
			}
			if _, err := r.self.Do(r.ctx, "task renew", &cadre.TaskRenew{ID: t.ID, Fence: t.Fence, Lease: r.v.Lease}); err != nil {
				return // whoever holds it will hear of that
			}
		}
	})
	return func() {
		close(over)
		held.Wait()
	}
}
