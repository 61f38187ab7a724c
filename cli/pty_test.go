//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"cadre/internal/termtext"
)

// patience is how long a command may take before it counts as hanging, which is far
// longer than any needs on a machine that has much else to do.
const patience = 3 * time.Minute

// terminal is a person's terminal with a home of its own.
type terminal struct {
	t    *testing.T
	dir  string
	cols uint16
	env  []string
}

func newTerminal(t *testing.T) *terminal {
	return &terminal{t: t, dir: t.TempDir(), cols: 60}
}

func (w *terminal) command(args ...string) *exec.Cmd {
	w.t.Helper()
	path, err := exec.LookPath("cadre")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = patience / 10
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it then says where it stands
	cmd.Dir = w.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TERM=xterm", "CADRE_STATE_DIR=" + filepath.Join(w.dir, "state"),
		"CLAUDE_CONFIG_DIR=" + filepath.Join(w.dir, "claude"), "XDG_CACHE_HOME=" + filepath.Join(w.dir, "cache"),
		"GORACE=atexit_sleep_ms=0",
	}, w.env...)
	return cmd
}

// run types a command at the terminal and gives all that appeared.
func (w *terminal) run(args ...string) (string, int) {
	w.t.Helper()
	cmd := w.command(args...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: w.cols})
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	out, seen := new(bytes.Buffer), make(chan struct{})
	go func() {
		out.ReadFrom(f) // ends with an error when the other side closes
		close(seen)
	}()
	err = cmd.Wait()
	select {
	case <-seen:
	case <-time.After(patience / 10):
		w.t.Fatalf("cadre %s is over (%v), and something that it started holds its terminal", strings.Join(args, " "), err)
	}
	return w.ended(args, out.String()), exitOf(w.t, err)
}

// pipe runs a command without a terminal.
func (w *terminal) pipe(args ...string) (string, int) {
	w.t.Helper()
	out, err := w.command(args...).CombinedOutput()
	return w.ended(args, string(out)), exitOf(w.t, err)
}

// ended fails where a command had to be ended, with what it had said by then and where
// it stood.
func (w *terminal) ended(args []string, out string) string {
	w.t.Helper()
	if strings.Contains(out, "SIGQUIT: quit") {
		w.t.Fatalf("this did not end in %s: cadre %s\n%s", patience, strings.Join(args, " "), out)
	}
	return out
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

func (w *terminal) must(args ...string) string {
	w.t.Helper()
	out, code := w.run(args...)
	if code != 0 {
		w.t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	return out
}

func TestTerminalHasColourAndFits(t *testing.T) {
	w := newTerminal(t)
	w.must("task", "add", "A subject that is much longer than the sixty columns of this terminal, 日本語 and 🎨 included")
	w.must("task", "start", "1")
	out := w.must("task", "list")
	if !strings.Contains(out, "\x1b[36m● running\x1b[0m") {
		t.Errorf("no colour on a terminal: %q", out)
	}
	for l := range strings.SplitSeq(out, "\n") {
		shown := strings.NewReplacer("\r", "", "\x1b[0m", "", "\x1b[2m", "", "\x1b[36m", "").Replace(l)
		if n := termtext.Width(shown); n > int(w.cols) {
			t.Errorf("a line takes %d columns of %d: %s", n, w.cols, shown)
		}
	}
	if !strings.Contains(out, "…") {
		t.Errorf("nothing was cut: %s", out)
	}
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		w.env = []string{env}
		if out := w.must("task", "list"); strings.Contains(out, "\x1b[") {
			t.Errorf("colour under %s: %q", env, out)
		}
	}
	w.env = nil
	if out := w.must("task", "list", "--color", "never"); strings.Contains(out, "\x1b[") {
		t.Errorf("colour under --color never: %q", out)
	}
	if out := w.must("task", "show", "1", "--json"); !strings.Contains(out, "\n  \"id\": \"1\"") {
		t.Errorf("JSON for a person is not laid out: %s", out)
	}
}

func TestTalkComesAfterTheAnswer(t *testing.T) {
	w := newTerminal(t)
	w.must("team", "create", "mail")
	w.must("msg", "send", "team-lead", "hello", "--as", "bob")
	w.must("msg", "send", "bob", "hello")
	for _, own := range [][]string{{"msg", "inbox"}, {"msg", "inbox", "--as", "bob"}} {
		out := w.must(own...)
		if answer, talk := strings.Index(out, "hello"), strings.Index(out, "cadre msg ack"); answer < 0 || talk < answer {
			t.Errorf("%v: the hint is not after the mail:\n%s", own, out)
		}
	}
	if out := w.must("msg", "inbox", "bob"); strings.Contains(out, "cadre msg ack") {
		t.Errorf("who looks into another's mail is told to mark it:\n%s", out)
	}
}

func TestForcingAsOperatorNeedsATerminal(t *testing.T) {
	w := newTerminal(t)
	w.must("task", "add", "first")
	w.must("task", "add", "second", "--blocked-by", "1")
	if out, code := w.pipe("task", "start", "2", "--force"); code != 7 {
		t.Errorf("without a terminal: exit code %d, want 7\n%s", code, out)
	}
	if out, code := w.run("task", "start", "2", "--force"); code != 0 || !strings.Contains(out, "running") {
		t.Errorf("with a terminal: exit code %d\n%s", code, out)
	}
}

func TestHostileTextNeverReachesTheTerminal(t *testing.T) {
	w := newTerminal(t)
	evil := "evil\x1b]0;title\x07\x1b[2J\u009b31m\u202ereversed\r\nnext"
	w.must("team", "create", "safe")
	w.must("--as", "bob", "team", "join", "safe")
	w.must("task", "add", evil, "-d", evil, "--labels", "x\x1b[31m", "--metadata", "k\x1b=v\x1b[1m")
	w.must("task", "comment", "1", evil)
	w.must("msg", "send", "bob", evil)
	for _, args := range [][]string{
		{"task", "list"},
		{"task", "show", "1"},
		{"task", "graph"},
		{"task", "graph", "--mermaid"},
		{"task", "why", "1"},
		{"log"},
		{"blame", "1"},
		{"--as", "bob", "msg", "inbox"},
		{"diff", "1"},
		{"at", "9"},
		{},
		{"task", "claim", "1"},
		{"task", "list", "--owner", "\x1b[31m"},
		{"task", "show", "\x1b[31m"},
		{"\x1b[31m"},
		{"task", "show", "1", "--json"},
		{"task", "list", "--json"},
		{"task", "list", "--jsonl"},
		{"log", "--json"},
		{"log", "--jsonl"},
		{"diff", "1", "--jsonl"},
		{"audit", "export"},
		{"audit", "export", "--json"},
		{"export"},
		{"export", "--history", "--jsonl"},
		{"--jsonl"},
		{"task", "show", "\u009b31m", "--json"},
		{"backup", "\u009b31m\u202e.db", "-q"},
	} {
		out, _ := w.run(append(args, "--color", "never")...)
		if strings.ContainsAny(strings.ReplaceAll(out, "\r\n", "\n"), "\x1b\x07\u009b\u202e\r") {
			t.Errorf("%v lets it through: %q", args, out)
		}
		piped, _ := w.pipe(append(args, "--color", "never")...)
		if strings.ContainsAny(piped, "\x1b\x07") {
			t.Errorf("%v lets it through a pipe: %q", args, piped)
		}
	}
}

// TestNothingIsCutWithoutATerminal: what reads a pipe gets every line of a text, on
// one line of its own.
func TestNothingIsCutWithoutATerminal(t *testing.T) {
	w := newTerminal(t)
	long := "first\nsecond\n\nlast " + strings.Repeat("word ", 30) + "end"
	w.must("team", "create", "whole")
	w.must("--as", "bob", "team", "join", "whole")
	w.must("task", "add", "one")
	w.must("task", "comment", "1", long)
	w.must("msg", "send", "bob", long)
	w.must("--as", "bob", "ask", "for", "question", long)
	w.must("task", "update", "1", "-d", long)
	w.must("task", "done", "1", "--result", long)
	want := strings.ReplaceAll(long, "\n", `\n`)
	for _, test := range []struct {
		args []string
		n    int // how often the text is to be seen
	}{
		{[]string{"log"}, 5}, {[]string{"diff", "1"}, 4}, {[]string{"ask", "list"}, 1}, {[]string{"blame", "1"}, 2}, {nil, 2},
	} {
		if out, _ := w.pipe(test.args...); strings.Count(out, want) < test.n {
			t.Errorf("%v shows it %d times, want %d:\n%s", test.args, strings.Count(out, want), test.n, out)
		}
		if out, _ := w.run(test.args...); strings.Contains(out, want) {
			t.Errorf("%v does not fit the terminal:\n%s", test.args, out)
		}
	}
}

// What runs until it is interrupted says nothing when it is.
func TestWhatNeverEndsEndsCleanlyOnInterrupt(t *testing.T) {
	w := newTerminal(t)
	w.must("task", "add", "one")
	for _, tt := range []struct {
		first string
		args  []string
	}{
		{`{"seq":`, []string{"watch", "--since", "0", "--jsonl"}},
		{`http://`, []string{"mcp", "--listen", "127.0.0.1:0"}},
	} {
		cmd := w.command(tt.args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 8)
		if _, err := out.Read(first); err != nil || !bytes.HasPrefix(first, []byte(tt.first)) {
			_ = cmd.Cancel() // it may be over
			t.Fatalf("read %q, %v; %v said %s", first, err, cmd.Wait(), &said)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		var rest bytes.Buffer
		rest.ReadFrom(out) // until it ends
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("%s ended with %v, and said %s", tt.args[0], err, &said)
		}
	}
}
