package claudedir

import (
	"slices"
	"strconv"
	"time"

	"cadre"
)

// takeIn has the log take in what others wrote.
func (p *pass) takeIn() error {
	mail := p.team.found()
	if len(p.found) == 0 && !mail {
		return nil
	}
	if p.mem.OldAt != 0 {
		p.mem.OldAt = p.wall() // it is still there
	}
	for _, w := range p.found {
		p.touched[w.id] = true
	}
	v := &cadre.Foreign{Guard: p.Guard}
	id := []any{p.Dir, p.scope}
	err := p.Store.Store.View(p.ctx, p.scope, func(s cadre.Snap) error {
		v.Tasks, id = nil, id[:2]
		in := &intake{Snap: s, since: p.since}
		swept, err := p.swept(s)
		if err != nil {
			return err
		}
		for _, w := range p.found {
			if swept[w.id] {
				p.slots[w.id] = slot{} // it is written again
				continue
			}
			f, changed, err := in.change(w)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			f.By = p.author(f, w.at)
			v.Tasks = append(v.Tasks, f)
			id = append(id, f.ID, f.Digest, f.Gone, w.at.UnixNano(), p.slots[w.id].Ino)
		}
		return p.team.changes(p, in, v, &id)
	})
	if err != nil {
		return err
	}
	if p.unexplained(v) {
		return errUnexplained
	}
	if err := p.apart(v); err != nil {
		return err
	}
	if len(v.Tasks)+len(v.Mail)+len(v.Taken) > 0 || v.Team != nil {
		c := cadre.Command{ID: commandID(id...), Actor: cadre.External, Door: door, Verb: "intake", Now: p.now()}
		r, err := p.Store.Store.Update(p.ctx, p.scope, c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) })
		if err != nil {
			return err
		}
		if lost := r.Lost(); lost != "" {
			p.Warn("%s: %s", p.scope, lost)
		}
		if len(r.Events) > 0 {
			p.mem.Taken = max(p.mem.Taken, r.Head.Seq)
		}
	}
	for id, s := range p.slots {
		if err := p.mem.setTask(id, s); err != nil {
			return err
		}
	}
	p.slots = map[cadre.TaskID]slot{}
	p.team.remember(p)
	for _, old := range p.olds {
		if err := old.Done(); err != nil {
			p.faults = append(p.faults, err)
		}
	}
	p.olds = nil
	return p.catchUp()
}

// sweeping is how long a client takes from seeing a list finished to clearing it
// away, and a little more.
const sweeping = 10 * time.Second

// swept gives the tasks whose files a client removed because it believed the list
// finished: with those that are, and without any file left, an open one went that
// was added or opened again in the last moment. That was not deleted.
func (p *pass) swept(s cadre.Snap) (map[cadre.TaskID]bool, error) {
	if slices.ContainsFunc(p.names, func(name string) bool { _, ok := taskName(name); return ok }) {
		return nil, nil
	}
	finished, open := false, map[cadre.TaskID]bool{}
	for _, w := range p.found {
		if w.file != nil {
			return nil, nil
		}
		t, err := s.Task(w.id)
		if err != nil {
			return nil, err
		}
		switch {
		case t == nil:
		case t.Status == cadre.Completed:
			finished = true
		case t.Open() && time.Unix(0, p.mem.ListAt).Sub(t.UpdatedAt) < sweeping:
			open[t.ID] = true
		}
	}
	if !finished {
		return nil, nil
	}
	return open, nil
}

// apart gives a number of its own to a task that another program wrote under one
// that a command of ours had just been given: both stay.
func (p *pass) apart(v *cadre.Foreign) error {
	fresh := map[cadre.TaskID]*cadre.Task{}
	for _, e := range p.since {
		if t, ok := e.After.(*cadre.Task); ok && e.Seq > p.mem.has(taskKey(t.ID)) && (e.Before == nil || fresh[t.ID] != nil) && e.Door != door {
			fresh[t.ID] = t
		}
	}
	for i := range v.Tasks {
		f := &v.Tasks[i]
		t := fresh[f.ID]
		if t == nil || f.Gone || f.Subject == nil || *f.Subject == t.Subject {
			continue
		}
		r, err := p.reserveLocked(1, p.head.Next)
		if err != nil {
			return err
		}
		for _, w := range p.found {
			if w.id == f.ID && w.file != nil {
				digest, by := f.Digest, f.By
				*f = (&intake{}).whole(cadre.ForeignTask{ID: cadre.TaskID(strconv.FormatUint(r.first, 10)), Digest: digest, By: by}, w.file)
			}
		}
	}
	return nil
}

// unexplained says whether it is worth waiting for the author of a change.
func (p *pass) unexplained(v *cadre.Foreign) bool {
	if p.Who == nil || !slices.ContainsFunc(v.Tasks, func(f cadre.ForeignTask) bool { return f.By.Kind == cadre.ActorExternal }) {
		return false
	}
	return time.Now().Before(p.until) && p.Who.Live()
}

// author says who is behind a change.
func (p *pass) author(f cadre.ForeignTask, at time.Time) cadre.Actor {
	if p.Who != nil {
		if a, ok := p.Who.Who(p.scope, f, at.UnixNano()); ok {
			return a
		}
	}
	return cadre.External
}
