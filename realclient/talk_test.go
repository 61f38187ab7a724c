package realclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// post asks the model as a client does, and gives the raw answer.
func post(m *model, in object) string {
	body, _ := json.Marshal(in)
	r, err := http.Post(m.url+"/v1/messages?beta=true", "application/json", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

func user(content any) object { return object{"role": "user", "content": content} }

// TestModelAnswersFromTheTest speaks the protocol to the model: a tool call streams
// out and its result comes back, and each conversation finds its own talk.
func TestModelAnswersFromTheTest(t *testing.T) {
	m := newModel(t)
	lead, worker := m.talk("Do it"), m.talk("Do it as worker")
	tools := []object{{"name": "TaskList"}}
	streamed := make(chan string, 2)
	go func() {
		streamed <- post(m, object{"stream": true, "tools": tools, "messages": []object{user("Do it")}})
		streamed <- post(m, object{"stream": true, "tools": tools, "messages": []object{user("Do it"), user([]object{
			{"type": "tool_result", "tool_use_id": "toolu_000001", "content": []object{{"type": "text", "text": "No tasks found"}}},
		})}})
	}()
	if got := lead.use("TaskList", object{"all": true}); got != "No tasks found" {
		t.Errorf("the tool's answer is %q", got)
	}
	lead.say("bye")
	for _, parts := range [][]string{
		{"event: message_start\n", `"name":"TaskList"`, `"partial_json":"{\"all\":true}"`, `"stop_reason":"tool_use"`, "event: message_stop\n"},
		{"event: message_start\n", `"text":"bye"`, `"stop_reason":"end_turn"`, "event: message_stop\n"},
	} {
		got := <-streamed
		for _, p := range parts {
			if !strings.Contains(got, p) {
				t.Errorf("no %s in:\n%s", p, got)
			}
		}
	}

	go func() {
		post(m, object{"tools": tools, "messages": []object{user("Do it as worker")}})
		streamed <- post(m, object{"tools": tools, "messages": []object{user("Do it as worker"), user("please stop")}})
	}()
	if said := worker.wait("stop"); said != "please stop" {
		t.Errorf("the worker was told %q", said)
	}
	worker.say("yes")
	if got := <-streamed; !strings.Contains(got, `"content":[{"type":"text","text":"yes"}]`) {
		t.Errorf("an answer that is no stream: %s", got)
	}
	for what, in := range map[string]object{
		"a title":             {"messages": []object{user("Do it")}},
		"another's":           {"tools": tools, "messages": []object{user("Something else")}},
		"a prompt suggestion": {"tools": tools, "messages": []object{user("Do it"), user("[SUGGESTION MODE: next?]")}},
	} {
		if got := post(m, in); !strings.Contains(got, `"text":"ok"`) {
			t.Errorf("%s must be answered at once: %s", what, got)
		}
	}
}

// recorder is a test that fails without failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestToolWithoutAnswerIsNoticed shows that a client that leaves a call out fails
// its test.
func TestToolWithoutAnswerIsNoticed(t *testing.T) {
	m := newModel(t)
	r := &recorder{TB: t}
	lead := m.talk("Do it")
	lead.t = r
	in := object{"tools": []object{{"name": "TaskList"}}, "messages": []object{user("Do it")}}
	go func() {
		post(m, in)
		post(m, in)
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		lead.use("TaskList", object{})
	}()
	<-done
	if !strings.Contains(r.said, "called TaskList and came back without an answer") {
		t.Errorf("it said %q", r.said)
	}
}

// TestModelSpeaksToCodex does the same over the protocol of Codex.
func TestModelSpeaksToCodex(t *testing.T) {
	m := newModel(t)
	ann := m.talk("You are ann")
	said := object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": "You are ann."}}}
	streamed := make(chan string, 2)
	ask := func(input ...object) {
		body, _ := json.Marshal(object{"input": input})
		r, err := http.Post(m.url+"/v1/responses", "application/json", bytes.NewReader(body))
		if err != nil {
			streamed <- err.Error()
			return
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		streamed <- string(text)
	}
	go func() {
		ask(said)
		ask(said, object{"type": "function_call_output", "call_id": "toolu_000001", "output": "no tasks"})
	}()
	if got := ann.use("exec_command", object{"cmd": "ls"}); got != `"no tasks"` {
		t.Errorf("the tool's answer is %q", got)
	}
	ann.say("bye")
	for _, part := range []string{`"arguments":"{\"cmd\":\"ls\"}"`, `"text":"bye"`} {
		if got := <-streamed; !strings.Contains(got, part) || !strings.Contains(got, "event: response.completed\n") {
			t.Errorf("no %s in:\n%s", part, got)
		}
	}
}
