package coord

import (
	"context"
	"errors"
	"sync"
	"time"

	"cadre"
	"cadre/teamfile"
)

// Run carries out a team file: it makes the team, its members and its tasks, unless they
// are there, runs the members until everything is done or nothing can go on, ends them,
// and reports. To run a file again adds nothing and goes on where the last run stopped.
type Run struct {
	Resume  bool          `json:"resume,omitempty" help:"go on with a run that stopped, and never begin a new one"`
	DryRun  bool          `json:"dryRun,omitempty" help:"only show the plan: waves, the longest chain, who would get what"`
	Timeout time.Duration `json:"timeout,omitempty" help:"stop after so long, as in 30m; --resume goes on from there"`

	File     *teamfile.File `json:"-" door:"-"`
	View     RunView        `json:"-" door:"-"` // nil: nobody looks
	Attended bool           `json:"-" door:"-"` // a person looks, who may answer what waits
}

// RunView is shown a run as it goes on.
type RunView interface {
	// Saw is told every event of the team, in order.
	Saw(*Session, cadre.Event)
	// Stands is told how things stand, after one or more events.
	Stands(*Session, *Standing)
}

// ScopeName is the file's team.
func (v *Run) ScopeName() string {
	if v.File == nil {
		return ""
	}
	return v.File.Team.Name
}

// Run runs the file. Its answer is a plan where nothing was to be done, else a report.
func (v *Run) Run(ctx context.Context, s *Session) (any, error) {
	if v.File == nil {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre run team.yaml", "there is no team file to run")
	}
	if len(v.File.Tasks) == 0 {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre up "+v.File.Path, "%s has no tasks, so there is nothing to run", v.File.Path)
	}
	runtime, err := s.runtime()
	if err != nil {
		return nil, err
	}
	if v.DryRun {
		return v.plan(ctx, s)
	}
	if err := v.mayBegin(ctx, s); err != nil {
		return nil, err
	}
	r := &running{Run: v, s: s, began: s.Now().Wall, revived: map[string]int{}}
	err = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		r.from = snap.Head()
		return nil
	})
	if err != nil && !errors.Is(err, cadre.ErrNotFound) { // an archived team is told of when it is to be made
		return nil, err
	}
	if v.Timeout <= 0 {
		v.Timeout = v.File.Team.Limits.Timeout
	}
	if err := apply(ctx, s, v.File); err != nil {
		return nil, err
	}
	if err := s.tryAgain(ctx, v.File); err != nil {
		return nil, err
	}
	if r.last, err = s.standing(ctx, false); err != nil {
		return nil, err
	}
	outcome := RunCompleted
	if len(r.last.Open) > 0 {
		if err := applyMembers(ctx, s, v.File); err != nil {
			return nil, err
		}
		if outcome, err = r.serve(ctx, runtime); err != nil {
			return nil, err
		}
	}
	return r.report(context.WithoutCancel(ctx), outcome)
}

// mayBegin refuses to go on with what was never begun.
func (v *Run) mayBegin(ctx context.Context, s *Session) error {
	if !v.Resume {
		return nil
	}
	if err := s.known(ctx); err != nil {
		return cadre.Refuse(cadre.RuleMissing, "cadre run "+v.File.Path, "there is no run of %s to go on with: %v", v.File.Path, err)
	}
	return nil
}

// Outcome is how a run ended.
type Outcome string

const (
	RunCompleted   Outcome = "completed"    // every task is
	RunFailed      Outcome = "failed"       // a task used up its attempts, or nobody is left to do it
	RunNeedsPerson Outcome = "needs-person" // something waits for an answer that nobody here gives
	RunTimeout     Outcome = "timeout"
	RunInterrupted Outcome = "interrupted"
)

// running is a run under way.
type running struct {
	*Run
	s     *Session
	began time.Time
	from  cadre.Head // where the log stood before
	last  *Standing

	revived map[string]int // how often each member was started again
	waiting []*cadre.Ask   // what waited for an answer when nothing went on any more
}

// serve runs the members until the run is over and nothing of them is left.
func (r *running) serve(ctx context.Context, runtime Runtime) (Outcome, error) {
	lasting := context.WithoutCancel(ctx)
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	up := &Up{Stagger: r.File.Team.Limits.Stagger, Ready: func() {}}
	var served error
	over := make(chan struct{})
	go func() {
		served = runtime.Serve(serving, r.s, up)
		close(over)
	}()
	outcome, err := r.follow(serving, over)
	if outcome != "" && err == nil && ctx.Err() == nil {
		err = r.endMembers(serving)
	}
	stop()
	<-over
	err = errors.Join(err, served)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		outcome = RunTimeout
	case ctx.Err() != nil:
		outcome = RunInterrupted
	case err != nil:
		return "", err
	}
	r.last, err = r.s.standing(lasting, false)
	return outcome, err
}

// follow watches until the run is over. Without an outcome the supervisor ended.
func (r *running) follow(ctx context.Context, over <-chan struct{}) (Outcome, error) {
	ctx, stop := context.WithCancel(ctx)
	events := make(chan cadre.Event)
	failed := make(chan error, 1)
	var pumping sync.WaitGroup
	pumping.Go(func() { failed <- r.pump(ctx, r.from, events) })
	defer func() {
		stop()
		pumping.Wait()
	}()
	look, due := time.NewTimer(0), true
	defer look.Stop()
	wait := settling
	for {
		select {
		case <-ctx.Done():
			return RunInterrupted, nil
		case <-over:
			return "", nil
		case err := <-failed:
			return RunInterrupted, err
		case e := <-events:
			if r.View != nil {
				r.View.Saw(r.s, e)
			}
			if !due {
				due = true
				look.Reset(wait)
			}
		case <-look.C:
			began := time.Now()
			now, err := r.s.standing(ctx, r.Attended && r.s.Actor.Person())
			if err != nil {
				if ctx.Err() != nil {
					return RunInterrupted, nil
				}
				return RunInterrupted, err
			}
			if r.View != nil {
				r.View.Stands(r.s, now)
			}
			revived := false
			if now.Outcome == RunFailed {
				if revived, err = r.revive(ctx, now); err != nil {
					return RunInterrupted, err
				}
			}
			if now.Outcome != "" && !revived {
				r.waiting = now.Asks
				return now.Outcome, nil
			}
			due, wait = now.look <= wait, max(settling, 10*time.Since(began)) // looking takes a tenth of the time at most
			look.Reset(now.look)
		}
	}
}

// revive starts members again that died, where nobody else is left to do what is ready,
// and says whether there was one.
func (r *running) revive(ctx context.Context, now *Standing) (revived bool, err error) {
	for _, m := range now.Members {
		if m.State != cadre.StateDead || r.revived[m.Name] >= cadre.DefaultAttempts || !now.wants(m) {
			continue
		}
		if _, err := r.s.Do(ctx, "member resume", &cadre.MemberResume{Name: m.Name}); err != nil {
			return false, err
		}
		r.revived[m.Name]++
		revived = true
	}
	return revived, nil
}

// settling is how long to wait for more events before looking how things stand.
const settling = 20 * time.Millisecond

// pump hands events over as they happen.
func (r *running) pump(ctx context.Context, head cadre.Head, out chan<- cadre.Event) error {
	for {
		var failed error
		for e, err := range r.s.Store.Events(ctx, r.s.Scope, head, true) {
			if failed = err; err != nil {
				break
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return nil
			}
		}
		epoch, ok := errors.AsType[*cadre.EpochError](failed)
		if !ok {
			return failed
		}
		head = epoch.Head
	}
}

// endMembers asks every member that runs to end, and sees to it that it does.
func (r *running) endMembers(ctx context.Context) error {
	now, err := r.s.standing(ctx, false)
	if err != nil {
		return err
	}
	for _, m := range now.Members { // those that there was no room for need not be asked
		if m.Backend.Supervised() && m.State == cadre.StateStarting && m.Process == nil {
			if _, err := r.s.Do(ctx, "member leave", &cadre.MemberLeave{Name: m.Name}); err != nil {
				return err
			}
		}
	}
	for _, m := range now.Members {
		if !m.Backend.Supervised() || !m.Alive() || m.State == cadre.StateStarting {
			continue
		}
		if _, err := r.s.Do(ctx, "member stop", &cadre.AskShutdownOf{Name: m.Name, Reason: "the run is over"}); err != nil {
			return err
		}
	}
	for _, m := range now.Members {
		if !m.Backend.Supervised() {
			continue
		}
		_, err := r.s.settled(ctx, m.Name, "did not end", func(m *cadre.Member) bool { return m.Process == nil && !m.Alive() })
		if err != nil && ctx.Err() == nil {
			_, err = r.s.Do(ctx, "member kill", &cadre.MemberKill{Name: m.Name, Why: "the run is over"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
