package cadre

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Status is where a task stands.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted"
)

// Known says whether the status is one of the four; a file may hold any word.
func (s Status) Known() bool {
	return s == Pending || s == InProgress || s == Completed || s == Deleted
}

// ParseStatus reads a status; open and resolved are the words of an older
// generation for pending and completed.
func ParseStatus(s string) (Status, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "pending", "open":
		return Pending, nil
	case "in_progress", "in-progress":
		return InProgress, nil
	case "completed", "resolved", "done":
		return Completed, nil
	case "deleted":
		return Deleted, nil
	}
	return "", refuse(RuleValue, "%q is not a status: use pending, in_progress, completed or deleted", clip(s, 40))
}

// TaskKind tells the plan from what workers note down for themselves.
type TaskKind string

const (
	KindPlan     TaskKind = ""         // part of the plan
	KindTrack    TaskKind = "track"    // made by a member while it worked on another task
	KindInternal TaskKind = "internal" // a client's record of a running agent
)

// Flag marks something about a task that a reader must know.
type Flag string

const (
	FlagForced     Flag = "forced"       // a rule was overridden; the log says by whom
	FlagUnaccepted Flag = "unaccepted"   // completed out of order by another program: frees nobody yet
	FlagAccepted   Flag = "accepted"     // completed out of order, and the lead lets it count
	FlagPerson     Flag = "needs-person" // attempts are used up
	FlagUnblocked  Flag = "unblocked"    // a blocker was removed, not completed

	// What a door would have refused, and a file says all the same.
	FlagEarly   Flag = "early"          // in progress although it waits for others
	FlagNobody  Flag = "nobody"         // in progress and belongs to nobody
	FlagUngated Flag = "ungated"        // completed past its plan gate or over a live claim: frees nobody yet
	FlagOwner   Flag = "unknown-owner"  // belongs to a name that no member has
	FlagStatus  Flag = "unknown-status" // its status is a word that Cadre does not know
	FlagLarge   Flag = "too-large"      // past a limit of Cadre's
	FlagID      Flag = "foreign-id"     // its id is no number
)

// Result is what a finished task left behind.
type Result struct {
	Summary string   `json:"summary"`
	Files   []string `json:"files,omitempty"`
	Commit  string   `json:"commit,omitempty"`
}

// Lease is something that ends by itself unless it is renewed. It is measured in
// time since boot: another boot means it is over.
type Lease struct {
	Boot  string        `json:"boot"`
	Until time.Duration `json:"until"`
}

// expired compares in boot time, never by the wall clock.
func (l *Lease) expired(now Time) bool {
	return l != nil && (l.Boot != now.Boot || now.Up >= l.Until)
}

// Task is one piece of work. Its edges stand on the blocked side only: the tasks
// that it blocks are read from an index.
type Task struct {
	ID           TaskID                     `json:"id"`
	Key          string                     `json:"key,omitempty"` // what a team file or an import calls it
	Subject      string                     `json:"subject"`
	Description  string                     `json:"description"`
	ActiveForm   string                     `json:"activeForm,omitempty"`
	Owner        string                     `json:"owner,omitempty"`
	Status       Status                     `json:"status"`
	BlockedBy    []TaskID                   `json:"blockedBy,omitempty"`
	OpenBlockers int                        `json:"openBlockers,omitempty"` // of BlockedBy, how many are not finished
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
	Kind         TaskKind                   `json:"kind,omitempty"`
	Priority     int                        `json:"priority,omitempty"`
	Labels       []string                   `json:"labels,omitempty"`
	Parent       TaskID                     `json:"parent,omitempty"`
	Paths        []string                   `json:"paths,omitempty"`
	Run          string                     `json:"run,omitempty"`
	Attempts     int                        `json:"attempts,omitempty"`
	MaxAttempts  int                        `json:"maxAttempts,omitempty"` // after so many it needs a person; DefaultAttempts where 0
	Refusals     int                        `json:"refusals,omitempty"`    // how often a gate hook said no
	Result       *Result                    `json:"result,omitempty"`
	Plan         *PlanGate                  `json:"plan,omitempty"`
	Leased       bool                       `json:"leased,omitempty"` // the claim is over when its owner's lease is: see Holder
	Fence        uint64                     `json:"fence,omitempty"`
	Flags        []Flag                     `json:"flags,omitempty"`
	Unblocked    []TaskID                   `json:"unblocked,omitempty"` // who waited for it when it was removed
	Version      uint64                     `json:"version"`
	CreatedAt    time.Time                  `json:"createdAt"`
	UpdatedAt    time.Time                  `json:"updatedAt"`
	StartedAt    *time.Time                 `json:"startedAt,omitempty"`
	CompletedAt  *time.Time                 `json:"completedAt,omitempty"`
	Author       string                     `json:"author"`
}

// PlanGate keeps a task from starting before its plan was approved.
type PlanGate struct {
	Approvers  []string `json:"approvers,omitempty"` // who may approve; the lead where empty
	Digest     string   `json:"digest,omitempty"`    // of the plan that was approved
	ApprovedBy string   `json:"approvedBy,omitempty"`
	From       string   `json:"from,omitempty"` // whose plan it is
}

// shut is the same gate with nothing approved.
func (g *PlanGate) shut() *PlanGate { return &PlanGate{Approvers: g.Approvers} }

func (t *Task) Ref() Ref      { return Ref{KindTask, string(t.ID)} }
func (t *Task) order() string { return t.ID.sortKey() }

// Clone gives a copy that may be changed.
func (t *Task) Clone() *Task {
	c := *t
	c.BlockedBy = slices.Clone(t.BlockedBy)
	c.Metadata = maps.Clone(t.Metadata)
	c.Labels = slices.Clone(t.Labels)
	c.Paths = slices.Clone(t.Paths)
	c.Flags = slices.Clone(t.Flags)
	return &c
}

// Open says whether work on the task is still to be done.
func (t *Task) Open() bool { return t.Status == Pending || t.Status == InProgress }

// finished says whether the task frees those that wait for it.
func (t *Task) finished() bool {
	return t.Status == Completed && !t.has(FlagUnaccepted) && !t.has(FlagUngated)
}

// Ready says whether anyone might take the task up now.
func (t *Task) Ready() bool {
	return t.Status == Pending && t.OpenBlockers == 0 && t.Kind != KindInternal && !t.has(FlagPerson)
}

func (t *Task) has(f Flag) bool { return slices.Contains(t.Flags, f) }

func (t *Task) flag(f Flag) {
	if !t.has(f) {
		t.Flags = append(t.Flags, f)
	}
}

func (t *Task) unflag(gone ...Flag) {
	t.Flags = slices.DeleteFunc(t.Flags, func(f Flag) bool { return slices.Contains(gone, f) })
}

// settle drops the flags that say nothing true any more.
func (t *Task) settle() {
	if t.OpenBlockers == 0 {
		t.unflag(FlagUnaccepted, FlagEarly)
	}
	if t.Status != InProgress {
		t.unflag(FlagEarly, FlagNobody)
	}
	if t.Owner != "" {
		t.unflag(FlagNobody)
	}
	if t.Status != Completed {
		t.unflag(FlagUnaccepted, FlagUngated, FlagAccepted)
	}
	if t.Owner == "" {
		t.unflag(FlagOwner)
	}
	if t.Status.Known() {
		t.unflag(FlagStatus)
	}
}

// Comment is a note on a task, an object of its own so that tasks stay small.
type Comment struct {
	Task    TaskID    `json:"task"`
	N       uint64    `json:"n"` // the sequence number it was written at
	Author  string    `json:"author"`
	Content string    `json:"content"`
	At      time.Time `json:"at"`
}

func (c *Comment) Ref() Ref { return Ref{KindComment, string(c.Task) + "/" + decimal(c.N)} }

func (c *Comment) order() string { return joinKey(c.Task.sortKey(), seqKey(c.N)) }

func (*Comment) index(func(Index, string)) {}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// Reference says that two tasks have to do with each other; it has no direction.
type Reference struct {
	A TaskID `json:"a"`
	B TaskID `json:"b"`
}

func newReference(a, b TaskID) *Reference {
	if b.sortKey() < a.sortKey() {
		a, b = b, a
	}
	return &Reference{A: a, B: b}
}

func (r *Reference) Ref() Ref { return Ref{KindReference, string(r.A) + "/" + string(r.B)} }

func (r *Reference) order() string { return joinKey(r.A.sortKey(), r.B.sortKey()) }

func (r *Reference) index(add func(Index, string)) {
	add(IndexReference, joinKey(string(r.A), r.B.sortKey()))
	add(IndexReference, joinKey(string(r.B), r.A.sortKey()))
}

// Priorities by name; any whole number from -1000 to 1000 is one.
const (
	Low    = -10
	Normal = 0
	High   = 10
	Urgent = 20

	maxPriority = 1000
)

// ParsePriority reads a priority by name or number.
func ParsePriority(s string) (int, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "low":
		return Low, nil
	case "", "normal":
		return Normal, nil
	case "high":
		return High, nil
	case "urgent":
		return Urgent, nil
	}
	var n json.Number
	if err := json.Unmarshal([]byte(s), &n); err == nil {
		if p, err := strconv.Atoi(n.String()); err == nil && p >= -maxPriority && p <= maxPriority {
			return p, nil
		}
	}
	return 0, refuse(RuleValue, "%q is not a priority: use low, normal, high, urgent or a whole number from -%d to %d", clip(s, 40), maxPriority, maxPriority)
}

// checkText checks a text that came from outside against its limit.
func checkText(what, s string, limit int) error {
	if len(s) > limit {
		return refuse(RuleLimit, "the %s is %d bytes long, %d are allowed", what, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return refuse(RuleValue, "the %s is not valid UTF-8", what)
	}
	if strings.ContainsRune(s, 0) {
		return refuse(RuleValue, "the %s contains a NUL character", what)
	}
	return nil
}

func checkSubject(s string) error {
	if strings.TrimSpace(s) == "" {
		return refuse(RuleValue, "a task needs a subject").hint(`cadre task add "what is to be done"`)
	}
	if n := utf8.RuneCountInString(s); n > MaxSubject {
		return refuse(RuleLimit, "the subject is %d characters long, %d are allowed: put the rest into the description", n, MaxSubject)
	}
	return checkText("subject", s, 4*MaxSubject)
}
