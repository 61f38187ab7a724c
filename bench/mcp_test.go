//go:build unix

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cadre"
	"cadre/coord"
)

// BenchmarkMCP is two tools on a list of 10,000 tasks, over a pipe and over HTTP, beside
// the same verbs called in this process.
func BenchmarkMCP(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	const size = 10_000
	h := newHome(b, "mcp")
	var issued struct{ Token string }
	if err := json.Unmarshal([]byte(h.run(b, world.cadre, "token", "create", "--role", "operator", "--json")), &issued); err != nil {
		b.Fatal(err)
	}
	h.env = append(h.env, "CADRE_TOKEN="+issued.Token)
	h.run(b, world.cadre, "team", "create", string(scope))
	fillOurs(b, h, size)
	here := &coord.Session{
		Coord: &coord.Coord{Store: openStore(b, h.state()), Now: func() cadre.Time { return cadre.Time{Wall: time.Now(), Boot: "boot", Up: time.Since(begun)} }},
		Actor: cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofOwner}, Door: "bench", Scope: scope,
	}
	doors := []struct {
		name string
		s    *mcp.ClientSession
	}{{"pipe", h.pipe(b)}, {"HTTP", h.http(b, issued.Token)}}
	type times struct{ update, sync samples }
	direct, through := &times{}, map[string]*times{"pipe": {}, "HTTP": {}}
	cursor := ""
	for round := range 200 {
		id := fmt.Sprint(1 + (round*37)%size)
		timed(b, &direct.update, func() error {
			_, err := here.Do(context.Background(), "task update", &cadre.TaskUpdate{ID: cadre.TaskID(id), Result: new(fmt.Sprint("here ", round))})
			return err
		})
		timed(b, &direct.sync, func() error {
			answer, err := here.Do(context.Background(), "sync", &coord.Sync{Cursor: cursor, Limit: 20})
			if err == nil {
				cursor = answer.(*coord.Synced).Cursor
			}
			return err
		})
		for _, d := range doors {
			t := through[d.name]
			timed(b, &t.update, func() error {
				return tool(d.s, "TaskUpdate", map[string]any{"taskId": id, "result": fmt.Sprint(d.name, round)})
			})
			timed(b, &t.sync, func() error { return tool(d.s, "Sync", map[string]any{"cursor": cursor}) })
		}
	}
	r := &world.report
	for _, d := range doors {
		t := through[d.name]
		r.times("TaskUpdate over "+d.name+", 10,000 tasks", t.update.median(), "the verb in process", direct.update.median(), nil)
		r.times("Sync over "+d.name+", 10,000 tasks", t.sync.median(), "the verb in process", direct.sync.median(), nil)
	}
}

var begun = time.Now()

// timed measures one call.
func timed(b *testing.B, into *samples, call func() error) {
	b.Helper()
	began := time.Now()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	*into = append(*into, time.Since(began))
}

// tool calls a tool that must succeed.
func tool(s *mcp.ClientSession, name string, arguments map[string]any) error {
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err == nil && r.IsError {
		err = fmt.Errorf("%s: %v", name, r.StructuredContent)
	}
	return err
}

// pipe is a client over a pipe.
func (h home) pipe(b *testing.B) *mcp.ClientSession {
	b.Helper()
	return client(b, &mcp.CommandTransport{Command: h.command(world.cadre, "mcp", "--team", string(scope))})
}

// http is a client over HTTP.
func (h home) http(b *testing.B, token string) *mcp.ClientSession {
	b.Helper()
	cmd := h.command(world.cadre, "mcp", "--listen", "127.0.0.1:0", "--team", string(scope))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	var url string
	if err == nil {
		_, err = fmt.Fscanln(out, &url)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stop(cmd) })
	return client(b, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true})
}

// bearer sends a token with each request.
type bearer string

func (t bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

func client(b *testing.B, t mcp.Transport) *mcp.ClientSession {
	b.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(context.Background(), t, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}
