package realclient

import (
	"encoding/json"
	"net/http"
	"strings"
)

// item is a part of a conversation in the Responses API, which Codex speaks.
type item struct {
	Type    string  `json:"type"`
	Role    string  `json:"role,omitempty"`
	ID      string  `json:"id,omitempty"`
	CallID  string  `json:"call_id,omitempty"`
	Space   string  `json:"namespace,omitempty"`
	Name    string  `json:"name,omitempty"`
	Args    string  `json:"arguments,omitempty"`
	Content content `json:"content,omitempty"`
	Output  any     `json:"output,omitempty"`
}

// responses answers one request of Codex as messages does one of Claude Code.
func (m *model) responses(w http.ResponseWriter, r *http.Request) {
	var in struct{ Input []item }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var all []string
	var last content
	for _, i := range in.Input {
		switch {
		case i.Type == "function_call_output":
			text, _ := json.Marshal(i.Output)
			last = content{{Type: "tool_result", ToolUseID: i.CallID, Content: content{{Text: string(text)}}}}
		case i.Role == "user":
			last = i.Content
			all = append(all, i.Content.text())
		}
	}
	answer := m.answer(m.talkOf(strings.Join(all, "\n")), last, last.text(), r.Context().Done())
	if answer == nil {
		return
	}
	b := answer[0]
	out := item{Type: "message", Role: "assistant", ID: "m", Content: content{{Type: "output_text", Text: b.Text}}}
	if b.Type == "tool_use" {
		input, _ := json.Marshal(b.Input)
		out = item{Type: "function_call", ID: "f", CallID: b.ID, Name: b.Name, Args: string(input)}
		if space, name, ok := strings.Cut(b.Name, "/"); ok { // a server's
			out.Space, out.Name = space, name
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send(w, "response.created", object{"response": object{"id": "r"}})
	send(w, "response.output_item.added", object{"output_index": 0, "item": out})
	send(w, "response.output_item.done", object{"output_index": 0, "item": out})
	send(w, "response.completed", object{"response": object{"id": "r", "usage": object{
		"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
		"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
	}}})
}
