package mcpserver_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the exchanges anew")

// TestExchanges has whole conversations, each over pipes and over HTTP, and compares
// every answer with the one in the file.
//
//	$ task add "one"             the operator types a command
//	ann> TaskGet {"taskId":1}    ann's client calls a tool
//	ann& ReadInbox {"wait":60}   the same, without waiting for the answer
//	ann.                         here it is
//
// ASK in a call is the newest request that an answer told of.
//
// After a call come the lines of its text, and its data after = or, where it is an
// error, after !. Whoever has no token is a guest, and there are none over HTTP.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no exchanges", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_linux.txtar") && runtime.GOOS != "linux" {
			continue
		}
		for _, door := range []string{"pipe", "http"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+door, func(t *testing.T) {
				t.Parallel()
				exchange(t, file, door)
			})
		}
	}
}

func exchange(t *testing.T, file, door string) {
	ar, err := txtar.ParseFile(file)
	if err != nil || len(ar.Files) != 1 {
		t.Fatalf("%d files, %v", len(ar.Files), err)
	}
	want := string(ar.Files[0].Data)
	if door == "http" && strings.Contains(want, "visitor> ") {
		return
	}
	w := newWorld(t)
	c := &conversation{w: w, door: door, clients: map[string]*mcp.ClientSession{}, waiting: map[string]chan string{}}
	for line := range strings.Lines(want) {
		c.step(strings.TrimSuffix(line, "\n"))
	}
	got := strings.ReplaceAll(c.said.String(), w.dir, "DIR")
	if *update && door == "pipe" {
		ar.Files[0].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s over %s (-want +got):\n%s", file, door, diff)
	}
}

type conversation struct {
	w       *world
	door    string
	clients map[string]*mcp.ClientSession
	waiting map[string]chan string
	said    strings.Builder
}

var requestID = regexp.MustCompile(`(?m)^= .*"request_id":"(a\d+)"`)

var callLine = regexp.MustCompile(`^([a-z]+)([>&]) (\w+) (\{.*\})$`)

// step carries out one line of the file. What is no command is an old answer.
func (c *conversation) step(line string) {
	t := c.w.t
	if command, ok := strings.CutPrefix(line, "$ "); ok {
		fmt.Fprintln(&c.said, line)
		c.w.cadre(words(command)...)
		return
	}
	if who, ok := strings.CutSuffix(line, "."); ok && c.waiting[who] != nil {
		fmt.Fprintf(&c.said, "%s\n%s", line, <-c.waiting[who])
		delete(c.waiting, who)
		return
	}
	m := callLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	fmt.Fprintln(&c.said, line)
	client := c.clients[m[1]]
	if client == nil {
		client = c.w.connect(m[1], c.door, nil)
		c.clients[m[1]] = client
	}
	asks := requestID.FindAllStringSubmatch(c.said.String(), -1)
	if len(asks) > 0 {
		m[4] = strings.ReplaceAll(m[4], "ASK", asks[len(asks)-1][1])
	}
	if m[2] == ">" {
		c.said.WriteString(answerOf(t, client, m[3], m[4]))
		return
	}
	came := make(chan string, 1)
	c.waiting[m[1]] = came
	go func() { came <- answerOf(t, client, m[3], m[4]) }()
}

// answerOf is an answer as the file shows it.
func answerOf(t testing.TB, client *mcp.ClientSession, name, arguments string) string {
	result, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return normal(fmt.Sprintf("!! %v\n", err))
	}
	mark := "="
	if result.IsError {
		mark = "!"
	}
	return normal(fmt.Sprintf("  %s\n%s %s\n", strings.ReplaceAll(told(result), "\n", "\n  "), mark, data(t, result)))
}

var (
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	hexes = regexp.MustCompile(`\b[0-9a-f]{24,64}\b`)
	pids  = regexp.MustCompile(`process \d+`)
)

// normal takes out what is different in every run.
func normal(s string) string {
	s = hexes.ReplaceAllString(times.ReplaceAllString(s, "TIME"), "HEX")
	return pids.ReplaceAllString(s, "process PID")
}

// words splits a command as a shell does, as far as the files need it.
func words(command string) []string {
	var out []string
	for i, part := range strings.Split(command, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
