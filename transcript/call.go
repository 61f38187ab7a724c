package transcript

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cadre"
)

// maxText bounds each text that is kept of an event.
const maxText = 256 << 10

// cut shortens a text to what is kept, at a character's edge.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// newCall makes the event of a tool call, or nothing where the tool is none of
// ours or its input makes no sense.
func newCall(tool string, input []byte) *Event {
	switch tool {
	case "TaskCreate", "TaskUpdate":
		return taskCall(Kind(tool), input)
	case "TaskList":
		return &Event{Kind: TaskList}
	case "TeamCreate", "TeamDelete":
		var in struct {
			Name        string `json:"team_name"`
			Description string `json:"description"`
		}
		if json.Unmarshal(input, &in) != nil {
			return nil
		}
		return &Event{Kind: Kind(tool), Team: in.Name, About: cut(in.Description)}
	case "Task", "Agent":
		var in struct {
			Description string `json:"description"`
			Prompt      string `json:"prompt"`
			Type        string `json:"subagent_type"`
			Name        string `json:"name"`
			Team        string `json:"team_name"`
			Model       string `json:"model"`
			Mode        string `json:"mode"`
		}
		if json.Unmarshal(input, &in) != nil {
			return nil
		}
		a := &AgentCall{Name: in.Name, Description: cut(in.Description), Type: in.Type, Model: in.Model, PlanMode: in.Mode == "plan"}
		if in.Name != "" {
			a.Prompt = cut(in.Prompt)
		}
		return &Event{Kind: Spawn, Team: in.Team, Agent: a}
	case "SendMessage":
		return sendCall(input)
	}
	return nil
}

func taskCall(kind Kind, input []byte) *Event {
	var in struct {
		ID cadre.TaskID `json:"taskId"`
		TaskCall
	}
	if json.Unmarshal(input, &in) != nil || kind == TaskUpdate && in.ID == "" || kind == TaskCreate && in.Subject == nil {
		return nil
	}
	t := in.TaskCall
	t.ID, t.Updated = in.ID, nil
	for _, s := range []*string{t.Subject, t.Description, t.ActiveForm, t.Owner, t.Status} {
		if s != nil {
			*s = cut(*s)
		}
	}
	return &Event{Kind: kind, Task: &t}
}

// sendCall reads both generations of SendMessage: type, recipient and content, or
// to and message, which is a text or an object with a type.
func sendCall(input []byte) *Event {
	var in struct {
		Type      string          `json:"type"`
		Recipient string          `json:"recipient"`
		Content   string          `json:"content"`
		Summary   string          `json:"summary"`
		Request   string          `json:"request_id"`
		Approve   bool            `json:"approve"`
		To        string          `json:"to"`
		Message   json.RawMessage `json:"message"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	l := &Letter{Kind: in.Type, Text: in.Content, Summary: cut(in.Summary), Request: in.Request, Approve: in.Approve}
	if in.To != "" {
		in.Recipient = in.To
		l.Text = text(in.Message)
		var inner struct {
			Type     string `json:"type"`
			Reason   string `json:"reason"`
			Feedback string `json:"feedback"`
			Request  string `json:"request_id"`
			Approve  bool   `json:"approve"`
		}
		if json.Unmarshal(in.Message, &inner) == nil && inner.Type != "" {
			l.Kind, l.Text, l.Request, l.Approve = inner.Type, inner.Reason+inner.Feedback, inner.Request, inner.Approve
		}
	}
	l.Text = cut(l.Text)
	if l.Kind == "" {
		l.Kind = string(cadre.MessagePlain)
	}
	if in.Recipient == "" && l.Kind == string(cadre.MessageShutdownResponse) {
		in.Recipient = cadre.LeadName
	}
	if name, _, _ := strings.Cut(in.Recipient, "@"); name != "" {
		l.To = []string{name}
	}
	return &Event{Kind: SendMessage, Letter: l}
}

// outcome is the answer to a call, of any of our tools.
type outcome struct {
	Success *bool `json:"success"`
	Task    *struct {
		ID cadre.TaskID `json:"id"`
	} `json:"task"`
	Tasks      []Listed `json:"tasks"`
	Updated    []string `json:"updatedFields"`
	Team       string   `json:"team_name"`
	Status     string   `json:"status"`
	Name       string   `json:"name"`
	Color      string   `json:"color"`
	Model      string   `json:"model"`
	AgentID    string   `json:"agentId"`
	PlanMode   bool     `json:"plan_mode_required"`
	MessageID  string   `json:"msg_id"`
	Request    string   `json:"request_id"`
	Recipients []string `json:"recipients"`
	Routing    struct {
		Sender string `json:"sender"`
		Color  string `json:"senderColor"`
	} `json:"routing"`
}

// answer is what came back for a call: structured where the client wrote that
// beside the text.
type answer struct {
	at     time.Time
	failed bool
	out    outcome
	text   string
}

// newAnswer reads an answer. Unknown shapes leave the outcome empty.
func newAnswer(at time.Time, failed bool, structured []byte, shown string) answer {
	a := answer{at: at, failed: failed, text: shown}
	if len(structured) == 0 || structured[0] != '{' {
		structured = []byte(shown)
	}
	_ = json.Unmarshal(structured, &a.out) // a text that is no JSON is read by apply
	if a.out.Success != nil && !*a.out.Success {
		a.failed = true
	}
	return a
}

// apply completes a call by its answer.
func (a *answer) apply(e *Event) {
	e.Done, e.Failed = a.at, a.failed
	switch e.Kind {
	case TaskCreate:
		if a.out.Task != nil {
			e.Task.ID = a.out.Task.ID
		} else if rest, ok := strings.CutPrefix(a.text, "Task #"); ok {
			id, _, _ := strings.Cut(rest, " ")
			e.Task.ID = cadre.TaskID(id)
		}
		e.Failed = e.Failed || e.Task.ID == ""
	case TaskUpdate:
		e.Task.Updated = a.out.Updated
		if rest, ok := strings.CutPrefix(a.text, "Updated task #"+string(e.Task.ID)+" "); ok && a.out.Success == nil {
			rest, _, _ = strings.Cut(rest, "\n")
			e.Task.Updated = strings.Split(rest, ", ")
		}
		e.Failed = e.Failed || a.text == "Task not found"
	case TaskList:
		e.Listed = a.out.Tasks
	case TeamCreate:
		e.Team = a.out.Team
		e.Failed = e.Failed || e.Team == ""
	case TeamDelete:
		e.Team = a.out.Team // without one there was nothing to delete
	case Spawn:
		e.Agent.ID = a.out.AgentID
		if e.Agent.Teammate = a.out.Status == "teammate_spawned"; e.Agent.Teammate {
			e.Team = a.out.Team
			e.Agent.Name, e.Agent.Color, e.Agent.PlanMode = a.out.Name, a.out.Color, a.out.PlanMode
			e.Agent.Model = a.out.Model
		}
	case SendMessage:
		l := e.Letter
		l.ID, l.From, l.Color = a.out.MessageID, a.out.Routing.Sender, a.out.Routing.Color
		if a.out.Request != "" {
			l.Request = a.out.Request
		}
		if len(a.out.Recipients) > 0 {
			l.To = a.out.Recipients
		}
	}
}

// changed says whether the answer to an update names a field; a call without an
// answer, or with one that names none, may have changed anything.
func (e *Event) changed(field string) bool {
	return e.Done.IsZero() || e.Task.Updated == nil || slices.Contains(e.Task.Updated, field)
}
