package cadre

import (
	"context"
	"fmt"
	"iter"
)

// Decide looks at a scope and answers with the events of one command, or with
// why not. It is pure and may run more than once: it never blocks, logs, or
// reads a clock.
type Decide func(Snap) ([]Event, error)

// Where says where a scope lives.
type Where string

const (
	Live    Where = "live"
	Archive Where = "archive" // out of the way, whole, and can come back
	Gone    Where = "gone"    // erased for good
)

// Dest is where [Store.Move] takes a scope: to another place, or to a new name.
type Dest struct {
	Where Where
	Name  Scope // a new name; empty keeps it
}

// ScopeInfo is one line of a store's list of scopes.
type ScopeInfo struct {
	Scope Scope `json:"scope"`
	Where Where `json:"where"`
	Head  Head  `json:"head"`
}

// Store keeps the logs of any number of scopes and their current objects.
//
// Every method returns an *Error for what a caller can do something about.
// Storetest holds the tests that each implementation passes.
type Store interface {
	// View shows a scope as it is now. A scope that was never written to is
	// empty, not an error. An archived one is a RuleMissing error that says so.
	View(context.Context, Scope, func(Snap) error) error

	// At shows a scope as it was after the event with this number.
	At(context.Context, Scope, Seq, func(Snap) error) error

	// Update decides and appends the events atomically, in one order per scope,
	// durable on return. Commands that wait may share a commit; each decides on
	// the result of the one before it. A command id that was committed before is
	// not decided again: its receipt comes back, marked as replayed; a drawn one
	// is not looked for. Without events nothing is written.
	Update(context.Context, Scope, Command, Decide) (Receipt, error)

	// Events gives the log after a head, and with follow what comes next, until
	// the context ends. The zero head means from the start, and a head without
	// an epoch is a place in whatever epoch there is. A cursor of another epoch
	// ends with an *EpochError that holds the new head.
	Events(ctx context.Context, s Scope, after Head, follow bool) iter.Seq2[Event, error]

	// Scopes lists every scope that was ever written to and is not gone.
	Scopes(context.Context) iter.Seq2[ScopeInfo, error]

	// Move archives, restores, erases or renames a scope, recorded as an event
	// of the command, where a log remains.
	Move(context.Context, Scope, Command, Dest) (Receipt, error)

	Close() error
}

// StoreAs finds what a store can do besides, or one that it stands around.
func StoreAs[T any](s Store) (as T, ok bool) {
	for s != nil {
		if as, ok = s.(T); ok {
			return as, true
		}
		outer, around := s.(interface{ Inner() Store })
		if !around {
			return as, false
		}
		s = outer.Inner()
	}
	return as, false
}

// EpochError says that a cursor belongs to an epoch that has ended.
type EpochError struct{ Head Head }

func (e *EpochError) Error() string {
	return fmt.Sprintf("the log began a new epoch (%s, now at event %d): read it again from there", e.Head.Epoch, e.Head.Seq)
}

// Source is what a store has to offer of a scope at one sequence number. It is
// read-only, lazy, and valid only inside the function it was given to.
type Source interface {
	Scope() Scope
	Head() Head
	// Get gives an object, or nil where there is none.
	Get(Ref) (Object, error)
	// Scan gives, in the order of their keys, the objects that an index holds
	// under keys that begin with prefix and come after the key after. A kind is
	// an index too: all objects of the kind.
	Scan(i Index, prefix, after string) iter.Seq2[Object, error]
	// Count says how many objects Scan would give.
	Count(i Index, prefix string) (int, error)
	// History gives an object's events, newest first.
	History(Ref) iter.Seq2[Event, error]
}

// Snap is a scope as a verb sees it: typed reads over a Source.
type Snap struct{ Source }

// NextID is one past every task id ever used in the scope.
func (s Snap) NextID() TaskID { return taskIDOf(max(1, s.Head().Next)) }

// get reads one object in its own type; nil where there is none.
func get[T any, P interface {
	*T
	Object
}](s Snap, r Ref) (P, error) {
	o, err := s.Get(r)
	if err != nil || o == nil {
		return nil, err
	}
	p, ok := o.(P)
	if !ok {
		return nil, fmt.Errorf("%s is stored as a %T", r, o)
	}
	return p, nil
}

// scan reads one index in the type of its objects.
func scan[P Object](s Snap, i Index, prefix, after string) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for o, err := range s.Scan(i, prefix, after) {
			p, ok := o.(P)
			if err == nil && !ok {
				err = fmt.Errorf("index %s holds a %T", i, o)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// Team is the scope's team, nil for a list without one.
func (s Snap) Team() (*Team, error) { return get[Team](s, Ref{KindTeam, "team"}) }

// Task is one task, nil where there is none.
func (s Snap) Task(id TaskID) (*Task, error) { return get[Task](s, Ref{KindTask, string(id)}) }

// Member is one member, nil where there is none.
func (s Snap) Member(name string) (*Member, error) { return get[Member](s, Ref{KindMember, name}) }

// Message is one message, nil where there is none.
func (s Snap) Message(id MessageID) (*Message, error) {
	return get[Message](s, Ref{KindMessage, string(id)})
}

// Ask is one ask, nil where there is none.
func (s Snap) Ask(id AskID) (*Ask, error) { return get[Ask](s, Ref{KindAsk, string(id)}) }

// Todo is a caller's own small list, nil where there is none.
func (s Snap) Todo(owner string) (*Todo, error) { return get[Todo](s, Ref{KindTodo, owner}) }

// Binding says which scopes a caller works on; only in the Host scope.
func (s Snap) Binding(caller string) (*Binding, error) {
	return get[Binding](s, Ref{KindBinding, caller})
}

// TaskQuery names one index of the tasks and where to go on.
type TaskQuery struct {
	Index  Index  // empty: all tasks by id
	Key    string // the index's first part: an owner, a status, a parent, a blocker
	Cursor TaskID // go on after this one; not for IndexReady
}

// Tasks gives tasks in the order of one index.
func (s Snap) Tasks(q TaskQuery) iter.Seq2[*Task, error] {
	index, prefix, after := q.Index, "", ""
	if index == "" {
		index = Index(KindTask)
	}
	if q.Key != "" {
		prefix = prefixKey(q.Key)
	}
	if q.Cursor != "" {
		after = prefix + q.Cursor.sortKey()
	}
	return scan[*Task](s, index, prefix, after)
}

// Blocks gives the tasks that wait for this one: its edges from the other side.
func (s Snap) Blocks(id TaskID) iter.Seq2[*Task, error] {
	return s.Tasks(TaskQuery{Index: IndexBlocker, Key: string(id)})
}

// Comments gives a task's comments, oldest first.
func (s Snap) Comments(id TaskID) iter.Seq2[*Comment, error] {
	return scan[*Comment](s, Index(KindComment), prefixKey(id.sortKey()), "")
}

// References gives the tasks that this one has to do with.
func (s Snap) References(id TaskID) iter.Seq2[*Reference, error] {
	return scan[*Reference](s, IndexReference, prefixKey(string(id)), "")
}

// Members gives the members in the order in which they joined, departed ones too.
func (s Snap) Members() iter.Seq2[*Member, error] {
	return scan[*Member](s, Index(KindMember), "", "")
}

// Inbox gives a name's messages after a number, oldest first.
func (s Snap) Inbox(name string, after uint64) iter.Seq2[*Message, error] {
	prefix := prefixKey(name)
	return scan[*Message](s, IndexInbox, prefix, prefix+seqKey(after))
}

// Unread gives a name's messages that it has not acknowledged, oldest first.
func (s Snap) Unread(name string) iter.Seq2[*Message, error] {
	return scan[*Message](s, IndexUnread, prefixKey(name), "")
}

// OpenAsks gives what waits for an answer, oldest first.
func (s Snap) OpenAsks() iter.Seq2[*Ask, error] {
	return scan[*Ask](s, IndexOpenAsk, "", "")
}

// Asks gives every ask, oldest first.
func (s Snap) Asks() iter.Seq2[*Ask, error] {
	return scan[*Ask](s, Index(KindAsk), "", "")
}

// collect reads a sequence to its end.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

type progressKey struct{}

// WithProgress has a store report how far a long commit is: how many of its
// events are written.
func WithProgress(ctx context.Context, report func(done, total int)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportProgress tells whoever waits for a long commit how far it is.
func ReportProgress(ctx context.Context, done, total int) {
	if report, ok := ctx.Value(progressKey{}).(func(done, total int)); ok {
		report(done, total)
	}
}
