package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cadre"
	"cadre/coord"
)

// Defaults of Options.
const (
	DefaultHeartbeat = 10 * time.Second
	DefaultLease     = 30 * time.Second
	DefaultGrace     = 5 * time.Second
	DefaultDeadline  = 30 * time.Second
	DefaultStall     = 10 * time.Minute
	DefaultRetry     = time.Minute
)

// Options are how a supervisor works. Times that are not set get their defaults.
type Options struct {
	Backends  map[cadre.Backend]Backend
	Dir       string   // where each member gets a folder for what it prints
	Host      string   // what this machine is called in the record; its own name without
	Env       []string // what members' processes get, besides who they are
	Heartbeat time.Duration
	Lease     time.Duration // of a task that is worked on
	Grace     time.Duration // between asking processes to end and killing them
	Deadline  time.Duration // for a member that was asked to shut down
	Stall     time.Duration // without any progress, before a member counts as stalled
	Retry     time.Duration // how long a member waits whose provider lets it do nothing, at first
	Limit     int           // members that run at the same time; 0 is no limit
	Stagger   time.Duration // between the starts of two members
	Leave     bool          // end when there is no member any more
}

// Supervisor runs the members of one team. It hears of everything through the log:
// whoever spawns, kills or stops a member, or adds a task, writes an event.
type Supervisor struct {
	Options
	*coord.Session // of whoever started it

	mu      sync.Mutex
	runners map[string]*runner
	idle    []*runner // those that wait for work, the longest first
	rules   cadre.TeamSettings
	last    time.Time // when a member was last started
	ended   chan *runner
	again   *time.Timer   // when to look for members to start
	due     *time.Timer   // when the next ask's time is over
	hand    chan struct{} // there may be work to hand out
}

// NewSupervisor makes a supervisor for the scope of a session.
func NewSupervisor(s *coord.Session, o Options) *Supervisor {
	for _, d := range []struct {
		set   *time.Duration
		usual time.Duration
	}{{&o.Heartbeat, DefaultHeartbeat}, {&o.Lease, DefaultLease}, {&o.Grace, DefaultGrace}, {&o.Deadline, DefaultDeadline}, {&o.Stall, DefaultStall}, {&o.Retry, DefaultRetry}} {
		if *d.set <= 0 {
			*d.set = d.usual
		}
	}
	o.Env = coord.Nameless(o.Env)
	if o.Host == "" {
		o.Host, _ = os.Hostname() // only shown
	}
	return &Supervisor{Options: o, Session: s, runners: map[string]*runner{}, ended: make(chan *runner), again: time.NewTimer(time.Hour), due: time.NewTimer(0), hand: make(chan struct{}, 1)}
}

// Run supervises until the context ends, or, with Leave, until there is no member any
// more. First it ends what a killed supervisor left. When it returns nothing runs any
// more, and another supervisor can go on from there.
func (v *Supervisor) Run(ctx context.Context, ready func()) error {
	err := v.recover(ctx)
	if err == nil {
		err = v.recordSelf(ctx, false)
	}
	if err != nil {
		return ignoreStop(ctx, err)
	}
	return errors.Join(v.run(ctx, ready), v.recordSelf(context.WithoutCancel(ctx), true))
}

func (v *Supervisor) run(ctx context.Context, ready func()) error {
	lasting := context.WithoutCancel(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	head, err := v.look(ctx)
	if err != nil {
		return ignoreStop(ctx, err)
	}
	ready()
	events := make(chan heard)
	var others sync.WaitGroup
	others.Go(func() { v.follow(ctx, head, events) })
	others.Go(func() { v.dispatch(ctx) })
	err = v.supervise(ctx, events)
	stop()
	others.Wait()
	if errors.Is(err, cadre.ErrNotFound) {
		err = nil // the team was archived
	}
	return errors.Join(err, v.endAll(lasting))
}

// ignoreStop is no error where a supervisor was stopped before it began.
func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// heard is what came from the log.
type heard struct {
	event cadre.Event
	err   error
}

// follow reads the log until the context ends. After a new epoch it goes on from there.
func (v *Supervisor) follow(ctx context.Context, head cadre.Head, out chan<- heard) {
	defer close(out)
	for {
		var failed error
		for e, err := range v.Store.Events(ctx, v.Scope, head, true) {
			if failed = err; err != nil {
				break
			}
			select {
			case out <- heard{event: e}:
			case <-ctx.Done():
				return
			}
		}
		epoch, ok := errors.AsType[*cadre.EpochError](failed)
		if !ok || ctx.Err() != nil {
			select {
			case out <- heard{err: failed}:
			case <-ctx.Done():
			}
			return
		}
		head = epoch.Head
	}
}

// supervise hears and acts until it is over.
func (v *Supervisor) supervise(ctx context.Context, events <-chan heard) error {
	for {
		if over, err := v.over(ctx); over || err != nil {
			return err
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case h, open := <-events:
			if !open {
				return nil
			}
			if err = h.err; err == nil {
				err = v.hear(ctx, h.event)
			}
		case r := <-v.ended:
			v.forget(r)
			_, err = v.look(ctx)
		case <-v.again.C:
			_, err = v.look(ctx)
		case <-v.due.C:
			err = v.expireAsks(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// hear acts on one event.
func (v *Supervisor) hear(ctx context.Context, e cadre.Event) error {
	if r := v.runner(e.Actor.Name); r != nil && e.Actor.Kind == cadre.ActorMember && e.Door != r.self.Door {
		r.said.Add(1)
	}
	switch o := e.After.(type) {
	case *cadre.Team:
		_, err := v.look(ctx)
		v.wakeAll()
		return err
	case *cadre.Member:
		if r := v.runner(o.Name); r != nil && o.State == cadre.StateDeparted && e.Seq > r.since {
			r.stop(errDeparted)
		}
		if o.State == cadre.StateStarting {
			_, err := v.look(ctx)
			return err
		}
	case *cadre.Task:
		v.hearTask(e, o)
	case *cadre.Message:
		if r := v.runner(o.To); r != nil {
			r.post()
		}
	case *cadre.Ask:
		if o.State == cadre.AskOpen && o.Deadline != nil {
			v.due.Reset(0)
		}
		if r := v.runner(o.Member); r != nil && o.Kind == cadre.AskShutdown && o.State == cadre.AskOpen {
			r.shutDown(o.ID)
		}
		if r := v.runner(o.From); r != nil && o.Kind == cadre.AskPlan && o.State != cadre.AskOpen {
			r.signal()
		}
		if o.State != cadre.AskOpen && o.Task != "" {
			v.wake(func(*runner) bool { return true })
		}
	}
	return nil
}

// expireAsks has the team's policy answer what waited too long, and sees to it that
// this happens again when the next ask's time is over. What cannot be recorded now is
// tried again.
func (v *Supervisor) expireAsks(ctx context.Context) error {
	if _, err := v.system().Do(ctx, "ask expire", &cadre.AsksExpire{}); errors.Is(err, cadre.ErrNotFound) {
		return err
	} else if err != nil {
		if ctx.Err() == nil {
			v.warn("asks that waited too long: %v", err)
		}
		v.due.Reset(v.Heartbeat)
		return nil
	}
	return v.Store.View(ctx, v.Scope, func(snap cadre.Snap) error {
		now := v.Now()
		_, next, err := snap.NextEnd(now)
		if next != nil {
			v.due.Reset(next.Sub(now.Wall) + time.Millisecond)
		}
		return err
	})
}

// hearTask wakes whom a task is for, and stops whoever works on it without a claim.
func (v *Supervisor) hearTask(e cadre.Event, t *cadre.Task) {
	if before, ok := e.Before.(*cadre.Task); ok && before.Owner != "" && before.Fence != t.Fence {
		if r := v.runner(before.Owner); r != nil {
			r.lost(t.ID, before.Fence)
		}
	}
	if !t.Ready() {
		return
	}
	if r := v.runner(t.Owner); r != nil {
		r.signal()
	} else if t.Owner == "" && v.settings().Dispatched() {
		poke(v.hand)
	} else if t.Owner == "" {
		v.wake(func(r *runner) bool { return t.Run != "" || !r.backend.RunsOnly() })
	}
}

// system is Cadre itself as a caller.
func (v *Supervisor) system() *coord.Session {
	s := *v.Session
	s.Actor, s.Door = cadre.Self, "agent"
	return &s
}

func (v *Supervisor) runner(name string) *runner {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.runners[name]
}

// wait puts a member among those that wait for work, or takes it away.
func (v *Supervisor) wait(r *runner, waits bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.idle = slices.DeleteFunc(v.idle, func(o *runner) bool { return o == r })
	if waits {
		v.idle = append(v.idle, r)
	}
}

// wake wakes, of each backend, the member that has waited longest of those that can.
// It counts as waiting again only once it has looked.
func (v *Supervisor) wake(can func(*runner) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	woken := map[cadre.Backend]bool{}
	v.idle = slices.DeleteFunc(v.idle, func(r *runner) bool {
		if woken[r.member.Backend] || r.backend == nil || !can(r) {
			return false
		}
		woken[r.member.Backend] = true
		r.signal()
		return true
	})
}

// look starts the members that are to be started and for which there is room, and
// gives the place in the log where it looked.
func (v *Supervisor) look(ctx context.Context) (head cadre.Head, err error) {
	var starting []*cadre.Member
	asked := map[string]cadre.AskID{} // who was asked to shut down
	err = v.Store.View(ctx, v.Scope, func(snap cadre.Snap) error {
		head = snap.Head()
		team, err := snap.Team()
		if err != nil {
			return err
		}
		if team != nil {
			v.follows(team.Settings)
		}
		for m, err := range snap.Members() {
			if err != nil {
				return err
			}
			if m.Backend.Supervised() && m.State == cadre.StateStarting {
				starting = append(starting, m)
			}
		}
		for a, err := range snap.OpenAsks() {
			if err != nil {
				return err
			}
			if a.Kind == cadre.AskShutdown {
				asked[a.Member] = a.ID
			}
		}
		return nil
	})
	if err != nil {
		return head, err
	}
	for _, m := range starting {
		if v.runner(m.Name) != nil {
			continue // it still ends; there is another look when it has
		}
		if !v.room(m.Backend) {
			continue
		}
		if wait := v.Stagger - time.Since(v.last); wait > 0 {
			v.again.Reset(wait)
			break
		}
		r := v.start(ctx, m, head.Seq)
		if ask := asked[m.Name]; ask != "" {
			r.shutDown(ask)
		}
	}
	return head, nil
}

func (v *Supervisor) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.runners)
}

// room says whether one more member of a backend may run.
func (v *Supervisor) room(b cadre.Backend) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	same := 0
	for _, r := range v.runners {
		if r.member.Backend == b {
			same++
		}
	}
	fits := func(most, run int) bool { return most <= 0 || run < most }
	return fits(v.Limit, len(v.runners)) && fits(v.rules.Limits[""], len(v.runners)) && fits(v.rules.Limits[b], same)
}

// settings are the rules of the team, as it was last looked at.
func (v *Supervisor) settings() cadre.TeamSettings {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rules
}

func (v *Supervisor) follows(s cadre.TeamSettings) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rules = s
}

// start begins to run a member that was to be started at a place in the log.
func (v *Supervisor) start(ctx context.Context, m *cadre.Member, since cadre.Seq) *runner {
	r := newRunner(v, m, since)
	v.mu.Lock()
	v.runners[m.Name], v.last = r, time.Now()
	v.mu.Unlock()
	go func() {
		r.run(ctx)
		v.ended <- r
	}()
	return r
}

func (v *Supervisor) forget(r *runner) {
	v.wait(r, false)
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.runners, r.member.Name)
}

// over says whether a supervisor that is to leave can do so.
func (v *Supervisor) over(ctx context.Context) (bool, error) {
	if !v.Leave || v.count() > 0 {
		return false, nil
	}
	wanted, err := Wanted(ctx, v.Session)
	return !wanted, err
}

// Wanted says whether a team has members that a supervisor should start.
func Wanted(ctx context.Context, s *coord.Session) (wanted bool, err error) {
	err = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		for m, err := range snap.Members() {
			if err != nil {
				return err
			}
			wanted = wanted || m.Backend.Supervised() && m.State == cadre.StateStarting
		}
		return nil
	})
	return wanted, err
}

// endAll ends every member, and leaves the record so that another supervisor goes on.
func (v *Supervisor) endAll(ctx context.Context) error {
	v.mu.Lock()
	n := len(v.runners)
	for _, r := range v.runners {
		r.stop(errStopped)
	}
	v.mu.Unlock()
	for range n {
		v.forget(<-v.ended)
	}
	_, err := v.Do(ctx, "members recover", &cadre.MembersRecover{})
	if errors.Is(err, cadre.ErrNotFound) {
		return nil // archived: nobody will go on
	}
	return err
}

// folder is where a member's output goes.
func (v *Supervisor) folder(m *cadre.Member) (string, error) {
	dir := filepath.Join(v.Dir, m.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a folder for what %s prints: %w", m.Name, err)
	}
	return dir, nil
}
