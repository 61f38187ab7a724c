// Package agent runs members: it starts them, gives them tasks and messages, watches
// them, ends them, and cleans up after them. What a member really is, is a backend's
// business; agenttest holds the tests that each backend passes.
package agent

import (
	"context"
	"fmt"
	"time"

	"cadre"
)

// Backend knows how to run members of one kind. It may be used by any number of
// goroutines.
type Backend interface {
	// Check lists the settings that cannot be honoured, each with the reason. A
	// member with any is not spawned: nothing is left out silently.
	Check(*cadre.Member) []string

	// RunsOnly says that such members can do only tasks that have a command to run.
	// All others think: they also answer their mail, and make plans.
	RunsOnly() bool

	// Start starts a worker, which is ready when it is returned.
	Start(Spec) (Worker, error)
}

// Spec is what a worker is started with.
type Spec struct {
	Scope     cadre.Scope
	Member    *cadre.Member
	Dir       string        // an existing folder for what it prints and is told
	Env       []string      // what its processes get, and no more
	Heartbeat time.Duration // how often it shows that it is alive
	Grace     time.Duration // how long it may take to end by itself

	// Known is called as soon as something is known of the program behind the worker:
	// the session in which another worker could go on, its model, its mode.
	Known func(session, model, mode string)
}

// Worker is one running member. It does one task at a time.
type Worker interface {
	// Process is what its processes descend from.
	Process() cadre.Process

	// Do works on a task until it is done, failed, or the context ends, which ends
	// the work and all that was started for it. One that is still pending is only to
	// be planned: the summary is the plan. Without a task a worker that thinks reads
	// what it was told; where that is nothing, it does nothing. An error means that
	// the worker itself is not there any more.
	Do(context.Context, *cadre.TaskView) (Outcome, error)

	// Tell hands a message over. It does not wait for an answer, and the same
	// message may come twice.
	Tell(*cadre.Message) error

	// Beats receives something each time that the worker shows that it is alive.
	Beats() <-chan struct{}

	// Progress is a number that grows while there is something to see of the work, such
	// as output. A worker whose number stays the same for long has stalled.
	Progress() int64

	// Done is closed when the worker has ended and nothing of it is left. Why says
	// then how it ended.
	Done() <-chan struct{}
	Why() string

	// End ends the worker and everything it started, and returns when nothing is
	// left. To call it again does no harm.
	End()
}

// Mark is a variable that everything a worker starts must have in its environment, so
// that it can be found when both the worker and its supervisor were killed.
func Mark(p cadre.Process) string { return fmt.Sprintf("CADRE_PROCESS=%d-%s", p.PID, p.Start) }

// Outcome is what came of a task, or of reading mail.
type Outcome struct {
	OK      bool
	Summary string
	Read    []cadre.MessageID // the messages that were a part of it; nobody need tell them again

	// Limited says that whoever the worker depends on lets it do no more for now, and
	// Until when that will be over, if it is known. It was no attempt at the task.
	Limited bool
	Until   time.Time
}
