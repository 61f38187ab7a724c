package agent

import (
	"context"
	"errors"
	"time"

	"cadre"
)

// loop is the member's life: take what is right to do, do it, look again, and wait
// when there is nothing.
func (r *runner) loop() {
	nothing := &cadre.Error{Code: cadre.CodeNotFound, Rule: cadre.RuleNothing}
	for r.ctx.Err() == nil {
		if r.endsAsAsked() {
			return
		}
		r.v.wait(r, true) // before it looks: what becomes ready from now on wakes it
		answer, err := r.self.Do(r.ctx, "task next", &cadre.TaskNext{Claim: true, Lease: r.v.Lease, Runs: r.backend.RunsOnly()})
		if t, ok := answer.(*cadre.TaskView); err == nil && ok {
			r.v.wait(r, false)
			r.v.wake(func(*runner) bool { return true }) // it may have been woken for another task than it took
			if !r.work(t) {
				return
			}
			continue
		}
		again := time.Duration(1<<63 - 1)
		if !errors.Is(err, nothing) && !errors.Is(err, cadre.ErrForbidden) && r.ctx.Err() == nil { // forbidden: it just left
			r.v.warn("%s cannot take up work: %v", r.member.Name, err)
			again = r.v.Heartbeat
		}
		r.report(cadre.StateIdle, "nothing is ready for it")
		if !r.rest(again) {
			return
		}
	}
}

// rest waits until there may be something to do, and says whether the member goes on.
func (r *runner) rest(most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return false
		case <-r.worker.Done():
			return false
		case <-r.worker.Beats():
		case <-r.wake:
			return true
		case <-timer.C:
			return true
		}
	}
}

// endsAsAsked agrees to a shutdown that was asked for.
func (r *runner) endsAsAsked() bool {
	select {
	case ask := <-r.asked:
		_, err := r.self.Do(r.ctx, "ask approve", &cadre.AskApprove{ID: ask})
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
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	r.mu.Lock()
	r.task, r.fence, r.cancel = t.ID, t.Fence, cancel
	r.mu.Unlock()
	r.report(cadre.StateWorking, "took task "+string(t.ID))
	done := make(chan ended, 1)
	go func() {
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
		return true
	}
	r.finish(t, out.Outcome)
	return true
}

// attend renews the claim for as long as the worker shows that it is alive, and waits
// for it to come back. When it is silent for too long, its claim runs out; when it
// has lost its claim, its work is ended.
func (r *runner) attend(t *cadre.TaskView, lost func(), done <-chan ended) ended {
	renewed := time.Now()
	silence := time.NewTimer(r.v.Lease)
	defer silence.Stop()
	for {
		select {
		case out := <-done:
			return out
		case <-r.worker.Beats():
			if time.Since(renewed) < r.v.Heartbeat/2 {
				continue
			}
			_, err := r.self.Do(r.ctx, "task renew", &cadre.TaskRenew{ID: t.ID, Fence: t.Fence, Lease: r.v.Lease})
			if errors.Is(err, cadre.ErrConflict) || errors.Is(err, cadre.ErrNotFound) {
				lost()
			}
			renewed = time.Now()
			silence.Reset(r.v.Lease)
		case <-silence.C:
			if _, err := r.system().Do(r.ctx, "leases expire", &cadre.LeasesExpire{}); err != nil && r.ctx.Err() == nil {
				r.v.warn("%s: %v", r.member.Name, err)
			}
		}
	}
}

// finish writes what came of a task. A completion that is refused, by a hook or
// because the task waits again, is a failed attempt; a claim that was lost meanwhile is
// somebody else's now.
func (r *runner) finish(t *cadre.TaskView, out Outcome) {
	failed := out.Summary
	if out.OK {
		_, err := r.self.Do(r.ctx, "task done", &cadre.TaskDone{ID: t.ID, Fence: t.Fence, Result: out.Summary, Tell: true})
		if err == nil {
			return
		}
		failed = err.Error()
		if errors.Is(err, cadre.ErrConflict) || r.ctx.Err() != nil {
			r.v.warn("what %s did on task %s came too late: %v", r.member.Name, t.ID, err)
			return
		}
	}
	if _, err := r.self.Do(r.ctx, "task fail", &cadre.TaskFail{ID: t.ID, Fence: t.Fence, Result: failed}); err != nil && r.ctx.Err() == nil {
		r.v.warn("task %s of %s: %v", t.ID, r.member.Name, err)
	}
}
