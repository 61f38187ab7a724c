package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cadre"
	"cadre/coord"
	"cadre/mcpserver"
	"cadre/memstore"
)

// post sends a request of a session, or one that begins a session, and gives the answer
// and the id of its session.
func (w *world) post(method, token, session, body string) (int, string, *http.Response) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.serve(), strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { answer.Body.Close() })
	return answer.StatusCode, answer.Header.Get("Mcp-Session-Id"), answer
}

// TestATokenHasSoManySessions: the one that was silent longest makes room for another,
// and where all are in use there is no room.
func TestATokenHasSoManySessions(t *testing.T) {
	w := newWorld(t)
	var ids []string
	begin := func(token string) (int, string) {
		status, id, answer := w.post(http.MethodPost, token, "", hello)
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if status == http.StatusOK {
			ids = append(ids, id)
		}
		return status, string(body)
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for range 100 {
		if status, body := begin(w.tokens["ann"]); status != http.StatusOK {
			t.Fatalf("session %d: %d %s", len(ids), status, body)
		}
	}
	if status, _, _ := w.post(http.MethodPost, w.tokens["ann"], ids[0], ping); status != http.StatusOK {
		t.Fatalf("the first is gone too early: %d", status)
	}
	if status, body := begin(w.tokens["ann"]); status != http.StatusOK {
		t.Fatalf("one more: %d %s", status, body)
	}
	becomes(func() bool {
		status, _, _ := w.post(http.MethodPost, w.tokens["ann"], ids[1], ping)
		return status == http.StatusNotFound
	})
	for _, i := range []int{0, 2, 100} {
		if status, _, _ := w.post(http.MethodGet, w.tokens["ann"], ids[i], ""); status != http.StatusOK {
			t.Errorf("session %d is gone: %d", i, status)
		}
	}
	for i := 3; i < 100; i++ {
		if status, _, _ := w.post(http.MethodGet, w.tokens["ann"], ids[i], ""); status != http.StatusOK {
			t.Fatalf("session %d is gone: %d", i, status)
		}
	}
	if status, body := begin(w.tokens["ann"]); status != http.StatusTooManyRequests || !strings.Contains(body, "100 sessions with this token are in use") {
		t.Errorf("one more than there is room for: %d %s", status, body)
	}
	if status, body := begin(w.tokens["ben"]); status != http.StatusOK {
		t.Errorf("another's: %d %s", status, body)
	}
	w.post(http.MethodDelete, w.tokens["ann"], ids[0], "")
	becomes(func() bool { status, _ := begin(w.tokens["ann"]); return status == http.StatusOK })
}

// TestSoManyCallsWait, and one more is refused; those that wait go on.
func TestSoManyCallsWait(t *testing.T) {
	w := newWorld(t)
	ann := w.raw(w.tokens["ann"])
	ann.greet(t)
	const most = 200
	w.cadre("task", "add", "One")
	for i := range most + 1 {
		ann.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"TaskWait","arguments":{"ids":["1"],"timeout":600}}}`, i))
	}
	refused, _ := ann.hear(t)["error"].(map[string]any)
	if why, _ := refused["message"].(string); !strings.Contains(why, "200 requests of yours are not answered yet") {
		t.Fatalf("one more: %v", refused)
	}
	w.cadre("task", "done", "1")
	for range most {
		if m := ann.hear(t); m["result"] == nil {
			t.Fatalf("one that waited: %v", m)
		}
	}
	ann.say(t, `{"jsonrpc":"2.0","id":"alive","method":"ping"}`)
	if m := ann.hear(t); m["id"] != "alive" || m["result"] == nil {
		t.Errorf("afterwards: %v", m)
	}
}

// broken is a store that fails in the way that no store should.
type broken struct{ cadre.Store }

func (broken) View(context.Context, cadre.Scope, func(cadre.Snap) error) error { panic("broken") }

// TestAMistakeInTheProgramEndsNoConnection, wherever it is.
func TestAMistakeInTheProgramEndsNoConnection(t *testing.T) {
	var log noise
	server := mcpserver.New(mcpserver.Options{Tier: mcpserver.All, Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := &coord.Coord{Store: broken{memstore.New()}, Now: func() cadre.Time { return cadre.Time{} }}
	session := &coord.Session{Coord: c, Actor: cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofTerminal}, Scope: "docs"}
	in, say := io.Pipe()
	hear, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.Pipe(context.Background(), session, in, out) }()
	r := &raw{in: say, out: json.NewDecoder(hear)}
	r.greet(t)
	for _, request := range []string{
		`"tools/call","params":{"name":"TaskList","arguments":{}}`, `"resources/read","params":{"uri":"cadre://board"}`, `"prompts/get","params":{"name":"lead-briefing"}`,
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"worker-briefing"},"argument":{"name":"taskId","value":"1"}}`,
	} {
		r.say(t, `{"jsonrpc":"2.0","id":1,"method":`+request+`}`)
		if e, _ := r.hear(t)["error"].(map[string]any); e == nil || e["code"] != -32603.0 {
			t.Errorf("%s: %v", request, e)
		}
	}
	if got := strings.Count(log.String(), "a mistake in the program"); got != 4 {
		t.Errorf("the log has %d of 4: %s", got, log.String())
	}
	if err := say.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestLongRecordsComeInPages: a list of many tasks, as it was, what changed in it, and its
// graph are told as far as there is room, with the call that has the rest.
func TestLongRecordsComeInPages(t *testing.T) {
	w := newWorld(t)
	const many = 300
	var plan strings.Builder
	for i := range many {
		fmt.Fprintf(&plan, `{"id":"%d","subject":"Part %d %s"}`+"\n", i+1, i+1, strings.Repeat("of the work ", 15))
	}
	if err := os.WriteFile(filepath.Join(w.dir, "plan.jsonl"), []byte(plan.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.cadre("import", "plan.jsonl")
	s := w.connect("ann", "pipe", nil)
	type page struct {
		Tasks, Changes []any
		Seq, More      int
		After          string
		Truncated      bool
	}
	ask := func(tool, arguments, rest string) (p page) {
		t.Helper()
		r := call(t, s, tool, arguments)
		raw := data(t, r)
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			t.Fatal(err)
		}
		if len(raw) > 20<<10 || len(told(r)) > 20<<10 || p.Truncated || !strings.Contains(told(r), rest) {
			t.Errorf("%s %s: %d bytes, and %d of text: %.400s … %s", tool, arguments, len(raw), len(told(r)), told(r), told(r)[max(0, len(told(r))-200):])
		}
		return p
	}
	at := ask("At", `{"point":"0s"}`, "There are more: At {")
	n := len(at.Tasks)
	for p := at; p.After != ""; n += len(p.Tasks) {
		p = ask("At", fmt.Sprintf(`{"point":"%d","after":%q,"limit":40}`, at.Seq, p.After), "")
		if len(p.Tasks) == 0 {
			t.Fatal("an empty page")
		}
	}
	if n != many || len(at.Tasks) != 50 {
		t.Errorf("At: %d of %d tasks, on the first page %d", n, many, len(at.Tasks))
	}
	if g := ask("TaskGraph", `{}`, `more: TaskGraph {"taskId":"`); len(g.Tasks) == 0 || g.More != many-len(g.Tasks) {
		t.Errorf("TaskGraph: %d tasks and %d more", len(g.Tasks), g.More)
	}
	if d := ask("Diff", `{"from":"1"}`, `more: ask for less time, as in Diff {"from":"1","to":"`); len(d.Changes) == 0 || len(d.Changes)+d.More < many {
		t.Errorf("Diff: %d changes and %d more", len(d.Changes), d.More)
	}
	if p := ask("TaskGraph", `{"taskId":"7"}`, "Wave 1 of 1:\n#7 [pending] Part 7"); len(p.Tasks) != 1 || p.More != 0 {
		t.Errorf("around one: %+v", p)
	}
}
