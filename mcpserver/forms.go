package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
)

// seconds is a time to wait, as agents say it.
type seconds float64

func (s seconds) duration() (time.Duration, error) {
	if s < 0 || s > waitMost {
		return 0, cadre.Refuse(cadre.RuleValue, "", "wait is a number of seconds from 0 to %d", waitMost)
	}
	return time.Duration(float64(s) * float64(time.Second)), nil
}

// within says, where somebody waited, that it was for nothing.
func (s seconds) within(text string, data object) string {
	if s == 0 {
		return text
	}
	data["timedOut"] = true
	return fmt.Sprintf("%s within %g seconds", text, s)
}

type syncForm struct {
	Cursor string  `json:"cursor,omitempty" help:"of your last answer; none for everything that concerns you"`
	Wait   seconds `json:"wait,omitempty" help:"seconds to wait for something to happen"`

	seen uint64
}

func (f *syncForm) verb() (string, any, error) {
	wait, err := f.Wait.duration()
	return "sync", &coord.Sync{Cursor: f.Cursor, Wait: wait, Limit: pageSize, Seen: f.seen}, err
}

type nextForm struct {
	Wait seconds `json:"wait,omitempty" help:"seconds to wait for one"`
	Peek bool    `json:"peek,omitempty" help:"only show it"`
}

func (f *nextForm) verb() (string, any, error) {
	wait, err := f.Wait.duration()
	return "task next", &coord.TaskNext{TaskNext: cadre.TaskNext{Claim: !f.Peek}, Wait: wait}, err
}

// listForm pages with a cursor that belongs to one list.
type listForm struct {
	Status string `json:"status,omitempty" enum:"pending,in_progress,completed,deleted"`
	Owner  string `json:"owner,omitempty"`
	Label  string `json:"label,omitempty"`
	Open   bool   `json:"open,omitempty" help:"leave out completed ones"`
	Limit  int    `json:"limit,omitempty" help:"at most so many; 50 without"`
	Cursor string `json:"cursor,omitempty" help:"nextCursor of the answer before"`

	after cadre.TaskID
}

func (f *listForm) verb() (string, any, error) {
	if f.Limit < 0 || f.Limit > 1000 {
		return "", nil, cadre.Refuse(cadre.RuleValue, "", "limit is a number from 1 to 1000")
	}
	if f.Limit == 0 {
		f.Limit = mostListed
	}
	// One more than asked for tells whether there is a next page.
	return "task list", &cadre.TaskList{Status: f.Status, Owner: f.Owner, Label: f.Label, Open: f.Open, Limit: f.Limit + 1, After: f.after}, nil
}

type inboxForm struct {
	Wait   seconds `json:"wait,omitempty" help:"seconds to wait for a message"`
	Cursor string  `json:"cursor,omitempty" help:"of an earlier answer: you have read up to there"`
	Limit  int     `json:"limit,omitempty" help:"at most so many"`

	after uint64
}

func (f *inboxForm) verb() (string, any, error) {
	if f.Limit < 0 || f.Limit > 1000 {
		return "", nil, cadre.Refuse(cadre.RuleValue, "", "limit is a number from 1 to 1000")
	}
	if f.Limit == 0 {
		f.Limit = pageSize
	}
	_, err := f.Wait.duration()
	return "msg inbox", &cadre.MsgInbox{After: f.after, Limit: f.Limit + 1, Mail: true}, err
}

// sendForm takes what both generations of the client send.
type sendForm struct {
	To      string          `json:"to,omitempty" help:"a member's name, or *"`
	Message json.RawMessage `json:"message,omitempty" help:"the text, or an answer to a request" type:"string,object"`
	Summary string          `json:"summary,omitempty" help:"5 to 10 words"`

	Type      string `json:"type,omitempty" enum:"message,broadcast,shutdown_request,shutdown_response,plan_approval_response"`
	Recipient string `json:"recipient,omitempty" help:"the same as to"`
	Content   string `json:"content,omitempty" help:"the same as message"`
	RequestID string `json:"request_id,omitempty" help:"the ask you answer"`
	Approve   *bool  `json:"approve,omitempty"`
}

// typed is a message that answers or asks something.
type typed struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Approve   *bool  `json:"approve"`
	Reason    string `json:"reason"`
	Feedback  string `json:"feedback"`
	Content   string `json:"content"`
}

func (f *sendForm) verb() (string, any, error) {
	to, text := firstOf(f.To, f.Recipient), f.Content
	m := typed{Type: f.Type, RequestID: f.RequestID, Approve: f.Approve, Content: f.Content}
	if raw := bytes.TrimSpace(f.Message); len(raw) > 0 {
		if raw[0] != '{' {
			if err := json.Unmarshal(raw, &text); err != nil {
				return "", nil, cadre.Refuse(cadre.RuleValue, "", "message is a text, or an object with a type")
			}
		} else if err := strictly(raw, &m); err != nil {
			return "", nil, cadre.Refuse(cadre.RuleValue, "", "message: %v", err)
		}
	}
	why := firstOf(m.Reason, m.Feedback, m.Content)
	switch m.Type {
	case "shutdown_request":
		return "member stop", &cadre.AskShutdownOf{Name: to, Reason: why}, nil
	case "shutdown_response", "plan_approval_response":
		if m.RequestID == "" || m.Approve == nil {
			return "", nil, cadre.Refuse(cadre.RuleValue, "", "a %s needs request_id and approve", m.Type)
		}
		return "ask answer", &cadre.AskAnswer{ID: cadre.AskID(m.RequestID), Approve: m.Approve, Text: why}, nil
	case "", "message", "broadcast":
	default:
		return "", nil, cadre.Refuse(cadre.RuleValue, "", "%.40q is no type of message", m.Type)
	}
	if to == "*" || m.Type == "broadcast" {
		return "msg broadcast", &cadre.MsgBroadcast{Text: text, Summary: f.Summary}, nil
	}
	return "msg send", &cadre.MsgSend{To: to, Text: text, Summary: f.Summary}, nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// strictly reads an object that may have no other fields.
func strictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

type stopForm struct {
	Name   string `json:"name" help:"the member"`
	Reason string `json:"reason,omitempty"`
	Force  bool   `json:"force,omitempty" help:"end it at once"`
}

func (f *stopForm) verb() (string, any, error) {
	if f.Force {
		return "member kill", &coord.MemberKill{MemberKill: cadre.MemberKill{Name: f.Name, Why: f.Reason}}, nil
	}
	return "member stop", &cadre.AskShutdownOf{Name: f.Name, Reason: f.Reason}, nil
}

type answerForm struct {
	ID      string `json:"request_id" help:"the ask, as a7"`
	Approve *bool  `json:"approve,omitempty" help:"yes or no; not for a question"`
	Text    string `json:"text,omitempty" help:"the answer, feedback or reason"`
	Digest  string `json:"digest,omitempty" help:"of the plan you read: refused if it is another now"`
}

func (f *answerForm) verb() (string, any, error) {
	return "ask answer", &cadre.AskAnswer{ID: cadre.AskID(strings.TrimSpace(f.ID)), Approve: f.Approve, Text: f.Text, Digest: f.Digest}, nil
}
