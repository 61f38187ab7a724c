package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/internal/quote"
)

// pageSize is how many of a kind an answer has where the caller does not say, and
// mostListed how many in a list.
const (
	pageSize   = 20
	mostListed = 50
)

// taskLine is a task as lists show it: what one needs to choose, and no more.
type taskLine struct {
	ID        cadre.TaskID    `json:"id"`
	Subject   string          `json:"subject"`
	Status    cadre.Status    `json:"status"`
	State     cadre.TaskState `json:"state,omitempty"` // where the status does not say it
	Owner     string          `json:"owner,omitempty"`
	BlockedBy []cadre.TaskID  `json:"blockedBy,omitempty"` // what it still waits for
	Priority  int             `json:"priority,omitempty"`
	Labels    []string        `json:"labels,omitempty"`
	Version   uint64          `json:"version"`
}

func lineOf(t *cadre.TaskView) taskLine {
	l := taskLine{t.ID, t.Subject, t.Status, "", t.Owner, t.WaitingOn, t.Priority, t.Labels, t.Version}
	if t.State == cadre.TaskStalled || t.State == cadre.TaskWaiting || t.State == cadre.TaskUnknown {
		l.State = t.State
	}
	return l
}

func linesOf(tasks []*cadre.TaskView) []taskLine {
	out := []taskLine{}
	for _, t := range tasks {
		out = append(out, lineOf(t))
	}
	return out
}

// String is the line as Claude Code's own TaskList writes it.
func (l taskLine) String() string {
	s := fmt.Sprintf("#%s [%s] %s", l.ID, l.Status, oneLine(l.Subject))
	if l.Owner != "" {
		s += " (" + oneLine(l.Owner) + ")"
	}
	if len(l.BlockedBy) > 0 {
		s += " [blocked by " + hashes(l.BlockedBy) + "]"
	}
	return s
}

func hashes(ids []cadre.TaskID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = "#" + string(id)
	}
	return strings.Join(words, ", ")
}

// oneLine is what somebody wrote, as a part of a line.
func oneLine(s string) string { return quote.Text(strings.Join(strings.Fields(s), " ")) }

// letter is a message as an agent needs it.
type letter struct {
	ID      cadre.MessageID   `json:"id"`
	From    string            `json:"from"`
	Kind    cadre.MessageKind `json:"type"`
	Text    string            `json:"text"`
	Task    cadre.TaskID      `json:"taskId,omitempty"`
	Request cadre.AskID       `json:"request_id,omitempty"`
	Sent    time.Time         `json:"timestamp"`
}

func letterOf(m *cadre.MessageView) letter {
	return letter{m.ID, m.From, m.Kind, m.Text, m.Task, m.Ask, m.SentAt}
}

// String is the letter as Claude Code hands one to its model: quoted, because what
// somebody writes is data and not an instruction of the user.
func (l letter) String() string {
	head := fmt.Sprintf("<teammate-message teammate_id=%q id=%q", l.From, l.ID)
	if l.Kind != cadre.MessagePlain && l.Kind != cadre.MessageBroadcast {
		head += fmt.Sprintf(" type=%q", l.Kind)
	}
	if l.Request != "" {
		head += fmt.Sprintf(" request_id=%q", l.Request)
	}
	return head + ">\n" + quote.Text(l.Text) + "\n</teammate-message>"
}

// request is an ask as an agent needs it.
type request struct {
	ID       cadre.AskID    `json:"request_id"`
	Kind     cadre.AskKind  `json:"kind"`
	From     string         `json:"from"`
	Text     string         `json:"text"`
	Task     cadre.TaskID   `json:"taskId,omitempty"`
	State    cadre.AskState `json:"state"`
	Answer   string         `json:"answer,omitempty"`
	Digest   string         `json:"digest,omitempty"`
	Deadline *time.Time     `json:"deadline,omitempty"`
}

func requestsOf(asks []*cadre.Ask) []request {
	out := []request{}
	for _, a := range asks {
		r := request{a.ID, a.Kind, a.From, a.Text, a.Task, a.State, a.Answer, "", a.Deadline}
		if a.State == cadre.AskOpen {
			r.Digest = a.Digest
		}
		out = append(out, r)
	}
	return out
}

// fullTask is a task as TaskGet writes it. What others wrote in it keeps to its own item.
func fullTask(t *cadre.TaskView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Task #%s: %s\nStatus: %s\n", t.ID, oneLine(t.Subject), t.Status)
	if t.Owner != "" {
		fmt.Fprintf(&b, "Owner: %s\n", oneLine(t.Owner))
	}
	if t.Description != "" {
		fmt.Fprintf(&b, "Description: %s\n", quote.Item(t.Description))
	}
	if len(t.BlockedBy) > 0 {
		fmt.Fprintf(&b, "Blocked by: %s\n", hashes(t.BlockedBy))
	}
	if len(t.Blocks) > 0 {
		fmt.Fprintf(&b, "Blocks: %s\n", hashes(t.Blocks))
	}
	if t.Result != nil {
		fmt.Fprintf(&b, "Result: %s\n", quote.Item(t.Result.Summary))
	}
	for _, c := range t.Comments {
		fmt.Fprintf(&b, "Comment by %s: %s\n", oneLine(c.Author), quote.Item(c.Content))
	}
	return strings.TrimRight(b.String(), "\n")
}

// lines puts what a list has one below the other.
func lines[T fmt.Stringer](items []T) string {
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = item.String()
	}
	return strings.Join(words, "\n")
}

// object is the structured part of an answer.
type object = map[string]any

// present makes of a verb's answer what the agent reads: a short text, and the same as
// data. scope is the list that the verb was about; the connection may have moved on.
func (c *connection) present(scope cadre.Scope, t *tool, form, answer any, given []string) (string, object) {
	switch v := answer.(type) {
	case *cadre.TaskView:
		return c.presentTask(t, v, given)
	case *cadre.Added:
		text, data := c.presentTask(t, &v.TaskView, given)
		if len(v.Similar) > 0 {
			data["similar"] = v.Similar
			text += "\nOpen tasks with the same subject: " + hashes(v.Similar)
		}
		return text, data
	case *cadre.Done:
		text, data := c.presentTask(t, &v.TaskView, given)
		data["freed"] = v.Freed
		if len(v.Freed) > 0 {
			text += "\nReady now: " + hashes(v.Freed)
		}
		if v.Next != nil {
			next := lineOf(v.Next)
			data["next"] = next
			text += "\nNext for you: " + next.String()
		}
		return text, data
	case []*cadre.TaskView:
		if f, ok := form.(*listForm); ok {
			return presentList(scope, f, v)
		}
		return lines(linesOf(v)), object{"tasks": linesOf(v)}
	case *cadre.MessageView:
		return "Message sent to " + v.To + "'s inbox", object{"success": true, "id": v.ID, "to": v.To}
	case *cadre.Broadcast:
		return fmt.Sprintf("Message broadcast to %d teammate(s): %s", len(v.To), strings.Join(v.To, ", ")), object{"success": true, "recipients": v.To}
	case []*cadre.MessageView:
		if f, ok := form.(*inboxForm); ok {
			return c.presentInbox(scope, f, v)
		}
	case *cadre.Ask:
		return presentAsk(v)
	case *coord.Synced:
		return c.presentSync(form.(*syncForm), v)
	case *coord.AtView:
		return presentAt(form.(*coord.At), v)
	case *coord.DiffView:
		return presentDiff(v)
	case *cadre.Graph:
		return presentGraph(v)
	}
	return presentTeam(t, answer)
}

func presentAsk(a *cadre.Ask) (string, object) {
	data := object{"success": true, "request": requestsOf([]*cadre.Ask{a})[0], "request_id": a.ID}
	if a.Kind == cadre.AskShutdown && a.State == cadre.AskOpen {
		return fmt.Sprintf("Shutdown request sent to %s. Request ID: %s", a.Member, a.ID), data
	}
	return fmt.Sprintf("Request %s (%s) is %s", a.ID, a.Kind, a.State), data
}

func (c *connection) presentTask(t *tool, v *cadre.TaskView, given []string) (string, object) {
	line := lineOf(v)
	switch t.name {
	case "TaskCreate":
		return fmt.Sprintf("Task #%s created successfully: %s", v.ID, oneLine(v.Subject)), object{"task": line}
	case "TaskUpdate":
		return fmt.Sprintf("Updated task #%s %s", v.ID, strings.Join(given, ", ")), object{"task": line}
	case "TaskClaim":
		return fmt.Sprintf("Task #%s is yours: %s", v.ID, oneLine(v.Subject)), object{"task": line}
	case "TaskGet", "TaskNext":
		return fullTask(v), object{"task": v}
	}
	return line.String(), object{"task": v}
}

// presentList fills a page, and says where the next one begins.
func presentList(scope cadre.Scope, f *listForm, tasks []*cadre.TaskView) (string, object) {
	all := linesOf(tasks)
	page, more := all[:min(f.Limit, len(all))], len(all) > f.Limit
	if n := fits(page, maxAnswer/2); n < len(page) {
		page, more = page[:n], true
	}
	data := object{"tasks": page}
	text := lines(page)
	if len(page) == 0 {
		text = "No tasks found"
	}
	if more {
		next := listCursor(scope, page[len(page)-1].ID)
		data["nextCursor"] = next
		text += "\nThere are more: cursor " + next
	}
	return text, data
}

// fits says how many of these so many bytes have room for; one always.
func fits[T any](items []T, most int) int {
	size := 0
	for i, item := range items {
		if size += len(mustJSON(item)); size > most && i > 0 {
			return i
		}
	}
	return len(items)
}

// presentInbox gives messages, and remembers that this connection was given them.
func (c *connection) presentInbox(scope cadre.Scope, f *inboxForm, messages []*cadre.MessageView) (string, object) {
	letters := []letter{}
	for _, m := range messages[:min(f.Limit, len(messages))] {
		letters = append(letters, letterOf(m))
	}
	letters = letters[:fits(letters, maxAnswer/2)]
	data := object{"messages": letters, "more": len(letters) < len(messages)}
	if len(letters) == 0 {
		return f.Wait.within("No new messages", data), data
	}
	last := messages[len(letters)-1].N
	c.showed(scope, last, len(letters) == len(messages))
	c.gives(scope, messages[:len(letters)])
	data["cursor"] = coord.Cursor{Scope: scope, N: last}.String()
	return lines(letters), data
}

// presentSync gives what changed in as few words as will do.
func (c *connection) presentSync(f *syncForm, v *coord.Synced) (string, object) {
	data := object{"you": v.You, "scope": v.Scope, "cursor": v.Cursor}
	var text []string
	add := func(name, head string, n int, body string, items any) {
		if n > 0 {
			data[name] = items
			text = append(text, head, body)
		}
	}
	if v.Full {
		data["full"] = true
		text = append(text, fmt.Sprintf("You are %s in %s.", v.You, v.Scope))
	}
	if v.Leads {
		data["leads"] = true
	}
	add("tasks", "Your tasks:", len(v.Tasks), lines(linesOf(v.Tasks)), linesOf(v.Tasks))
	add("lost", "No longer yours:", len(v.Lost), hashes(v.Lost), v.Lost)
	add("ready", "Ready for anyone:", len(v.Ready), lines(linesOf(v.Ready)), linesOf(v.Ready))
	letters := []letter{}
	for _, m := range v.Messages {
		letters = append(letters, letterOf(m))
	}
	letters = letters[:fits(letters, maxAnswer/2)]
	last := uint64(0)
	if len(letters) > 0 {
		last = v.Messages[len(letters)-1].N
	}
	c.synced(v, last, len(letters) < len(v.Messages) || v.Left.Messages > 0)
	c.gives(v.Scope, v.Messages[:len(letters)])
	add("messages", "Messages:", len(letters), lines(letters), letters)
	add("requests", "Waiting for your answer:", len(v.Asks), lines(requestsOf(v.Asks)), requestsOf(v.Asks))
	add("answers", "Answered:", len(v.Answers), lines(requestsOf(v.Answers)), requestsOf(v.Answers))
	left := v.Left
	left.Messages += len(v.Messages) - len(letters)
	for _, part := range []struct {
		n          int
		what, call string
	}{
		{left.Tasks, "more of your tasks", fmt.Sprintf(`TaskList {"owner":%q,"open":true}`, v.You)},
		{left.Ready, "more that are ready", `TaskList {"status":"pending"}`},
		{left.Messages, "more messages", "ReadInbox"},
	} {
		if part.n > 0 {
			data["more"], data["left"] = true, left
			text = append(text, fmt.Sprintf("%d %s: %s", part.n, part.what, part.call))
		}
	}
	if v.More && !v.Full {
		data["more"] = true
		text = append(text, "There is more: Sync with the cursor of this answer.")
	}
	if v.Empty() {
		text = append(text, f.Wait.within("Nothing new", data)+".")
	}
	return strings.Join(text, "\n"), data
}

func (r request) String() string {
	s := fmt.Sprintf("%s %s of %s", r.ID, r.Kind, oneLine(r.From))
	if r.State != cadre.AskOpen {
		s += " (" + string(r.State) + ")"
	}
	return s + ": " + oneLine(firstOf(r.Answer, r.Text))
}

// asObject is any answer as an object.
func asObject(answer any) object {
	raw := mustJSON(answer)
	var out object
	if json.Unmarshal(raw, &out) == nil && out != nil {
		return out
	}
	return object{"answer": json.RawMessage(raw)}
}
