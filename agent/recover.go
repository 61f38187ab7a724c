package agent

import (
	"context"
	"errors"
	"os"

	"cadre"
	"cadre/internal/proc"
)

// recover takes care of what a killed supervisor left: processes that it recorded are
// ended, and its members are to be started again.
func (v *Supervisor) recover(ctx context.Context) error {
	if err := v.Sweep(ctx); err != nil {
		return err
	}
	_, err := v.Do(ctx, "members recover", &cadre.MembersRecover{})
	return err
}

// Recover is for when no supervisor runs: the record then says of members that nothing
// is left of that they are to be started again. While something of them runs it says
// nothing, since that ends by itself or is ended by the next supervisor.
func (v *Supervisor) Recover(ctx context.Context) (bool, error) {
	var left []*cadre.Running
	err := v.Store.View(ctx, cadre.Host, func(snap cadre.Snap) (err error) {
		left, err = snap.Processes(v.Scope)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, r := range left {
		if !r.Supervises() && len(Left(r.Process)) > 0 {
			return false, nil
		}
	}
	err = v.recover(ctx)
	return err == nil, err
}

// Sweep ends the recorded processes of a team's members. It is for when no supervisor
// runs.
func (v *Supervisor) Sweep(ctx context.Context) error {
	var left []*cadre.Running
	err := v.Store.View(ctx, cadre.Host, func(snap cadre.Snap) (err error) {
		left, err = snap.Processes(v.Scope)
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range left {
		if r.Supervises() { // it is gone, or it could not say that it has ended its members
			if err := v.record(ctx, r, true); err != nil {
				return err
			}
			continue
		}
		if err := proc.EndTree(proc.ID{PID: r.Process.PID, Start: r.Process.Start}, Mark(r.Process), v.Grace); err != nil {
			v.warn("what %s left: %v", r.Member, err)
			continue
		}
		if err := v.record(ctx, r, true); err != nil {
			return err
		}
	}
	return nil
}

// Bury is for when no supervisor runs and none is to: it ends the recorded processes of
// a team's members, and says that these are dead.
func (v *Supervisor) Bury(ctx context.Context) error {
	var left []*cadre.Running
	err := v.Store.View(ctx, cadre.Host, func(snap cadre.Snap) (err error) {
		left, err = snap.Processes(v.Scope)
		return err
	})
	if err == nil {
		err = v.Sweep(ctx)
	}
	for _, r := range left {
		if err != nil {
			return err
		}
		if r.Supervises() {
			continue
		}
		_, err = v.system().Do(ctx, "member gone", &cadre.MemberGone{Name: r.Member, Process: &r.Process, Why: "its supervisor was killed"})
		if errors.Is(err, cadre.ErrNotFound) {
			err = nil // the team is gone too
		}
	}
	return err
}

// Left are the processes that are left of a worker.
func Left(p cadre.Process) []string {
	var names []string
	for _, id := range proc.Tree(proc.ID{PID: p.PID, Start: p.Start}, Mark(p)) {
		names = append(names, id.String())
	}
	return names
}

// recordSelf says that this process supervises the team, or that it does not any more:
// what a member leaves whose own process is killed becomes a child of this one.
func (v *Supervisor) recordSelf(ctx context.Context, ended bool) error {
	self, err := proc.Of(os.Getpid())
	if errors.Is(err, proc.ErrUnsupported) {
		return nil // nor is there anything that could become its child
	}
	if err != nil {
		return err
	}
	return v.record(ctx, &cadre.Running{Process: cadre.Process{PID: self.PID, Start: self.Start}, Scope: v.Scope}, ended)
}

// record says in the host's scope whose process one is, or that it has ended.
func (v *Supervisor) record(ctx context.Context, r *cadre.Running, ended bool) error {
	host := *v.Session
	host.Scope, host.Actor = cadre.Host, cadre.Self
	_, err := host.Do(ctx, "running set", &cadre.RunningSet{Running: *r, Ended: ended})
	return err
}

func (v *Supervisor) warn(format string, args ...any) {
	if v.Warn != nil {
		v.Warn(format, args...)
	}
}
