package agent

import (
	"context"

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
