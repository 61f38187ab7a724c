package realclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// generate answers one request of Gemini CLI as messages does one of Claude Code.
func (m *model) generate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionResponse *struct {
					ID       string
					Response any
				}
			}
		}
		Tools []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var all []string
	var last content
	for _, c := range in.Contents {
		if c.Role != "user" {
			continue
		}
		last = nil
		for _, p := range c.Parts {
			b := block{Type: "text", Text: p.Text}
			if f := p.FunctionResponse; f != nil {
				text, _ := json.Marshal(f.Response)
				b = block{Type: "tool_result", ToolUseID: f.ID, Content: content{{Text: string(text)}}}
			}
			last = append(last, b)
			all = append(all, p.Text)
		}
	}
	var c *talk
	if len(in.Tools) > 0 { // else it is about the conversation
		c = m.talkOf(strings.Join(all, "\n"))
	}
	answer := m.answer(c, last, last.text(), r.Context().Done())
	if answer == nil {
		return
	}
	part := object{"text": answer[0].Text}
	if b := answer[0]; b.Type == "tool_use" {
		part = object{"functionCall": object{"id": b.ID, "name": b.Name, "args": b.Input}}
	}
	out, _ := json.Marshal(object{
		"candidates":    []object{{"content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
	})
	if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\n", out)
}
