package agent_test

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
)

// full is a store that takes nothing for as long as its disk is full.
type full struct {
	cadre.Store
	now   *atomic.Bool
	tried *atomic.Int64
}

func (s full) Update(ctx context.Context, of cadre.Scope, c cadre.Command, decide cadre.Decide) (cadre.Receipt, error) {
	if s.now.Load() && c.Actor.Kind == cadre.ActorCadre {
		s.tried.Add(1)
		return cadre.Receipt{}, errors.New("no space left on device")
	}
	return s.Store.Update(ctx, of, c, decide)
}

// TestAFullDiskIsNoReasonToHurry has a member wait to be started while nothing can be
// recorded.
func TestAFullDiskIsNoReasonToHurry(t *testing.T) {
	w := newTeam(t, func(o *agent.Options) { o.Heartbeat = 200 * time.Millisecond })
	w.end()
	disk := full{w.Store, &atomic.Bool{}, &atomic.Int64{}}
	w.Store = disk
	w.supervise()
	w.must("team join", &cadre.TeamJoin{Name: "eve"})
	disk.now.Store(true)
	w.must("ask for", &cadre.AskFor{Kind: cadre.AskQuestion, Text: "which?", Approvers: []string{"eve"}}) // the supervisor looks for when its time is over
	w.spawn("ann")
	time.Sleep(5 * w.options.Heartbeat)
	if n := disk.tried.Load(); n > 20 {
		t.Errorf("%d things were tried", n)
	}
	disk.now.Store(false)
	w.untilState("ann", cadre.StateDeparted) // it could not be started
	w.spawn("ben")
	w.untilState("ben", cadre.StateIdle)
	disk.now.Store(true)
	w.kill("ben", syscall.SIGKILL)
	time.Sleep(w.options.Heartbeat)
	disk.now.Store(false)
	w.untilState("ben", cadre.StateDead)
}
