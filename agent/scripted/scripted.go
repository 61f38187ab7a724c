// Package scripted is the backend whose members only play: each task takes the same
// time and is done, and nothing is run. It is for trying a plan out.
package scripted

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"cadre"
	"cadre/agent"
)

// Backend runs members that play.
type Backend struct {
	Pace time.Duration // how long each task takes
	Runs bool          // they play members that only run commands
}

var _ agent.Backend = Backend{}

// Check is content with everything.
func (Backend) Check(*cadre.Member) []string { return nil }

// RunsOnly says whether the members played do only tasks that have a command.
func (b Backend) RunsOnly() bool { return b.Runs }

// started tells workers apart, which have no processes.
var started atomic.Int64

// Start starts a worker.
func (b Backend) Start(s agent.Spec) (agent.Worker, error) {
	return &worker{
		backend: b, beats: make(chan struct{}), done: make(chan struct{}),
		process: cadre.Process{Start: fmt.Sprintf("scripted-%d", started.Add(1))},
	}, nil
}

type worker struct {
	backend Backend
	process cadre.Process
	beats   chan struct{}
	done    chan struct{}
	ended   atomic.Bool
}

func (w *worker) Process() cadre.Process    { return w.process }
func (w *worker) Tell(*cadre.Message) error { return nil }
func (w *worker) Beats() <-chan struct{}    { return w.beats }
func (w *worker) Progress() int64           { return 0 }
func (w *worker) Done() <-chan struct{}     { return w.done }
func (w *worker) Why() string               { return "its part was over" }

// Do takes its time for a task, and reads nothing.
func (w *worker) Do(ctx context.Context, t *cadre.TaskView) (agent.Outcome, error) {
	if t == nil {
		return agent.Outcome{OK: true}, nil
	}
	select {
	case <-time.After(w.backend.Pace):
		return agent.Outcome{OK: true, Summary: "played; nothing was run"}, nil
	case <-ctx.Done():
		return agent.Outcome{}, ctx.Err()
	}
}

// End ends the worker.
func (w *worker) End() {
	if w.ended.CompareAndSwap(false, true) {
		close(w.done)
	}
}
