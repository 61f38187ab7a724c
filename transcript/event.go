package transcript

import (
	"encoding/json"
	"time"

	"cadre"
)

// Kind is what an event is: the tool that was called, or mail that was shown.
type Kind string

const (
	TaskCreate  Kind = "TaskCreate"
	TaskUpdate  Kind = "TaskUpdate"
	TaskList    Kind = "TaskList" // of these only the newest for each list is kept
	TeamCreate  Kind = "TeamCreate"
	TeamDelete  Kind = "TeamDelete"
	Spawn       Kind = "Agent" // also called Task
	SendMessage Kind = "SendMessage"
	Mail        Kind = "mail" // a message from a teammate, shown to the reader
)

// Event is one thing that a transcript tells.
type Event struct {
	Kind   Kind      `json:"kind"`
	At     time.Time `json:"at"`            // when the call was made, or the mail shown
	Done   time.Time `json:"done,omitzero"` // when the answer came; none yet where zero
	Failed bool      `json:"failed,omitempty"`
	UUID   string    `json:"uuid,omitempty"` // of the line
	Call   string    `json:"call,omitempty"` // id of the tool call
	Team   string    `json:"team,omitempty"` // the team that the line, the call or its answer names

	Task   *TaskCall  `json:"task,omitempty"`   // TaskCreate, TaskUpdate
	Listed []Listed   `json:"listed,omitempty"` // TaskList
	Agent  *AgentCall `json:"agent,omitempty"`  // Agent
	Letter *Letter    `json:"letter,omitempty"` // SendMessage, mail
	About  string     `json:"about,omitempty"`  // a new team's description

	// The rest follows from all transcripts together.
	File    string      `json:"-"` // the transcript, below the projects folder
	Session string      `json:"-"`
	Scope   cadre.Scope `json:"-"` // the list it is about
	Who     string      `json:"-"` // the member, or the session where there is no team
}

// Evidence is where the event stands.
func (e *Event) Evidence() string { return e.File + "#" + e.UUID }

// worked says whether the call did what it says. One without an answer is not
// known to have failed.
func (e *Event) worked() bool { return !e.Failed }

// TaskCall is what a call wanted to do to a task.
type TaskCall struct {
	ID          cadre.TaskID               `json:"id,omitempty"`
	Subject     *string                    `json:"subject,omitempty"`
	Description *string                    `json:"description,omitempty"`
	ActiveForm  *string                    `json:"activeForm,omitempty"`
	Owner       *string                    `json:"owner,omitempty"`
	Status      *string                    `json:"status,omitempty"`
	Blocks      []cadre.TaskID             `json:"addBlocks,omitempty"`
	BlockedBy   []cadre.TaskID             `json:"addBlockedBy,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	Updated     []string                   `json:"updated"` // the fields that the answer says were changed; nil where it says nothing
}

// Listed is a task as the client's list showed it.
type Listed struct {
	ID      cadre.TaskID `json:"id"`
	Subject string       `json:"subject"`
	Status  string       `json:"status"`
	Owner   string       `json:"owner,omitempty"`
}

// AgentCall is the start of an agent: a teammate where it has a name and a team.
type AgentCall struct {
	ID          string `json:"id,omitempty"` // names the agent's own transcript, where there is one
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"` // of a teammate
	Type        string `json:"type,omitempty"`
	Model       string `json:"model,omitempty"`
	Color       string `json:"color,omitempty"`
	PlanMode    bool   `json:"planMode,omitempty"`
	Teammate    bool   `json:"teammate,omitempty"`
}

// Letter is a message that was sent or shown.
type Letter struct {
	ID       string       `json:"id,omitempty"`
	Kind     string       `json:"kind"` // message, or the type that a structured text names
	From     string       `json:"from,omitempty"`
	To       []string     `json:"to,omitempty"`
	Text     string       `json:"text"`
	Summary  string       `json:"summary,omitempty"`
	Color    string       `json:"color,omitempty"`
	Request  string       `json:"request,omitempty"` // joins a request with its answer
	Approve  bool         `json:"approve,omitempty"`
	Task     cadre.TaskID `json:"task,omitempty"`     // of an assignment
	Sent     time.Time    `json:"sent,omitzero"`      // as a structured text says
	Unproved bool         `json:"unproved,omitempty"` // the client itself doubted that it is from the lead
}
