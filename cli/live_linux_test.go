package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"cadre/internal/termtext"
)

// screen is a real tmux with one window of 80 columns, in which a command runs.
type screen struct {
	t      *testing.T
	server string
}

func newScreen(t *testing.T, w *terminal, args ...string) *screen {
	t.Helper()
	s := &screen{t, fmt.Sprintf("cadre-test-%d-%s", os.Getpid(), t.Name())}
	cmd := w.command(args...)
	// The window stays when the command is over, to look at.
	line := "cd " + w.dir + "; env -i"
	for _, kv := range append(cmd.Env, "TERM=screen") {
		line += " '" + kv + "'"
	}
	line += " " + cmd.Path + " " + strings.Join(args, " ") + "; echo \"exit code $?\"; sleep 1000"
	t.Cleanup(func() { _, _ = s.tmux("kill-server") }) // it may never have come up
	if out, err := s.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", line); err != nil {
		t.Fatalf("tmux (scripts/need tmux installs it): %v: %s", err, out)
	}
	return s
}

// tmux has the server do something, which ends or is ended.
func (s *screen) tmux(args ...string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-L", s.server}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=")
	cmd.WaitDelay = patience / 10
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// shows is what can be seen.
func (s *screen) shows() string {
	s.t.Helper()
	out, err := s.tmux("capture-pane", "-p")
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimRight(out, "\n")
}

// until waits until something can be seen.
func (s *screen) until(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	var seen string
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		if seen = s.shows(); re.MatchString(seen) {
			return seen
		}
	}
	past, _ := s.tmux("capture-pane", "-p", "-S", "-") // with what has left the window
	s.t.Fatalf("%q is not to be seen:\n%s", pattern, past)
	return ""
}

func (s *screen) press(keys ...string) {
	s.t.Helper()
	if out, err := s.tmux(append([]string{"send-keys"}, keys...)...); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

const liveFile = `
team: {name: live, policies: {plan: wait}}
members: {worker: {count: 2}}
tasks:
  build: {subject: "A subject that is much longer than what is left of the eighty columns of this terminal", run: "while ! [ -e go ]; do sleep 0.1; done; echo built"}
  ship: {subject: Ship it, run: echo shipped, plan: true, after: build}
`

func TestARunIsShownAndAnsweredAtATerminal(t *testing.T) {
	w := newTerminal(t)
	if err := os.WriteFile(filepath.Join(w.dir, "live.yaml"), []byte(liveFile), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, w, "run", "live.yaml")
	seen := s.until(`● working +worker-[12] +build: A subject.*… +[0-9]+s`)
	if !strings.Contains(seen, "0/2 done, 1 running") || strings.Count(seen, "worker-") != 3 {
		t.Errorf("this is to be seen:\n%s", seen)
	}
	for l := range strings.SplitSeq(seen, "\n") {
		if n := termtext.Width(l); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until(`1/2 done, 0 running, 1 for you(?s:.*)keys: y yes, n no`)
	s.press("s")
	s.until(`from worker-[12]:\n  Ship it\n`)
	s.press("n")
	s.press("not", "Space", "now")
	s.until(`why not\? not now_`)
	s.press("Escape")
	s.until(`keys: y yes`)
	s.press("y")
	seen = s.until(`exit code 0`)
	if !strings.Contains(seen, "✓ approved by team-lead: plan for ship") || !strings.Contains(seen, "✓ completed: 2 of 2 tasks") {
		t.Errorf("this is to be seen:\n%s", seen)
	}
	if n := strings.Count(seen, "worker-1  "); n > 2 {
		t.Errorf("what was drawn stands there still:\n%s", seen)
	}
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	w := newTerminal(t)
	if err := os.WriteFile(filepath.Join(w.dir, "live.yaml"), []byte(strings.Replace(liveFile, "plan: true, ", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, w, "run", "live.yaml")
	s.until(`● working`)
	s.press("C-c")
	seen := s.until(`exit code 1`)
	if !strings.Contains(seen, "✗ interrupted: 0 of 2 tasks") || !strings.Contains(seen, "try: cadre run --resume live.yaml") {
		t.Errorf("this is to be seen:\n%s", seen)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := w.pipe("run", "--resume", "live.yaml"); code != 0 || !strings.Contains(out, "✓ completed: 2 of 2 tasks") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
