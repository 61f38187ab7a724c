// Package cadre is the rule book: what tasks, teams, members, messages and asks
// are, which changes to them are allowed, and what every change is recorded as.
// It imports the standard library only, knows no file, no clock and no network,
// and every way into Cadre (command line, MCP, HTTP, the agent runtime) goes
// through it, so that no door has rules of its own.
//
// # A state machine per scope
//
// A [Scope] is one task list with its log. A verb (for example [TaskClaim]) is a
// plain struct whose fields are its parameters. Its Decide method looks at the
// scope through a read-only [Snap] and answers with events, or with an [*Error]
// that says which [Rule] refused. Decide is pure: it may run twice, on two
// snapshots, and only what the [Store] commits counts.
//
// An [Event] carries the object's image before and after the change. Applying
// an event is "put the after image", nothing else, so a store can keep current
// objects, indexes and history without knowing a single rule; time travel,
// undo, audit and watching are all read from the one log.
//
// # Derived values
//
// Two things are derived while a verb is decided and stored with the task: the
// number of blockers that are not finished yet ([Task.OpenBlockers], which is
// what makes readiness an index) and the version. One place maintains them, the
// draft in draft.go, so no verb can forget to.
//
// # Concurrency
//
// Values that come out of a Snap are shared and must not be changed: Clone
// first. A Snap is valid only inside the function it was given to. Stores are
// safe for use by any number of goroutines and, where they say so, processes.
package cadre
