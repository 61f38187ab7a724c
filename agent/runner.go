package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cadre"
	"cadre/coord"
)

// Why a member's run is over; the first is what counts.
var (
	errProcess  = errors.New("its process ended")
	errDeparted = errors.New("it left the team")
	errStopped  = errors.New("its supervisor was stopped")
)

// runner runs one member from its start to its end.
type runner struct {
	v       *Supervisor
	member  *cadre.Member
	backend Backend
	worker  Worker
	self    *coord.Session // the member as a caller
	state   cadre.MemberState
	taken   *cadre.TaskView              // what it took up when it was done with the one before
	because string                       // why it has nothing to do, if that is more than that nothing is ready
	said    atomic.Int64                 // what it did itself through some door
	free    bool                         // there was nothing to hand to it
	told    bool                         // its prompt
	limited int                          // how often in a row its provider let it do nothing
	since   cadre.Seq                    // what happened up to here is about an earlier run
	plans   map[cadre.TaskID]cadre.AskID // what it last asked about the plan of each task

	ctx    context.Context // ends when the member is to end
	stop   context.CancelCauseFunc
	wake   chan struct{}
	mail   chan struct{}
	given  chan handed      // what it was handed
	none   chan struct{}    // there was nothing to hand to it
	asked  chan cadre.AskID // it was asked to shut down
	due    atomic.Bool      // it is to have a turn without a task
	mu     sync.Mutex
	task   cadre.TaskID // what it works on, under which claim, and how to end that
	fence  uint64
	cancel context.CancelFunc

	resting bool // it does nothing but wait; the supervisor's mu guards it
	turns   int  // how often it began something; likewise
}

func newRunner(v *Supervisor, m *cadre.Member, since cadre.Seq) *runner {
	self := *v.Session
	self.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: m.Name, Scope: v.Scope, Role: m.Role, Joined: m.N, Proof: cadre.ProofProcess}
	self.Door, self.CWD = "agent", m.CWD
	r := &runner{
		v: v, member: m, since: since, told: m.Told, backend: v.Backends[m.Backend], self: &self, wake: make(chan struct{}, 1), mail: make(chan struct{}, 1),
		given: make(chan handed, 1), none: make(chan struct{}, 1), asked: make(chan cadre.AskID, 1), plans: map[cadre.TaskID]cadre.AskID{},
	}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// run starts the member, works, and cleans up. What has to be written at the end is
// written whatever else ends.
func (r *runner) run(ctx context.Context) {
	after := context.AfterFunc(ctx, func() { r.stop(errStopped) })
	defer after()
	lasting := context.WithoutCancel(ctx)
	if err := r.begin(lasting); err != nil {
		r.gone(ctx, &cadre.MemberGone{Name: r.member.Name, Why: err.Error()})
		return
	}
	go r.deliver()
	r.loop()
	r.stop(errProcess)
	r.worker.End()
	if err := r.v.record(lasting, r.running(), true); err != nil {
		r.v.warn("%s: %v", r.member.Name, err)
	}
	if cause := context.Cause(r.ctx); cause != errStopped { // else the supervisor says it for all
		process := r.worker.Process()
		r.gone(ctx, &cadre.MemberGone{Name: r.member.Name, Process: &process, Why: fmt.Sprintf("%v (%s)", cause, r.worker.Why())})
	}
}

// begin starts the worker and says so: first whose process it is, then that it runs.
func (r *runner) begin(ctx context.Context) error {
	if r.backend == nil {
		return fmt.Errorf("there is no backend %q", r.member.Backend)
	}
	dir, err := r.v.folder(r.member)
	if err != nil {
		return err
	}
	id := r.member.Name + "@" + string(r.v.Scope)
	env := append(r.v.Env[:len(r.v.Env):len(r.v.Env)], "CADRE_SCOPE="+string(r.v.Scope), "CLAUDE_CODE_TEAM_NAME="+string(r.v.Scope),
		"CLAUDE_CODE_AGENT_ID="+id, "CLAUDE_CODE_AGENT_TYPE="+r.member.AgentType)
	r.worker, err = r.backend.Start(Spec{Scope: r.v.Scope, Member: r.member, Dir: dir, Env: env, Heartbeat: r.v.Heartbeat, Grace: r.v.Grace, Known: r.known})
	if err != nil {
		return err
	}
	r.due.Store(!r.backend.RunsOnly() && r.member.Prompt != "" && !r.told)
	if err = r.v.record(ctx, r.running(), false); err == nil {
		_, err = r.v.system().Do(ctx, "member started", &cadre.MemberStarted{Name: r.member.Name, Process: r.worker.Process(), Host: r.v.Host})
	}
	if err != nil {
		r.worker.End()
		return errors.Join(err, r.v.record(ctx, r.running(), true))
	}
	r.state = cadre.StateIdle
	return nil
}

func (r *runner) running() *cadre.Running {
	return &cadre.Running{Process: r.worker.Process(), Scope: r.v.Scope, Member: r.member.Name, Joined: r.member.N}
}

// known records what is known of the program behind the worker.
func (r *runner) known(session, model, mode string) {
	r.note(&cadre.MemberKnown{Name: r.member.Name, Session: session, Model: model, Mode: mode})
}

func (r *runner) note(v *cadre.MemberKnown) {
	if _, err := r.v.system().Do(r.ctx, "member known", v); err != nil && r.ctx.Err() == nil {
		r.v.warn("%s: %v", r.member.Name, err)
	}
}

// gone writes that the member is. That only goes wrong with the store, and nobody else
// would say it: it is tried again until the supervisor is stopped.
func (r *runner) gone(ctx context.Context, v *cadre.MemberGone) {
	for {
		_, err := r.v.system().Do(context.WithoutCancel(ctx), "member gone", v)
		if err == nil || errors.Is(err, cadre.ErrNotFound) {
			return
		}
		r.v.warn("%s: %v", r.member.Name, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.v.Heartbeat):
		}
	}
}

// signal has the member look for work.
func (r *runner) signal() { poke(r.wake) }

// post has its mail delivered, and the member look for work.
func (r *runner) post() {
	poke(r.mail)
	poke(r.wake)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// shutDown has the member end after what it does now, or at the deadline, unless it has
// answered by then: whoever asked decides about a refusal. Only the supervisor calls it.
func (r *runner) shutDown(ask cadre.AskID) {
	select {
	case <-r.asked: // this takes the place of what was asked before
	default:
	}
	r.asked <- ask
	poke(r.wake)
	time.AfterFunc(r.v.Deadline, func() {
		if r.ctx.Err() != nil {
			return
		}
		waits := false
		err := r.v.Store.View(r.ctx, r.v.Scope, func(snap cadre.Snap) error {
			a, err := snap.Ask(ask)
			waits = a != nil && a.State == cadre.AskOpen
			return err
		})
		if err == nil && !waits {
			return
		}
		kill := &cadre.MemberKill{Name: r.member.Name, Why: fmt.Sprintf("asked to shut down, and still at work after %s", r.v.Deadline)}
		if _, err := r.v.system().Do(context.Background(), "member kill", kill); err != nil {
			r.v.warn("%s: %v", r.member.Name, err)
		}
	})
}

// lost ends work whose claim is not the member's any more.
func (r *runner) lost(task cadre.TaskID, fence uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil && r.task == task && r.fence == fence {
		r.cancel()
	}
}

// deliver hands over the member's mail whenever there is some. What an earlier worker
// was told and did not read is told again.
func (r *runner) deliver() {
	for first := true; ; first = false {
		if err := r.deliverAll(first); err != nil && r.ctx.Err() == nil && !errors.Is(err, cadre.ErrForbidden) { // forbidden: it just left
			r.v.warn("mail for %s: %v", r.member.Name, err)
		}
		select {
		case <-r.mail:
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *runner) deliverAll(again bool) error {
	var mail []*cadre.Message
	err := r.v.Store.View(r.ctx, r.v.Scope, func(snap cadre.Snap) error {
		for m, err := range snap.Unread(r.member.Name) {
			if err != nil {
				return err
			}
			if m.DeliveredAt == nil || again {
				mail = append(mail, m)
			}
		}
		return nil
	})
	if err != nil || len(mail) == 0 {
		return err
	}
	told := &cadre.MsgDeliver{}
	for _, m := range mail {
		if err := r.worker.Tell(m); err != nil {
			return err
		}
		told.IDs = append(told.IDs, m.ID)
		if m.Said() && !r.backend.RunsOnly() {
			r.due.Store(true)
			poke(r.wake)
		}
	}
	_, err = r.self.Do(r.ctx, "msg deliver", told)
	return err
}
