package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestWhatIsNoRequest sends lines that are none. Each gets an error of the protocol, and
// the connection goes on.
func TestWhatIsNoRequest(t *testing.T) {
	w := newWorld(t)
	r := w.raw(w.tokens["ann"])
	r.greet(t)
	for _, tt := range []struct {
		line string
		code float64
	}{
		{`not json`, -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, -32700},
		{`[]`, -32600},
		{`7`, -32600},
		{`{"id":1,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32601},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NoSuch"}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"cadre://task/99"}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TaskCreate","arguments":{"subject":"` + strings.Repeat("x", 5<<20) + `"}}}`, -32600},
	} {
		r.say(t, tt.line)
		m := r.hear(t)
		e, _ := m["error"].(map[string]any)
		if e == nil || e["code"] != tt.code || e["message"] == "" {
			t.Errorf("%.80s: %v, want code %v", tt.line, m, tt.code)
		}
	}
	r.say(t, "")
	r.say(t, `{"jsonrpc":"2.0","id":"alive","method":"ping"}`)
	if m := r.hear(t); m["id"] != "alive" || m["result"] == nil {
		t.Errorf("the connection is not alive: %v", m)
	}
}

// TestHostileRequests are refused in few words, and the connection goes on.
func TestHostileRequests(t *testing.T) {
	w := newWorld(t)
	w.cadre("task", "add", "One")
	r := w.raw(w.tokens["ann"])
	r.greet(t)
	many := strings.Repeat(`"1",`, 5000) + `"1"`
	for _, tt := range []struct{ request, part string }{
		{`"resources/read","params":{"uri":"cadre://task/` + strings.Repeat("9", 1<<20) + `"}`, `"code":-32602`},
		{`"resources/subscribe","params":{"uri":"` + strings.Repeat("x", 1<<20) + `"}`, `"code":-32602`},
		{`"prompts/get","params":{"name":"worker-briefing","arguments":{"taskId":"9"}}`, `"code":-32602`},
		{`"prompts/get","params":{"name":"worker-briefing","arguments":{"taskId":"` + strings.Repeat("9", 1<<20) + `"}}`, `"code":-32602`},
		{`"tools/call","params":{"name":"TaskWait","arguments":{"ids":[` + many + `],"timeout":1}}`, `has 5001 items, and 1000 are allowed`},
		{`"tools/call","params":{"name":"TaskUpdate","arguments":{"taskId":"1","addBlockedBy":[` + many + `]}}`, `has 5001 items, and 1000 are allowed`},
		{`"tools/call","params":{"name":"Log","arguments":{"limit":0}}`, `limit is a number from 1 to 200`},
		{`"tools/call","params":{"name":"Log","arguments":{"limit":100000}}`, `limit is a number from 1 to 200`},
		{`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"worker-briefing"},"argument":{"name":"taskId","value":"` + strings.Repeat("9", 1<<20) + `"}}`, `"values":[]`},
	} {
		r.say(t, `{"jsonrpc":"2.0","id":1,"method":`+tt.request+`}`)
		answer, err := json.Marshal(r.hear(t))
		if err != nil || !strings.Contains(string(answer), tt.part) || len(answer) > 1500 {
			t.Errorf("%.100s: %.500s, %v", tt.request, answer, err)
		}
	}
	// An id that is in use.
	r.say(t, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ReadInbox","arguments":{"wait":600}}}`)
	r.say(t, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"TaskList","arguments":{}}}`)
	if m := r.hear(t); m["error"] == nil || m["id"] != nil {
		t.Errorf("an id twice: %v", m)
	}
	w.cadre("msg", "send", "ann", "hello")
	if m, err := json.Marshal(r.hear(t)); err != nil || !strings.Contains(string(m), "hello") {
		t.Errorf("the call that waited: %s, %v", m, err)
	}
}

// TestTwoClientsOfOneToken are one member with two connections: neither takes the mail of
// the other away before it was shown, and the end of one is not the end of the other.
func TestTwoClientsOfOneToken(t *testing.T) {
	w := newWorld(t)
	one, two := w.connect("ann", "http", nil), w.connect("ann", "http", nil)
	w.cadre("task", "add", "One")
	succeeds(t, one, "TaskNext", `{}`, "Owner: ann")
	succeeds(t, two, "TaskNext", `{}`, "Task #1: One")
	w.cadre("msg", "send", "ann", "hello")
	succeeds(t, one, "ReadInbox", `{}`, "hello")
	succeeds(t, two, "ReadInbox", `{}`, "hello")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	succeeds(t, two, "TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated")
}

// TestHugeArguments are refused by the rule that bounds them, and nothing is kept.
func TestHugeArguments(t *testing.T) {
	w := newWorld(t)
	for _, door := range []string{"pipe", "http"} {
		ann := w.connect("ann", door, nil)
		for _, tt := range []struct{ name, arguments string }{
			{"TaskCreate", `{"subject":"x","description":"` + strings.Repeat("x", 300<<10) + `"}`},
			{"TaskCreate", `{"subject":"` + strings.Repeat("x", 3<<20) + `"}`},
			{"SendMessage", `{"to":"ben","message":"` + strings.Repeat("x", 300<<10) + `"}`},
			{"TaskCreate", `{"subject":"x","metadata":{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`},
			{"TaskGet", `{"taskId":"` + strings.Repeat("9", 1<<20) + `"}`},
		} {
			if r := call(t, ann, tt.name, tt.arguments); !r.IsError || len(told(r)) > 1000 {
				t.Errorf("%s over %s: %.200s", tt.name, door, told(r))
			}
		}
		if got := told(call(t, ann, "TaskList", `{}`)); got != "No tasks found" {
			t.Errorf("over %s something was kept: %.200s", door, got)
		}
	}
	r, err := http.NewRequest(http.MethodPost, w.serve(), strings.NewReader(strings.Repeat("x", 5<<20)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if status, body := w.request(r, w.tokens["ann"]); status != http.StatusRequestEntityTooLarge && status != http.StatusBadRequest {
		t.Errorf("a request of 5 MiB gets %d %s", status, body)
	}
}

// TestWhoHangsUpInAWait leaves nothing behind: a task that becomes ready afterwards is
// nobody's.
func TestWhoHangsUpInAWait(t *testing.T) {
	w := newWorld(t)
	pipe := w.raw(w.tokens["ann"])
	pipe.greet(t)
	pipe.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TaskNext","arguments":{"wait":600}}}`)
	ctx, cancel := context.WithCancel(context.Background())
	ben := w.connect("ben", "http", nil)
	gone := make(chan error, 1)
	go func() {
		_, err := ben.CallTool(ctx, &mcp.CallToolParams{Name: "TaskNext", Arguments: map[string]any{"wait": 600}})
		gone <- err
	}()
	begins()
	cancel()
	if err := <-gone; err == nil {
		t.Error("a cancelled call succeeded")
	}
	if err := pipe.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pipe.cmd.Wait(); err != nil {
		t.Errorf("the server of a client that hung up ended with %v", err)
	}
	w.cadre("task", "add", "For whoever is there")
	// Whoever still waited would have it before a message gets through.
	w.cadre("msg", "send", "ben", "are you there?")
	if got := told(call(t, ben, "ReadInbox", `{"wait":60}`)); !strings.Contains(got, "are you there?") {
		t.Errorf("ben's connection is gone: %s", got)
	}
	var tasks []struct{ Status, Owner string }
	if err := json.Unmarshal([]byte(w.cadre("task", "list", "--json")), &tasks); err != nil || len(tasks) != 1 || tasks[0].Status != "pending" || tasks[0].Owner != "" {
		t.Errorf("the task is %+v, %v", tasks, err)
	}
}

// TestARevokedTokenEndsItsConnections, also one that waits, and one that is idle.
func TestARevokedTokenEndsItsConnections(t *testing.T) {
	for _, door := range []string{"pipe", "http"} {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cadre("msg", "send", "ann", "hello")
			ann := w.connect("ann", door, nil)
			succeeds(t, ann, "ReadInbox", `{}`, "hello")
			type result struct {
				r   *mcp.CallToolResult
				err error
			}
			ended := make(chan result, 1)
			go func() {
				r, err := ann.CallTool(context.Background(), &mcp.CallToolParams{Name: "ReadInbox", Arguments: map[string]any{"wait": 600}})
				ended <- result{r, err}
			}()
			w.isRead("ann")
			w.cadre("token", "revoke", w.tokenOf("ann"))
			if got := <-ended; got.err != nil || !got.r.IsError || !strings.Contains(told(got.r), "revoked") {
				t.Errorf("the call that waited: %+v, %v", got.r, got.err)
			}
			if r, err := ann.CallTool(context.Background(), &mcp.CallToolParams{Name: "TaskList"}); err == nil {
				t.Errorf("the connection goes on: %s", told(r))
			}
			_ = ann.Wait()
			ben := w.connect("ben", door, nil)
			if r := call(t, ben, "TaskList", `{}`); r.IsError {
				t.Errorf("another's connection ended too: %s", told(r))
			}
		})
	}
}

// TestAnExpiredTokenEndsItsConnection by itself.
func TestAnExpiredTokenEndsItsConnection(t *testing.T) {
	w := newWorld(t)
	w.token("ann", "--role", "member", "--name", "ann", "--expires", "2s")
	for _, door := range []string{"pipe", "http"} {
		ann := w.connect("ann", door, nil)
		if r := call(t, ann, "TaskList", `{}`); r.IsError {
			t.Fatal(told(r))
		}
		if door == "pipe" {
			_ = ann.Wait() // the server hangs up
		} else {
			for {
				if _, err := ann.CallTool(context.Background(), &mcp.CallToolParams{Name: "TaskList"}); err != nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		w.token("ann", "--role", "member", "--name", "ann", "--expires", "2s")
	}
}

// TestWhoMayKnock says which HTTP requests come through.
func TestWhoMayKnock(t *testing.T) {
	w := newWorld(t)
	url := w.serve()
	w.token("old", "--role", "member", "--name", "ben")
	w.cadre("token", "revoke", w.tokenOf("old"))
	for name, tt := range map[string]struct {
		token, host, origin string
		want                int
	}{
		"a member":              {w.tokens["ann"], "", "", 200},
		"localhost":             {w.tokens["ann"], "localhost", "", 200},
		"the same origin":       {w.tokens["ann"], "", "SELF", 200},
		"no token":              {"", "", "", 401},
		"a made-up token":       {"cadre-AAAAAAAAAAAAAAAAAAAAAAAAAA", "", "", 401},
		"a revoked token":       {w.tokens["old"], "", "", 401},
		"another origin":        {w.tokens["ann"], "", "https://evil.example", 403},
		"no origin":             {w.tokens["ann"], "", "null", 403},
		"a name that rebinds":   {w.tokens["ann"], "evil.example", "", 403},
		"another port's origin": {w.tokens["ann"], "", "http://127.0.0.1:1", 403},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			own := r.URL.Host
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if tt.host != "" {
				r.Host = tt.host + ":" + r.URL.Port()
			}
			if tt.origin != "" {
				r.Header.Set("Origin", strings.Replace(tt.origin, "SELF", "http://"+own, 1))
			}
			if status, body := w.request(r, tt.token); status != tt.want {
				t.Errorf("%d %s, want %d", status, body, tt.want)
			}
		})
	}
	out, err := w.command("", "mcp", "--listen", "0.0.0.0:0").CombinedOutput()
	if err == nil {
		t.Errorf("it listens to the whole network: %s", out)
	}
}

// TestASessionIsItsTokens: another's session id is worth nothing.
func TestASessionIsItsTokens(t *testing.T) {
	w := newWorld(t)
	ann := w.connect("ann", "http", nil)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		r, err := http.NewRequest(method, w.serve(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", ann.ID())
		if status, body := w.request(r, w.tokens["ben"]); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
	if r := call(t, ann, "TaskList", `{}`); r.IsError {
		t.Error("ann's session ended")
	}
}

// begins gives a call that was just made the time to wait. Where it does not suffice, a
// test looks at less than it could.
func begins() { time.Sleep(200 * time.Millisecond) }

// isRead waits until somebody has read all of its mail: a call that waits for more has
// begun then.
func (w *world) isRead(name string) {
	w.t.Helper()
	becomes(func() bool { return w.cadre("msg", "inbox", "--as", name, "--json") == "[]" })
}

// request sends a request and gives what came of it.
func (w *world) request(r *http.Request, token string) (int, string) {
	w.t.Helper()
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return answer.StatusCode, "" // a stream may go on
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1000))
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestWhatWasAskedBeforeTheEndIsAnswered: a script writes its calls and hangs up.
func TestWhatWasAskedBeforeTheEndIsAnswered(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		r := w.raw(w.tokens["ann"])
		r.say(t, hello)
		r.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		r.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TaskList","arguments":{}}}`)
		if err := r.in.Close(); err != nil {
			t.Fatal(err)
		}
		r.hear(t)
		if m := r.hear(t); m["id"] != float64(1) || m["result"] == nil {
			t.Errorf("the answer is %v", m)
		}
	}
}

// tokenOf is the id of somebody's newest token that is valid.
func (w *world) tokenOf(who string) string {
	w.t.Helper()
	name := who
	if who == "old" {
		name = "ben"
	}
	var all []struct{ ID, Member string }
	if err := json.Unmarshal([]byte(w.cadre("token", "list", "--json")), &all); err != nil {
		w.t.Fatal(err)
	}
	id := ""
	for _, t := range all {
		if t.Member == name {
			id = t.ID
		}
	}
	if id == "" {
		w.t.Fatalf("%s has no token: %v", who, all)
	}
	return id
}
