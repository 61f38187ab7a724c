//go:build realclient

package realclient

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// client is a running Claude Code.
type client struct {
	m    *machine
	tmux func(args ...string) string // its terminal
}

// program is the installed client.
func (m *machine) program() string {
	m.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".tools", "claude-code", m.version, "node_modules", ".bin", "claude"))
	if err != nil {
		m.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		m.Fatalf("%v: make test-realclient installs it", err)
	}
	return path
}

// clientEnviron lets a client find its model, use the tools for tasks and teams,
// and leave the network alone as far as it can be told to.
func (m *machine) clientEnviron(more ...string) []string {
	return append(append(m.environ(),
		"ANTHROPIC_BASE_URL="+m.model.url, "ANTHROPIC_API_KEY=dummy", "IS_SANDBOX=1",
		"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1", "CLAUDE_CODE_ENABLE_TASKS=1", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1",
		"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION=false",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1"),
		more...)
}

// headless starts a session without a terminal. The function it gives waits for the
// session's end, which has to be a good one.
func (m *machine) headless(session, prompt string, env ...string) (end func()) {
	m.Helper()
	wait := m.background(time.Hour, m.clientEnviron(env...), m.program(), "-p", prompt, "--session-id", session, "--dangerously-skip-permissions")
	return func() {
		m.Helper()
		wait()
	}
}

// background starts a program where the work is, and gives what waits for its end, which
// has to be a good one and come in time, and says what it printed.
func (m *machine) background(limit time.Duration, env []string, program string, args ...string) (end func() string) {
	m.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	m.Cleanup(cancel)
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env = m.path("work"), env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		m.Fatal(err)
	}
	name := filepath.Base(program)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	m.Cleanup(func() {
		cancel()
		<-ended
		if m.Failed() {
			m.Logf("%s %q printed: %s", name, args, out.String())
		}
	})
	return func() string {
		m.Helper()
		err := <-ended
		ended <- nil // for the clean-up
		if err != nil {
			m.Fatalf("%s %q: %v", name, args, err)
		}
		return out.String()
	}
}

// interactive starts a session in a terminal of its own.
func (m *machine) interactive(args ...string) *client {
	m.Helper()
	dir, err := os.MkdirTemp("", "tmux-") // a socket's path must be short
	if err != nil {
		m.Fatal(err)
	}
	c := &client{m: m}
	c.tmux = func(args ...string) string {
		m.Helper()
		t := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "socket"), "-f", filepath.Join(dir, "conf")}, args...)...)
		t.Dir, t.Env = m.path("work"), m.environ()
		out, err := t.CombinedOutput()
		if err != nil {
			m.Errorf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte("set -g remain-on-exit on\n"), 0o600); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		if m.Failed() {
			m.Logf("the client's screen:\n%s", c.screen())
		}
		if c.tmux(dead...) != "1" {
			c.tmux("run-shell", "kill -KILL -#{pane_pid}") // it must write nothing after the test
			c.ended()
		}
		c.tmux("kill-server")
		os.RemoveAll(dir)
	})
	line := append([]string{"new-session", "-d", "-x", "180", "-y", "50", "env", "-i"}, m.clientEnviron()...)
	c.tmux(append(append(line, m.program(), "--dangerously-skip-permissions"), args...)...)
	return c
}

// screen is what a person would see.
func (c *client) screen() string { return c.tmux("capture-pane", "-p") }

// typed is a line that a person types. Text and Enter in one go would be taken for
// something pasted.
func (c *client) typed(text string) {
	c.m.Helper()
	c.tmux("send-keys", "-l", text)
	c.m.eventually("the text stands on the screen", func() bool { return strings.Contains(c.screen(), text) })
	c.tmux("send-keys", "Enter")
}

// ended waits until the client is gone.
func (c *client) ended() {
	c.m.Helper()
	c.m.eventually("the client has ended", func() bool { return c.tmux(dead...) == "1" })
}

// dead asks tmux whether a terminal's program has ended.
var dead = []string{"display-message", "-p", "#{pane_dead}"}
