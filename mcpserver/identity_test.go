package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is a client whose server has an environment and flags of its own.
func (w *world) agent(env []string, args ...string) *mcp.ClientSession {
	w.t.Helper()
	cmd := w.command("", append([]string{"mcp", "--tools", "all"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "Some Agent", Version: "1"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.said)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// succeeds calls a tool that must succeed, and looks for a part of the answer.
func succeeds(t *testing.T, s *mcp.ClientSession, name, arguments, part string) {
	t.Helper()
	if r := call(t, s, name, arguments); r.IsError || !strings.Contains(told(r), part) {
		t.Errorf("%s %s: %s, want %q", name, arguments, told(r), part)
	}
}

func refused(t *testing.T, s *mcp.ClientSession, name, arguments, part string) {
	t.Helper()
	if r := call(t, s, name, arguments); !r.IsError || !strings.Contains(told(r), part) {
		t.Errorf("%s %s: %s, want to be refused with %q", name, arguments, told(r), part)
	}
}

// TestASessionLeadsWhatItCreates, and goes back to its own list when it deletes that.
func TestASessionLeadsWhatItCreates(t *testing.T) {
	w := newWorld(t)
	s := w.agent([]string{"CADRE_SESSION=0a1b2c3d-0000-4000-8000-000000000000"})
	succeeds(t, s, "TaskCreate", `{"subject":"in my own list"}`, "#1")
	refused(t, s, "TeamDelete", `{"team_name":"docs"}`, "only the lead")
	refused(t, s, "SpawnTeammate", `{"name":"robin"}`, "")
	succeeds(t, s, "TeamCreate", `{"team_name":"mine"}`, "You lead it")
	succeeds(t, s, "TaskList", `{}`, "No tasks found")
	succeeds(t, s, "TeamLabel", `{"label":"My own"}`, "mine: 0 open")
	succeeds(t, s, "TeamDelete", `{}`, "archived")
	succeeds(t, s, "TaskList", `{}`, "in my own list")
	again := w.agent([]string{"CADRE_SESSION=0a1b2c3d-0000-4000-8000-000000000000"})
	succeeds(t, again, "TaskList", `{}`, "in my own list")
	other := w.agent([]string{"CADRE_SESSION=ffffffff-0000-4000-8000-000000000000"})
	succeeds(t, other, "TaskList", `{}`, "No tasks found")
}

// TestAGuestLeadsOnlyWhereItIsAllowedTo.
func TestAGuestLeadsOnlyWhereItIsAllowedTo(t *testing.T) {
	w := newWorld(t)
	refused(t, w.agent(nil), "TeamCreate", `{"team_name":"mine"}`, "may not create teams")
	s := w.agent(nil, "--allow-lead")
	succeeds(t, s, "TeamCreate", `{"team_name":"mine"}`, "You lead it")
	refused(t, s, "TeamDelete", `{"team_name":"docs"}`, "only the lead")
	succeeds(t, s, "TeamDelete", `{}`, "archived")
}

// TestGuestsAreToldApart: two of one program have two names, and what a guest held goes
// back when it hangs up.
func TestGuestsAreToldApart(t *testing.T) {
	w := newWorld(t)
	w.cadre("task", "add", "One")
	w.cadre("task", "add", "Two")
	first, second := w.agent(nil), w.agent(nil)
	succeeds(t, first, "TaskNext", `{}`, "Owner: some-agent")
	succeeds(t, second, "TaskNext", `{}`, "Owner: some-agent-2")
	refused(t, second, "TaskUpdate", `{"taskId":"1","status":"completed"}`, "belongs to some-agent")
	var task struct{ Owner, Status string }
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(w.cadre("task", "show", "1", "--json")), &task); err != nil || task.Owner != "" || task.Status != "pending" {
		t.Errorf("the task of a guest that left is %+v, %v", task, err)
	}
	third := w.agent(nil)
	succeeds(t, third, "TaskNext", `{}`, "Owner: some-agent-3")
}

// TestNobodyIsTheOperatorThroughAPipe, whatever it is told.
func TestNobodyIsTheOperatorThroughAPipe(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"--as", "ann"}, {"--as", "team-lead"}} {
		cmd := w.command("", append([]string{"mcp"}, args...)...)
		cmd.Stdin = strings.NewReader(hello + "\n")
		if out, err := cmd.Output(); err == nil {
			t.Errorf("%v: %s", args, out)
		}
	}
	cmd := w.command("made-up", "mcp")
	cmd.Stdin = strings.NewReader(hello + "\n")
	if out, err := cmd.Output(); err == nil {
		t.Errorf("a made-up token: %s", out)
	}
}

// TestSubscriptionsGoAlong with the connection to another team.
func TestSubscriptionsGoAlong(t *testing.T) {
	w := newWorld(t)
	changed := make(chan string, 100)
	s := w.connect("operator", "pipe", &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { changed <- r.Params.URI }})
	if err := s.Subscribe(context.Background(), &mcp.SubscribeParams{URI: "cadre://task/1"}); err != nil {
		t.Fatal(err)
	}
	succeeds(t, s, "TeamCreate", `{"team_name":"crew"}`, "crew")
	begins()
	w.cadre("task", "add", "One", "--team", "crew")
	if got := <-changed; got != "cadre://task/1" {
		t.Errorf("%s changed", got)
	}
}

// TestStandardOutputIsTheProtocols: nothing else is ever written there.
func TestStandardOutputIsTheProtocols(t *testing.T) {
	w := newWorld(t)
	cmd := w.command(w.tokens["ann"], "mcp")
	cmd.Stdin = strings.NewReader(hello + "\nrubbish\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"TaskGet","arguments":{"taskId":"9","as":"ben"}}}` + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var m struct{ JSONRPC string }
		if json.Unmarshal([]byte(line), &m) != nil || m.JSONRPC != "2.0" {
			t.Errorf("standard output has %q", line)
		}
	}
}
