package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// program is the built binary that every test here talks to.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cadre-mcp-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "cadre")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/cadre").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// world is a machine with two teams: docs, with ann and ben, and web, with eve. The
// operator and each of them have a token.
type world struct {
	t      testing.TB
	dir    string
	tokens map[string]string
	url    string // of its HTTP server, once there is one
	said   *noise // what servers wrote to standard error
}

// noise is what several processes say.
type noise struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (n *noise) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.Write(p)
}

func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}

func newWorld(t testing.TB) *world {
	dir, err := os.MkdirTemp("", "cadre-mcp-")
	if err != nil {
		t.Fatal(err)
	}
	// A supervisor that is about to end may still write.
	t.Cleanup(func() { becomes(func() bool { return os.RemoveAll(dir) == nil }) })
	w := &world{t: t, dir: dir, tokens: map[string]string{}, said: &noise{}}
	w.token("operator", "--role", "operator")
	w.cadre("team", "create", "web")
	w.cadre("team", "join", "--name", "eve")
	w.token("eve", "--role", "member", "--name", "eve")
	w.cadre("team", "create", "docs")
	w.cadre("team", "join", "--name", "ann")
	w.cadre("team", "join", "--name", "ben")
	w.token("lead", "--role", "lead")
	w.token("ann", "--role", "member", "--name", "ann")
	w.token("ben", "--role", "member", "--name", "ben")
	w.token("reader", "--role", "read-only")
	return w
}

func (w *world) token(name string, args ...string) {
	w.t.Helper()
	var issued struct{ Token string }
	if err := json.Unmarshal([]byte(w.cadre(append([]string{"token", "create", "--json"}, args...)...)), &issued); err != nil {
		w.t.Fatal(err)
	}
	w.tokens[name] = issued.Token
}

// env is the environment of a process of somebody with a token, or of somebody unknown.
func (w *world) env(token string) []string {
	env := []string{
		"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "CADRE_STATE_DIR=" + filepath.Join(w.dir, "state"), "CLAUDE_CONFIG_DIR=" + filepath.Join(w.dir, "claude"),
	}
	if token != "" {
		env = append(env, "CADRE_TOKEN="+token)
	}
	return env
}

func (w *world) command(token string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = w.env(token), w.dir, w.said
	return cmd
}

// cadre has the operator type a command.
func (w *world) cadre(args ...string) string {
	w.t.Helper()
	out, err := w.command(w.tokens["operator"], args...).Output()
	if err != nil {
		w.t.Fatalf("cadre %s: %v\n%s%s", strings.Join(args, " "), err, out, w.said)
	}
	return strings.TrimSpace(string(out))
}

// serve starts the HTTP server, and gives its address.
func (w *world) serve(args ...string) string {
	w.t.Helper()
	if w.url != "" {
		return w.url
	}
	cmd := w.command("", append([]string{"mcp", "--listen", "127.0.0.1:0", "--tools", "all"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	if _, err := fmt.Fscanln(out, &w.url); err != nil {
		w.t.Fatalf("the server did not say where it is: %v\n%s", err, w.said)
	}
	return w.url
}

// bearer sends a token with each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// connect is a client with somebody's token, over a pipe or over HTTP. Whoever has no
// token comes as a guest, whose program has that name.
func (w *world) connect(who, door string, options *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	var transport mcp.Transport
	switch door {
	case "pipe":
		transport = &mcp.CommandTransport{Command: w.command(w.tokens[who], "mcp", "--tools", "all")}
	case "http":
		client := &http.Client{Transport: bearer{w.tokens[who], &http.Transport{}}}
		transport = &mcp.StreamableClientTransport{Endpoint: w.serve(), HTTPClient: client, MaxRetries: -1}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: who, Version: "1"}, options)
	session, err := client.Connect(context.Background(), transport, nil)
	if err != nil {
		w.t.Fatalf("%s over %s: %v\n%s", who, door, err, w.said)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

// call calls a tool; a fault of the protocol ends the test.
func call(t testing.TB, s *mcp.ClientSession, name, arguments string) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return result
}

// told is the text of an answer.
func told(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// data is the structured part of an answer.
func data(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// raw is a server that a test talks to byte by byte.
type raw struct {
	in  io.WriteCloser
	out *json.Decoder
	cmd *exec.Cmd // nil for one in this process
}

func (w *world) raw(token string) *raw {
	w.t.Helper()
	cmd := w.command(token, "mcp", "--tools", "all")
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &raw{in, json.NewDecoder(out), cmd}
}

// say sends a line.
func (r *raw) say(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// hear reads the next message.
func (r *raw) hear(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := r.out.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// greet begins a connection.
func (r *raw) greet(t testing.TB) {
	t.Helper()
	r.say(t, hello)
	if m := r.hear(t); m["result"] == nil {
		t.Fatalf("initialize: %v", m)
	}
	r.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}
