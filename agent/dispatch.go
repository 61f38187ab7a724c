package agent

import (
	"context"

	"cadre"
)

// handed is a task that a member was given.
type handed struct {
	task *cadre.TaskView
	turn int // of the member, when it was asked for
}

// dispatch hands out work whenever there may be some, until the context ends. Whoever
// waits longest comes first; as many as wait are served in one commit.
func (v *Supervisor) dispatch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.hand:
		}
		if !v.settings().Dispatched() {
			continue
		}
		if err := v.handOut(ctx); err != nil && ctx.Err() == nil {
			v.warn("handing out work: %v", err)
		}
	}
}

func (v *Supervisor) handOut(ctx context.Context) error {
	waiting, turns := v.waiting()
	if len(waiting) == 0 {
		return nil
	}
	command := &cadre.TasksDispatch{Lease: v.Lease}
	for _, r := range waiting {
		command.To = append(command.To, cadre.Idler{Name: r.member.Name, Runs: r.backend.RunsOnly()})
	}
	answer, err := v.system().Do(ctx, "task dispatch", command)
	if err != nil {
		return err
	}
	got := map[string]*cadre.TaskView{}
	for _, h := range answer.([]cadre.Handed) {
		got[h.To] = h.Task
	}
	for i, r := range waiting {
		if t := got[r.member.Name]; t != nil {
			v.give(r, handed{t, turns[i]})
		} else {
			poke(r.none)
		}
	}
	return nil
}

// give hands a task to a member that waited. It counts as waiting again only once it
// has taken it.
func (v *Supervisor) give(r *runner, h handed) {
	v.wait(r, false)
	v.mu.Lock()
	defer v.mu.Unlock()
	r.resting = false
	r.given <- h // there is room: whoever has something waiting does not rest
}

// waiting are the members that wait to be handed work, the longest first, and how often
// each of them began something.
func (v *Supervisor) waiting() (out []*runner, turns []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.idle {
		if r.resting {
			out, turns = append(out, r), append(turns, r.turns)
		}
	}
	return out, turns
}

// begins counts that a member begins something.
func (v *Supervisor) begins(r *runner) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r.turns++
}

func (v *Supervisor) turn(r *runner) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return r.turns
}

// rests says whether a member does nothing but wait, and has nothing waiting.
func (v *Supervisor) rests(r *runner, rests bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r.resting = rests && len(r.given) == 0
}

// wakeAll has everybody who waits look for work: how they come to it has changed.
func (v *Supervisor) wakeAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.runners {
		r.signal()
	}
}
