package claudedir

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// turns are the passes of one scope in this process, one after the other. Who comes
// while one runs waits for the next, together with all others who do: it looks at
// the files of all of them, and writes what all of them committed.
type turns struct {
	running sync.Mutex
	mu      sync.Mutex
	next    *turn // waits to run; nil where none does
}

// turn is one pass, and what came of it.
type turn struct {
	look  look
	ended chan struct{}
	outcome
	err   error
	alone bool // whoever ran it gave up or fell over, which says nothing about the others
}

// take has a look done by a pass that begins after the call, and gives what came of
// that pass. Who is first of those who wait runs it.
func (ts *turns) take(ctx context.Context, l look, run func(look) (outcome, error)) (outcome, error) {
	for {
		ts.mu.Lock()
		t := ts.next
		if t == nil {
			t = &turn{look: l, ended: make(chan struct{})}
			ts.next = t
			ts.mu.Unlock()
			return ts.run(ctx, t, run)
		}
		t.look = t.look.with(l)
		ts.mu.Unlock()
		select {
		case <-t.ended:
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		}
		if !t.alone {
			return t.outcome, t.err
		}
	}
}

func (ts *turns) run(ctx context.Context, t *turn, run func(look) (outcome, error)) (outcome, error) {
	ts.running.Lock()
	defer ts.running.Unlock()
	ts.mu.Lock()
	ts.next = nil // from here on it is too late to come along
	ts.mu.Unlock()
	defer close(t.ended)
	t.alone = true // if it falls over
	t.outcome, t.err = run(t.look)
	t.alone = t.err != nil && ctx.Err() != nil
	return t.outcome, t.err
}

// with is one look for two.
func (l look) with(o look) look {
	both := look{
		tasks: slices.Concat(l.tasks, o.tasks), inboxes: map[string]bool{}, team: l.team || o.team, all: l.all || o.all, heard: l.heard && o.heard, until: l.until,
	}
	maps.Copy(both.inboxes, l.inboxes)
	maps.Copy(both.inboxes, o.inboxes)
	if o.until.Before(l.until) {
		both.until = o.until
	}
	if l.upTo.Seq > 0 && o.upTo.Seq > 0 { // else somebody wants the files to be looked at
		both.upTo = l.upTo
		if o.upTo.Seq > l.upTo.Seq {
			both.upTo = o.upTo
		}
	}
	return both
}
