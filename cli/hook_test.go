//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hooked is a team that a session of Claude Code leads, and in which bob works.
type hooked struct{ *terminal }

func newHooked(t *testing.T) hooked {
	w := hooked{newTerminal(t)}
	w.env = []string{"CLAUDE_CODE_SESSION_ID=11111111-aaaa-4aaa-8aaa-111111111111"}
	w.must("team", "create", "docs")
	w.env = nil
	w.must("team", "join", "docs", "--name", "bob", "--as", "bob")
	w.hook("SessionStart")
	return w
}

// news gives the session a message and a task, both with the same words.
func (w hooked) news(words string) {
	w.t.Helper()
	w.must("msg", "send", "team-lead", words, "--team", "docs", "--as", "bob")
	w.must("task", "add", words, "--owner", "team-lead", "--team", "docs")
}

// started is a hook that runs.
type started struct {
	*exec.Cmd
	said bytes.Buffer
}

func (w hooked) start(event string, args ...string) *started {
	w.t.Helper()
	h := &started{Cmd: w.command(append([]string{"hook"}, args...)...)}
	h.Env = append(h.Env, "AI_AGENT=claude-code_2-1-325", "CLAUDE_CODE_ENTRYPOINT=cli")
	h.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"11111111-aaaa-4aaa-8aaa-111111111111","hook_event_name":%q}`, event))
	h.Stdout, h.Stderr = &h.said, &h.said
	if err := h.Start(); err != nil {
		w.t.Fatal(err)
	}
	return h
}

// hook gives what one hook says.
func (w hooked) hook(event string) string {
	w.t.Helper()
	h := w.start(event)
	if code := exitOf(w.t, h.Wait()); code != 0 {
		w.t.Fatalf("%s ends with %d: %s", event, code, &h.said)
	}
	return h.said.String()
}

// Claude Code runs the hooks of parallel tool calls beside each other, and beside the
// one that waits.
func TestHooksAtOnceTellEachThingOnce(t *testing.T) {
	w := newHooked(t)
	for round := range 4 {
		words := fmt.Sprintf("news of round %d", round)
		w.news(words)
		all := []*started{w.start("Stop", "--wait", "1h")}
		for range 5 {
			all = append(all, w.start("PostToolUse"))
		}
		for _, h := range all[1:] {
			if code := exitOf(t, h.Wait()); code != 0 {
				t.Errorf("it ends with %d: %s", code, &h.said)
			}
		}
		last := w.hook("PostToolUse") // it ends the one that waits, too
		_ = all[0].Wait()             // it has woken the session or not
		for _, h := range all {
			last += h.said.String()
		}
		for _, what := range []string{"from bob: " + words, "[ready] " + words} {
			if n := strings.Count(last, what); n != 1 {
				t.Errorf("%q is told %d times", what, n)
			}
		}
	}
}

// A hook that is killed may tell something twice, and loses nothing.
func TestAKilledHookLosesNothing(t *testing.T) {
	w := newHooked(t)
	began := time.Now()
	said, killed := w.hook("PostToolUse"), 0
	took := time.Since(began)
	const rounds = 12 // so few that all of them fit into one hook's words
	for round := range rounds {
		w.news(fmt.Sprintf("news of round %02d", round))
		h := w.start("PostToolUse")
		timer := time.AfterFunc(3*took*time.Duration(round)/rounds, func() { _ = h.Process.Kill() }) // later each time, the first at once
		if h.Wait() != nil {
			killed++
		}
		timer.Stop()
		said += h.said.String()
	}
	for range 10 { // what is much comes in several words
		said += w.hook("PostToolUse")
	}
	t.Logf("%d of %d were killed", killed, rounds)
	for round := range rounds {
		for _, what := range []string{"from bob: ", "[ready] "} {
			if what += fmt.Sprintf("news of round %02d", round); !strings.Contains(said, what) {
				t.Errorf("%q was never told", what)
			}
		}
	}
}

// Where it cannot be noted that something was told, it is told later: a session that
// stops would be told the same for ever.
func TestNothingIsToldThatCannotBeNoted(t *testing.T) {
	w := newHooked(t)
	notes, err := filepath.Glob(filepath.Join(w.dir, "cache", "cadre", "hooks", "*.json"))
	if err != nil || len(notes) != 1 {
		t.Fatalf("%v, %v", notes, err)
	}
	if err := errors.Join(os.Remove(notes[0]), os.MkdirAll(filepath.Join(notes[0], "in the way"), 0o700)); err != nil {
		t.Fatal(err)
	}
	w.news("hello")
	for _, event := range []string{"PostToolUse", "Stop"} {
		h := w.start(event)
		if code := exitOf(t, h.Wait()); code != 1 || strings.Contains(h.said.String(), "hello") {
			t.Errorf("%s ends with %d: %s", event, code, &h.said)
		}
	}
	if err := os.RemoveAll(notes[0]); err != nil {
		t.Fatal(err)
	}
	if said := w.hook("PostToolUse"); !strings.Contains(said, "from bob: hello") {
		t.Errorf("it is told %q", said)
	}
}

// A session whose first hook came to nothing is briefed by the next.
func TestASessionIsBriefedLateRatherThanNever(t *testing.T) {
	w := newHooked(t)
	w.news("hello")
	if err := os.RemoveAll(filepath.Join(w.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	if said := w.hook("Stop"); !strings.Contains(said, "You are team-lead") || !strings.Contains(said, "[ready] hello") {
		t.Errorf("it is told %q", said)
	}
	if said := w.hook("Stop"); said != "" {
		t.Errorf("then it is told %q", said)
	}
}

// What happens again is told again, in the same words.
func TestATaskThatIsReadyAgainIsToldAgain(t *testing.T) {
	w := newHooked(t)
	w.env = []string{"CLAUDE_CODE_SESSION_ID=22222222-bbbb-4bbb-8bbb-222222222222"}
	w.must("team", "create", "two")
	w.env = []string{"CLAUDE_CODE_SESSION_ID=11111111-aaaa-4aaa-8aaa-111111111111"}
	w.must("team", "join", "two", "--name", "ann")
	w.env = nil
	w.must("team", "join", "two", "--name", "bob", "--as", "bob")
	w.hook("SessionStart")
	w.must("task", "add", "for anyone", "--team", "two")
	for round := range 2 {
		if said := w.hook("Stop"); !strings.Contains(said, "[ready] for anyone") {
			t.Errorf("round %d: it is told %q", round, said)
		}
		if said := w.hook("Stop"); said != "" {
			t.Errorf("round %d: then it is told %q", round, said)
		}
		w.must("task", "claim", "1", "--team", "two", "--as", "bob")
		w.must("task", "release", "1", "--team", "two", "--as", "bob")
	}
}
