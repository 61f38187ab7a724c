package realclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a client may be silent before it counts as hanging. It is
// far longer than any of them needs.
const patience = 60 * time.Second

// model is what a client takes for the Messages API. It thinks nothing: whoever
// asks it waits until the test answers.
type model struct {
	t      testing.TB
	url    string
	closed chan struct{}

	mu    sync.Mutex
	talks []*talk
	calls int // how many tools were called so far, which numbers them
}

func newModel(t testing.TB) *model {
	m := &model{t: t, closed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"input_tokens":10}`)
	})
	mux.HandleFunc("POST /v1/responses", m.responses)
	mux.HandleFunc("POST /v1beta/models/", m.generate)
	s := httptest.NewServer(mux) // everything else that a client asks for is not there
	t.Cleanup(func() {
		close(m.closed)
		s.CloseClientConnections()
		s.Close()
	})
	m.url = s.URL
	return m
}

// talk is one conversation with the model: a session's, or that of a teammate
// inside it.
type talk struct {
	t       testing.TB
	m       *model
	opening string
	asks    chan *ask
	ask     *ask // what waits for an answer
}

// talk takes the conversations whose first message holds this text, and the text
// of no other talk that is longer. Call it before the conversation begins.
func (m *model) talk(opening string) *talk {
	c := &talk{t: m.t, m: m, opening: opening, asks: make(chan *ask)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.talks = append(m.talks, c)
	slices.SortStableFunc(m.talks, func(a, b *talk) int { return len(b.opening) - len(a.opening) })
	return c
}

// ask is a client's request for the next turn.
type ask struct {
	said   content // its newest message
	heard  string  // all that came since the model last said something, also from the client itself
	answer chan content
	gone   <-chan struct{} // closed when the client no longer waits
}

// reminder is what the client adds to messages and answers for the model alone.
var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)

// use has the model call a tool, and gives what the tool answered.
func (c *talk) use(tool string, input object) string {
	c.t.Helper()
	id := c.call(tool, input)
	c.need()
	for _, b := range c.ask.said {
		if b.ToolUseID == id {
			return strings.TrimSpace(reminder.ReplaceAllString(b.Content.text(), ""))
		}
	}
	c.t.Fatalf("the client called %s and came back without an answer: %s", tool, c.ask.said.text())
	return ""
}

// call has the model call a tool and waits for nothing: the tool may be the end of
// the conversation. It gives the call's id.
func (c *talk) call(tool string, input object) string {
	c.t.Helper()
	c.need()
	c.m.mu.Lock()
	c.m.calls++
	id := fmt.Sprintf("toolu_%06d", c.m.calls)
	c.m.mu.Unlock()
	c.give(block{Type: "tool_use", ID: id, Name: tool, Input: input})
	return id
}

// say has the model end its turn.
func (c *talk) say(text string) {
	c.t.Helper()
	c.need()
	c.give(block{Type: "text", Text: text})
}

// wait waits for a message to the model that holds a text, and gives the message.
// Whatever the client says before is answered with an empty phrase.
func (c *talk) wait(text string) string {
	c.t.Helper()
	for {
		c.need()
		if said := c.ask.said.text(); strings.Contains(said, text) {
			return said
		}
		c.say("I wait.")
	}
}

// leave lets the conversation go on without the test, with empty phrases.
func (c *talk) leave() {
	go func() {
		for {
			select {
			case a := <-c.asks:
				a.answer <- content{{Type: "text", Text: "I wait."}}
			case <-c.m.closed:
				return
			}
		}
	}()
}

// need waits until the client wants an answer.
func (c *talk) need() {
	c.t.Helper()
	if c.ask != nil {
		return
	}
	select {
	case c.ask = <-c.asks:
	case <-time.After(patience):
		c.t.Fatalf("nothing was asked in the conversation %q for %s", c.opening, patience)
	}
}

func (c *talk) give(b block) {
	c.ask.answer <- content{b}
	c.ask = nil
}

// content is what a message or a tool's answer holds.
type content []block

// UnmarshalJSON also takes a plain string, which the protocol allows.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(c))
}

// text is all that a person would read of it.
func (c content) text() string {
	var out []string
	for _, b := range c {
		out = append(out, b.Text+b.Content.text())
	}
	return strings.Join(out, "\n")
}

type block struct {
	Type      string  `json:"type"`
	Text      string  `json:"text,omitempty"`
	ID        string  `json:"id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Input     any     `json:"input,omitempty"`
	ToolUseID string  `json:"tool_use_id,omitempty"`
	Content   content `json:"content,omitempty"`
}

type request struct {
	Model    string
	Stream   bool
	Tools    []json.RawMessage
	Messages []struct {
		Role    string
		Content content
	}
}

// first and last are the user's first and newest message.
func (r *request) first() content {
	for _, m := range r.Messages {
		if m.Role == "user" {
			return m.Content
		}
	}
	return nil
}

func (r *request) last() content {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return m.Content
		}
	}
	return nil
}

// heard is what was said since the model last spoke, whoever said it.
func (r *request) heard() string {
	var all []string
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "assistant" {
			break
		}
		all = append(all, m.Content.text())
		for _, b := range m.Content {
			all = append(all, b.Content.text())
		}
	}
	return strings.Join(all, "\n")
}

// messages answers one request: from the test where it belongs to a talk, else (a
// title, a probe, a suggestion) at once.
func (m *model) messages(w http.ResponseWriter, r *http.Request) {
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if answer := m.answer(m.belongs(&in), in.last(), in.heard(), r.Context().Done()); answer != nil {
		reply(w, &in, answer)
	}
}

// answer is what the test says in a talk, or an empty phrase where it is in none; nil
// when nobody waits for it any more.
func (m *model) answer(c *talk, said content, heard string, gone <-chan struct{}) content {
	if c == nil {
		return content{{Type: "text", Text: "ok"}}
	}
	a := &ask{said, heard, make(chan content, 1), gone}
	select {
	case c.asks <- a:
	case <-gone:
		return nil
	case <-m.closed:
		return nil
	}
	select {
	case answer := <-a.answer:
		return answer
	case <-gone:
		return nil
	case <-m.closed:
		return nil
	}
}

func (m *model) belongs(in *request) *talk {
	if len(in.Tools) == 0 || strings.Contains(in.last().text(), "[SUGGESTION MODE") {
		return nil
	}
	return m.talkOf(in.first().text())
}

// talkOf is the conversation that begins with a text.
func (m *model) talkOf(first string) *talk {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.talks {
		if strings.Contains(first, c.opening) {
			return c
		}
	}
	return nil
}

// object is a JSON object of the protocol.
type object map[string]any

// reply writes an answer whole or as the stream of events that it was asked for.
func reply(w http.ResponseWriter, in *request, answer content) {
	stop := "end_turn"
	if answer[0].Type == "tool_use" {
		stop = "tool_use"
	}
	usage := object{"input_tokens": 10, "output_tokens": 5}
	message := object{
		"id": fmt.Sprintf("msg_%d", time.Now().UnixNano()), "type": "message", "role": "assistant", "model": in.Model,
		"content": answer, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
	if !in.Stream {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	message["content"], message["stop_reason"] = content{}, nil
	send(w, "message_start", object{"message": message})
	for i, b := range answer {
		start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": b.Text}
		if b.Type == "tool_use" {
			input, _ := json.Marshal(b.Input)
			start = object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": string(input)}
		}
		send(w, "content_block_start", object{"index": i, "content_block": start})
		send(w, "content_block_delta", object{"index": i, "delta": delta})
		send(w, "content_block_stop", object{"index": i})
	}
	send(w, "message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	send(w, "message_stop", object{})
}

func send(w io.Writer, name string, data object) {
	data["type"] = name
	text, _ := json.Marshal(data)
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
}
