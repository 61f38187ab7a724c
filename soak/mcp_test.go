package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cadre"
)

// TestSoakMCP has 50 agents, half over pipes and half over HTTP, work on one team at
// once. A checker finds for every task an order of what was done to it that explains
// what each agent was told, and every message that was sent stands in one inbox, once.
func TestSoakMCP(t *testing.T) {
	const clients = 50
	calls := count(t, "calls by 50 MCP clients on one team", 1000, 10_000)
	m := newMachine(t)
	operator := m.token("--role", "operator")
	m.env = append(m.env, "CADRE_TOKEN="+operator)
	m.must("team", "create", "docs")
	url := m.serveMCP()
	sessions := make([]*mcp.ClientSession, clients)
	for i := range sessions {
		name := fmt.Sprintf("client-%d", i)
		m.must("team", "join", "docs", "--name", name)
		sessions[i] = m.agent(i%2 == 0, url, name, m.token("--role", "member", "--name", name))
	}
	var mu sync.Mutex
	var history []porcupine.Operation
	sent := map[string]string{} // text to recipient
	outcomes := map[string]int{}
	var all sync.WaitGroup
	began := time.Now()
	for i, s := range sessions {
		all.Go(func() {
			for n := range calls / clients {
				op, text, to := m.agentDoes(s, i, n)
				mu.Lock()
				if op.Input != nil {
					history = append(history, op)
					outcomes[op.Output.(told).kind()]++
				}
				if text != "" {
					sent[text] = to
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	for _, v := range m.tasks("--scope", "docs") {
		at := int64(time.Since(start))
		out := m.seen(v)
		history = append(history, porcupine.Operation{Input: wish{Verb: "look", ID: out.ID}, Output: out, Call: at, Return: at + 1})
	}
	tasks := ids(history)
	for _, id := range tasks {
		if part := alone(history, id); !porcupine.CheckOperations(listModel, part) {
			t.Errorf("no order explains what was told of task %d:\n%s", id, describe(part))
		}
	}
	m.delivered(clients, sent)
	m.audited()
	t.Logf("%d calls in %s; %d of them changed or tried to change %d tasks, outcomes %v; %d messages", calls, took.Round(time.Millisecond), len(history), len(tasks), outcomes, len(sent))
	for _, kind := range []string{"done", "exit 4", "exit 6"} {
		if outcomes[kind] == 0 {
			t.Errorf("no call ended with %q: the agents are too tame", kind)
		}
	}
}

// token issues a token.
func (m *machine) token(args ...string) string {
	m.t.Helper()
	return ask[struct{ Token string }](m, append([]string{"token", "create"}, args...)...).Token
}

// serveMCP starts a server for those who come over HTTP.
func (m *machine) serveMCP() (url string) {
	m.t.Helper()
	cmd := m.command(context.Background(), "mcp", "--tools", "all", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = fmt.Fscanln(out, &url)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return url
}

// tokenBearer sends a token with each request.
type tokenBearer string

func (b tokenBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// agent is a client with a token, over a pipe or over HTTP.
func (m *machine) agent(pipe bool, url, name, token string) *mcp.ClientSession {
	m.t.Helper()
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: tokenBearer(token)}, DisableStandaloneSSE: true}
	if pipe {
		cmd := m.command(context.Background(), "mcp", "--tools", "all")
		cmd.Env = append(cmd.Env, "CADRE_TOKEN="+token)
		transport = &mcp.CommandTransport{Command: cmd}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil).Connect(context.Background(), transport, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = s.Close() })
	return s
}

// agentDoes has an agent do something random: mostly to the newest tasks, now and then
// with mail. It gives what it did to a task, or what it sent to whom.
func (m *machine) agentDoes(s *mcp.ClientSession, client, n int) (op porcupine.Operation, text, to string) {
	in := wish{pickOne("add", "claim", "claim", "claim", "release", "done", "send", "sync", "list"), 1 + rand.IntN(12+4*n), fmt.Sprintf("client-%d", client), ""}
	id := map[string]any{"taskId": strconv.Itoa(in.ID)}
	tool, args := "", id
	switch in.Verb {
	case "add":
		in.ID, in.Subject = 0, fmt.Sprintf("of client %d, %d", client, n)
		tool, args = "TaskCreate", map[string]any{"subject": in.Subject}
	case "claim":
		tool = "TaskClaim"
	case "release":
		tool = "TaskRelease"
	case "done":
		tool, id["status"] = "TaskUpdate", "completed"
	case "send":
		text, to = fmt.Sprintf("letter %d of client %d", n, client), fmt.Sprintf("client-%d", rand.IntN(50))
		tool, args = "SendMessage", map[string]any{"to": to, "message": text}
	case "sync":
		tool, args = "Sync", map[string]any{}
	case "list":
		tool, args = "TaskList", map[string]any{"open": true}
	}
	called := time.Since(start)
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		m.t.Errorf("%s %v: %v", tool, args, err)
		return op, "", ""
	}
	if text != "" || tool == "Sync" || tool == "TaskList" {
		if r.IsError {
			m.t.Errorf("%s %v: %v", tool, args, r.StructuredContent)
		}
		return op, text, to
	}
	op = porcupine.Operation{ClientId: client, Input: in, Output: m.toldBy(r), Call: int64(called), Return: int64(time.Since(start))}
	return op, "", ""
}

// toldBy reads an answer about a task.
func (m *machine) toldBy(r *mcp.CallToolResult) told {
	raw, err := json.Marshal(r.StructuredContent)
	var doc struct {
		Task  cadre.TaskView
		Error *cadre.Error
	}
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		m.t.Errorf("%s: %v", raw, err)
	}
	if doc.Error != nil {
		return refusal(*doc.Error)
	}
	return m.seen(doc.Task)
}

// delivered holds the inboxes against what was sent.
func (m *machine) delivered(clients int, sent map[string]string) {
	m.t.Helper()
	found := map[string]int{}
	for i := range clients {
		name := fmt.Sprintf("client-%d", i)
		for _, letter := range ask[[]*cadre.Message](m, "msg", "inbox", name, "--all") {
			if !strings.HasPrefix(letter.Text, "letter ") {
				continue
			}
			found[letter.Text]++
			if sent[letter.Text] != name {
				m.t.Errorf("%q is in the inbox of %s, and was sent to %q", letter.Text, name, sent[letter.Text])
			}
		}
	}
	for text, to := range sent {
		if found[text] != 1 {
			m.t.Errorf("%q to %s arrived %d times", text, to, found[text])
		}
	}
}
