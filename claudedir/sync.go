package claudedir

import (
	"context"
	"errors"
	"time"

	"cadre"
	"cadre/internal/swapfile"
)

// look says which files are to be looked at.
type look struct {
	tasks   []cadre.TaskID
	inboxes map[string]bool
	team    bool
	all     bool
	heard   bool          // the system told which files changed: no others are looked for
	upTo    cadre.Head    // a command that must be in the files; nothing else is looked at
	events  []cadre.Event // those of that command
	until   time.Time     // until when a change may wait for its author
}

// A client writes down what it did only after it did it. For so long a change that
// nothing explains waits for that, where a client is about.
const (
	explainedWithin = 800 * time.Millisecond
	explainedPause  = 25 * time.Millisecond
)

// errUnexplained is for changes whose author may be known in a moment.
var errUnexplained = errors.New("a change waits for its author")

// outcome is what a pass found.
type outcome struct {
	head  cadre.Head
	taken cadre.Seq // the newest event that may have been taken in, by whatever process
}

// sync makes both sides the same: it takes in what the files say that is new, and
// writes what the log says that is not in them yet.
func (s *Store) sync(ctx context.Context, scope cadre.Scope, l look) (outcome, error) {
	l.until = time.Now().Add(explainedWithin)
	for {
		o, err := s.syncOnce(ctx, scope, l)
		if !errors.Is(err, errUnexplained) {
			return o, err
		}
		select { // nobody is kept from the scope meanwhile
		case <-time.After(explainedPause):
		case <-ctx.Done():
			return o, ctx.Err()
		}
	}
}

func (s *Store) syncOnce(ctx context.Context, scope cadre.Scope, l look) (outcome, error) {
	if _, err := s.open(true); err != nil {
		return outcome{}, err
	}
	p := s.place(scope)
	return p.take(ctx, l, func(l look) (outcome, error) { return s.pass(ctx, scope, p, l) })
}

// pass runs one pass, while no other of this process does.
func (s *Store) pass(ctx context.Context, scope cadre.Scope, p *place, l look) (outcome, error) {
	if h := l.upTo; h.Seq > 0 && h.Epoch == p.done.Epoch && h.Seq <= p.done.Seq {
		return outcome{head: p.done}, nil // another caller of this process has written it along
	}
	if err := p.lock.Acquire(ctx); err != nil {
		return outcome{}, err
	}
	defer p.lock.Release()
	m, err := loadMemory(s.memory, scope)
	if err == nil && m.Epoch == "" {
		var moved bool
		if moved, err = s.cameFrom(ctx, scope); moved {
			m, err = loadMemory(s.memory, scope)
		}
	}
	if err != nil {
		return outcome{}, err
	}
	pass := &pass{Store: s, ctx: ctx, scope: scope, mem: m, until: l.until}
	defer pass.close()
	if err := pass.run(l); err != nil {
		return pass.outcome(), err // what was learned about the files is not all taken in
	}
	err = m.save()
	if len(pass.faults) > 0 {
		err = joinErr(pass.faults)
	}
	if err == nil {
		p.done = pass.upTo
		s.right(scope)
	}
	return pass.outcome(), err
}

func (p *pass) outcome() outcome { return outcome{p.head, p.mem.Taken} }

// pass is one run of sync, alone on its scope among all processes of Cadre.
type pass struct {
	*Store
	ctx   context.Context
	scope cadre.Scope
	mem   *memory
	list  *swapfile.Dir // the folder of the tasks, nil where there is none
	names []string      // what is in it, where it was read

	head  cadre.Head
	upTo  cadre.Head    // where the log stood when since was read: later events are not in it
	since []cadre.Event // what the files do not have yet
	full  bool          // nothing is known about the files

	saw     int64                 // when a file was read last
	until   time.Time             // until when a change may wait for its author
	found   []written             // what others wrote
	slots   map[cadre.TaskID]slot // how those files look, to be remembered once they are taken in
	touched map[cadre.TaskID]bool // tasks whose files are to be compared with the log
	team    teamFiles
	olds    []*swapfile.Old // replaced files that say something, until that is taken in
	faults  []error         // what went wrong with some files; the others are served all the same
	behind  map[string]bool // files that could not be written, until they are
}

func (p *pass) close() {
	for _, old := range p.olds {
		old.Leave() // whoever sweeps takes it in
	}
	if p.list != nil {
		p.list.Close()
	}
	p.team.close()
	p.mem.close()
}

func (p *pass) run(l look) error {
	if err := p.openList(false); err != nil {
		return err
	}
	p.slots, p.touched, p.behind = map[cadre.TaskID]slot{}, map[cadre.TaskID]bool{}, map[string]bool{}
	if err := p.catchUpWith(l); err != nil {
		return err
	}
	p.touchBehind()
	gone, err := p.vanished()
	if err != nil || gone {
		return err
	}
	if err := p.look(l); err != nil {
		return err
	}
	for range rounds {
		if gone, err := p.goneMeanwhile(); gone || err != nil {
			return err
		}
		if err := p.takeIn(); err != nil {
			return err
		}
		if err := p.write(); err != nil {
			return err
		}
		if len(p.found) == 0 && !p.team.found() {
			return nil // nobody wrote anything while we did
		}
	}
	return p.takeIn() // somebody never stops: the next pass writes what this makes of it
}

// catchUpWith is catchUp for a command that was committed just now: if the files
// had everything before it, its own events are all that they do not have yet.
func (p *pass) catchUpWith(l look) error {
	n := len(l.events)
	if n == 0 || len(p.mem.Behind) > 0 || p.mem.Epoch != l.upTo.Epoch || p.mem.Seq != l.events[0].Seq-1 || l.events[n-1].Seq != l.upTo.Seq {
		return p.catchUp()
	}
	p.since, p.head, p.upTo = l.events, l.upTo, l.upTo
	return nil
}

// catchUp reads what the log has that the files do not have yet.
func (p *pass) catchUp() error {
	err := p.Store.Store.View(p.ctx, p.scope, func(s cadre.Snap) error {
		p.head = s.Head()
		return nil
	})
	if err != nil {
		return err
	}
	p.since, p.upTo = nil, p.head
	if p.mem.Epoch != "" && p.mem.Epoch == p.head.Epoch && p.mem.Seq <= p.head.Seq {
		from := p.mem.hasAll()
		if from == p.head.Seq {
			return nil
		}
		for e, err := range p.Store.Store.Events(p.ctx, p.scope, cadre.Head{Epoch: p.mem.Epoch, Seq: from}, false) {
			if err != nil {
				return err
			}
			p.since = append(p.since, e)
			p.upTo.Seq = max(p.upTo.Seq, e.Seq)
			if e.Door == door { // whoever took it in did not get to remember that
				p.mem.Taken = max(p.mem.Taken, e.Seq)
			}
		}
		return nil
	}
	// The log is another one than the files were written from, or nothing is known
	// about the files: everything is compared, and nothing is taken for granted.
	if p.full {
		return nil // what this pass has learned about them is kept
	}
	p.full = true
	err = p.mem.forget()
	p.mem.List = p.list != nil
	p.mem.Taken = p.head.Seq
	return err
}
