package cadre

import (
	"encoding/json"
	"slices"
	"time"
)

// MessageKind is the kind of a message. Kinds that Cadre does not know are kept
// as they came.
type MessageKind string

const (
	MessagePlain            MessageKind = "message"
	MessageBroadcast        MessageKind = "broadcast"
	MessageAssignment       MessageKind = "task_assignment"
	MessageShutdownRequest  MessageKind = "shutdown_request"
	MessageShutdownResponse MessageKind = "shutdown_response"
	MessagePlanRequest      MessageKind = "plan_approval_request"
	MessagePlanResponse     MessageKind = "plan_approval_response"
	MessagePermRequest      MessageKind = "permission_request"
	MessagePermResponse     MessageKind = "permission_response"
	MessageIdle             MessageKind = "idle_notification"
	MessageNotice           MessageKind = "notice" // from Cadre itself
)

// Message is mail from one name to another, with its states and their times.
// Text is data: whatever it looks like, it is never a command.
type Message struct {
	ID          MessageID       `json:"id"`
	N           uint64          `json:"n"` // the sequence number it was sent at
	From        string          `json:"from"`
	To          string          `json:"to"`
	Kind        MessageKind     `json:"kind"`
	Text        string          `json:"text"`
	Summary     string          `json:"summary,omitempty"`
	Color       string          `json:"color,omitempty"`
	Task        TaskID          `json:"task,omitempty"`
	Ask         AskID           `json:"ask,omitempty"`
	Raw         json.RawMessage `json:"raw,omitempty"`
	SentAt      time.Time       `json:"sentAt"`
	DeliveredAt *time.Time      `json:"deliveredAt,omitempty"`
	ReadAt      *time.Time      `json:"readAt,omitempty"`
	ConfirmedAt *time.Time      `json:"confirmedAt,omitempty"` // its reader's own transcript shows it
	Again       MessageID       `json:"again,omitempty"`       // the message that this one repeats
	ActedAt     *time.Time      `json:"actedAt,omitempty"`
	Dead        string          `json:"dead,omitempty"` // why it can never arrive
}

func (m *Message) Ref() Ref      { return Ref{KindMessage, string(m.ID)} }
func (m *Message) order() string { return seqKey(m.N) }

func (m *Message) index(add func(Index, string)) {
	add(IndexInbox, joinKey(m.To, seqKey(m.N)))
	if m.Dead != "" {
		add(IndexDead, seqKey(m.N))
	} else if m.ReadAt == nil {
		add(IndexUnread, joinKey(m.To, seqKey(m.N)))
	}
	if m.Said() {
		add(IndexSent, joinKey(m.From, timeKey(m.SentAt), seqKey(m.N)))
	}
}

// Clone gives a copy that may be changed.
func (m *Message) Clone() *Message {
	c := *m
	return &c
}

// Said tells what its sender chose to say from what only tells of something else.
func (m *Message) Said() bool { return m.Kind == MessagePlain || m.Kind == MessageBroadcast }

// State is the furthest state that the message reached.
func (m *Message) State() string {
	switch {
	case m.Dead != "":
		return "dead"
	case m.ActedAt != nil:
		return "acted"
	case m.ReadAt != nil:
		return "read"
	case m.DeliveredAt != nil:
		return "delivered"
	}
	return "stored"
}

// AskKind is what an ask waits for.
type AskKind string

const (
	AskPlan       AskKind = "plan"
	AskPermission AskKind = "permission"
	AskQuestion   AskKind = "question"
	AskShutdown   AskKind = "shutdown"
	AskPerson     AskKind = "needs-person" // a task's attempts are used up
	AskRefusal    AskKind = "refusal"      // a member refuses to shut down
	AskTakeover   AskKind = "takeover"     // another program wants a task away from a live claim
)

// AskState is how far an ask is.
type AskState string

const (
	AskOpen     AskState = "open"
	AskApproved AskState = "approved"
	AskRejected AskState = "rejected"
	AskAnswered AskState = "answered"
	AskExpired  AskState = "expired"
	AskVoid     AskState = "void" // nobody may rely on it any more
)

// Ask is something that waits for an answer.
type Ask struct {
	ID         AskID      `json:"id"`
	N          uint64     `json:"n"`
	Kind       AskKind    `json:"kind"`
	From       string     `json:"from"`
	Task       TaskID     `json:"task,omitempty"`
	Member     string     `json:"member,omitempty"`
	Text       string     `json:"text"`
	Digest     string     `json:"digest,omitempty"` // of the text that was asked about
	Approvers  []string   `json:"approvers,omitempty"`
	Request    string     `json:"request,omitempty"` // what a client calls it
	AskedAt    time.Time  `json:"askedAt"`
	Deadline   *time.Time `json:"deadline,omitempty"`
	State      AskState   `json:"state"`
	Answer     string     `json:"answer,omitempty"`
	AnsweredBy string     `json:"answeredBy,omitempty"`
	AnsweredAt *time.Time `json:"answeredAt,omitempty"`
	Policy     string     `json:"policy,omitempty"` // the digest of what set the policy that answered
}

func (a *Ask) Ref() Ref      { return Ref{KindAsk, string(a.ID)} }
func (a *Ask) order() string { return seqKey(a.N) }

func (a *Ask) index(add func(Index, string)) {
	if a.State != AskOpen {
		return
	}
	add(IndexOpenAsk, seqKey(a.N))
	if a.Task != "" {
		add(IndexTaskAsk, joinKey(string(a.Task), seqKey(a.N)))
	}
	if a.Deadline != nil {
		add(IndexDeadline, joinKey(timeKey(*a.Deadline), seqKey(a.N)))
	}
}

// Clone gives a copy that may be changed.
func (a *Ask) Clone() *Ask {
	c := *a
	return &c
}

// ForPerson says whether the ask waits for the lead or the operator, and not for
// another member.
func (a *Ask) ForPerson() bool {
	return a.State == AskOpen && a.Kind != AskShutdown && (len(a.Approvers) == 0 || slices.Contains(a.Approvers, LeadName))
}

// late says whether the ask waited too long for an answer to count.
func (a *Ask) late(now time.Time) bool { return a.Deadline != nil && !now.Before(*a.Deadline) }

// TodoItem is one line of a todo list.
type TodoItem struct {
	Content    string `json:"content"`
	Status     Status `json:"status"`
	ActiveForm string `json:"activeForm"`
}

// Todo is a session's own small list, replaced whole.
type Todo struct {
	Owner     string     `json:"owner"`
	Items     []TodoItem `json:"items"`
	UpdatedAt time.Time  `json:"updatedAt"`
}

func (t *Todo) Ref() Ref                  { return Ref{KindTodo, t.Owner} }
func (t *Todo) order() string             { return t.Owner }
func (t *Todo) index(func(Index, string)) {}
