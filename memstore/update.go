package memstore

import (
	"context"
	"fmt"
	"slices"

	"cadre"
)

// Update decides and appends.
func (s *Store) Update(ctx context.Context, name cadre.Scope, c cadre.Command, decide cadre.Decide) (cadre.Receipt, error) {
	for {
		if err := ctx.Err(); err != nil {
			return cadre.Receipt{}, err
		}
		l, _, err := s.find(name)
		if err != nil {
			return cadre.Receipt{}, err
		}
		fresh := l == nil
		if fresh {
			l = newList(name)
		}
		r, there, err := l.update(ctx, name, c, decide)
		if fresh && err == nil && len(r.Events) > 0 {
			there = s.put(l)
		}
		if there {
			return r, err
		}
	}
}

// update runs one command on a list, unless it is no longer the one of that name.
func (l *list) update(ctx context.Context, name cadre.Scope, c cadre.Command, decide cadre.Decide) (r cadre.Receipt, there bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return r, true, err
	}
	if l.where == cadre.Gone || l.state.Name != name {
		return r, false, nil
	}
	if l.where == cadre.Archive {
		return r, true, archived(name)
	}
	if r, ok := l.replay(c); ok {
		return r, true, nil
	}
	snap := cadre.Snap{Source: &l.state}
	var open []cadre.Event
	if l.where == "" {
		if open, err = cadre.OpenLog(snap, newEpoch(), nil, c.Now); err != nil {
			return r, true, err
		}
		snap = cadre.Overlay(snap, open)
	}
	events, err := run(decide, snap, c)
	if err != nil {
		return r, true, err
	}
	if len(events) == 0 {
		return cadre.Receipt{Head: l.state.Head()}, true, nil
	}
	r, err = l.append(ctx, c, slices.Concat(open, events))
	return r, true, err
}

// run decides. A panic is the fault of one command and must not harm the others.
func run(decide cadre.Decide, snap cadre.Snap, c cadre.Command) (events []cadre.Event, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = cadre.Fault(fmt.Errorf("panic: %v", p), "cadre audit verify", "deciding %s", c.Verb)
		}
	}()
	return decide(snap)
}

// replay gives the receipt of a command that was committed before.
func (l *list) replay(c cadre.Command) (cadre.Receipt, bool) {
	places := l.commands[c.ID]
	if c.ID == "" || len(places) == 0 {
		return cadre.Receipt{}, false
	}
	r := cadre.Receipt{Head: l.state.Head(), Replayed: true}
	for _, i := range places {
		r.Events = append(r.Events, l.events[i])
	}
	return r, true
}

// append seals events into the log. It owns the slice.
func (l *list) append(ctx context.Context, c cadre.Command, events []cadre.Event) (cadre.Receipt, error) {
	_, lines, err := cadre.Seal(l.state.Head(), l.state.Name, c, events)
	if err != nil {
		return cadre.Receipt{}, err
	}
	for i, e := range events {
		if !e.Command.Drawn() {
			l.commands[e.Command] = append(l.commands[e.Command], len(l.events))
		}
		l.events = append(l.events, e)
		l.lines = append(l.lines, lines[i])
		l.state.Apply(e)
		if (i+1)%1000 == 0 {
			cadre.ReportProgress(ctx, i+1, len(events))
		}
	}
	if l.where == "" {
		l.where = cadre.Live
	}
	cadre.ReportProgress(ctx, len(events), len(events))
	l.wake()
	return cadre.Receipt{Head: l.state.Head(), Events: slices.Clone(events)}, nil
}

// wake tells whoever waits for a change.
func (l *list) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}
