package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/agent/command"
)

// thinking is a team that can have members whose program is a command.
func thinking(t *testing.T, more ...func(*agent.Options)) *team {
	bin := t.TempDir()
	return newTeam(t, func(o *agent.Options) {
		k, err := keepers()
		if err != nil {
			t.Fatal(err)
		}
		for name, recipe := range command.Recipes() {
			o.Backends[name] = command.Backend{Keepers: k, Recipe: recipe}
		}
		o.Env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
		o.Env = append(o.Env, "BIN="+bin)
		o.Retry = 50 * time.Millisecond
		for _, set := range more {
			set(o)
		}
	})
}

func (w *team) spawnCommand(name, script, prompt string) {
	w.Helper()
	w.must("member spawn", &cadre.MemberSpawn{Name: name, Backend: cadre.BackendCommand, Run: "sh -c '" + script + "'", Prompt: prompt, Folder: w.dir})
}

func (w *team) open(subject string) cadre.TaskID {
	w.Helper()
	return w.must("task add", &cadre.TaskAdd{Subject: subject}).(*cadre.Added).ID
}

// turns counts what a member's script noted.
func (w *team) turns() int { return len(w.lines("turns")) }

func TestAMemberThinks(t *testing.T) {
	w := thinking(t)
	w.spawnCommand("ann", `cat > said; echo turn >> turns; echo "I am $(wc -l < turns)"`, "You write the manual.")
	w.until("the lead has the answer to the prompt", func() bool { return w.told("I am 1") == 1 })
	w.untilState("ann", cadre.StateIdle)
	w.must("member nudge", &cadre.MemberNudge{Name: "ann", Text: "how is it going?"})
	w.until("the lead has an answer", func() bool { return w.told("I am 2") == 1 })
	if said, err := os.ReadFile(filepath.Join(w.dir, "said")); err != nil || !strings.Contains(string(said), "From team-lead, ") || !strings.Contains(string(said), "\n> how is it going?\n") {
		t.Errorf("it was told %q, %v", said, err)
	}
	w.until("the mail is read", func() bool { return w.unread("ann") == 0 })
	id := w.open("Outline")
	w.untilDone(id)
	if r := w.task(id).Result; !strings.Contains(r.Summary, "I am 3") {
		t.Errorf("the result is %+v", r)
	}
	w.end() // another supervisor tells nothing again
	w.supervise()
	w.untilState("ann", cadre.StateIdle)
	w.untilDone(w.open("Chapters"))
	w.untilState("ann", cadre.StateIdle)
	if n := w.turns(); n != 4 || !w.member("ann").Told {
		t.Errorf("%d turns, %+v", n, w.member("ann"))
	}
}

func (w *team) unread(name string) (n int) {
	w.view(func(snap cadre.Snap) error {
		for _, err := range snap.Unread(name) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n
}

// TestMailOutlivesASupervisor ends a supervisor in the middle of a turn: the mail of
// that turn is told again.
func TestMailOutlivesASupervisor(t *testing.T) {
	w := thinking(t)
	w.spawnCommand("ann", `cat >> said; echo turn >> turns; [ $(wc -l < turns) -ge 2 ] || sleep 1000; echo done`, "")
	w.untilState("ann", cadre.StateIdle)
	w.must("msg send", &cadre.MsgSend{To: "ann", Text: "read this"})
	w.until("it reads", func() bool { return w.turns() == 1 })
	w.end()
	w.supervise()
	w.until("it has read", func() bool { return w.unread("ann") == 0 })
	if said, _ := os.ReadFile(filepath.Join(w.dir, "said")); strings.Count(string(said), "> read this") != 2 {
		t.Errorf("it was told %s", said)
	}
}

func TestALimitIsNoAttempt(t *testing.T) {
	w := thinking(t)
	w.spawnCommand("ann", `echo turn >> turns; [ $(wc -l < turns) -ge 5 ] || { printf "no more %0999d\n today" 0; exit 75; }; echo done`, "")
	id := w.open("Outline")
	w.until("it is limited", func() bool {
		m := w.member("ann")
		return m.State == cadre.StateRateLimited && strings.Contains(m.Evidence, "no more 000") && len(m.Evidence) < 400 && strings.Contains(m.Evidence, "; tries again at ")
	})
	w.untilDone(id)
	if got := w.task(id); got.Attempts != 0 || got.Owner != "ann" || w.turns() != 5 {
		t.Errorf("%+v after %d turns", got, w.turns())
	}
	w.untilState("ann", cadre.StateIdle)
}

// TestAPlanIsAskedFor has a member meet a task that needs a plan: it is done once
// somebody approved what the member said, and not before.
func TestAPlanIsAskedFor(t *testing.T) {
	w := thinking(t)
	w.spawnCommand("ann", `grep -q "Change nothing now" && echo "I shall" || { echo ran >> ran; echo done; }`, "")
	id := w.must("task add", &cadre.TaskAdd{Subject: "Deploy", Plan: true}).(*cadre.Added).ID
	var asked *cadre.Ask
	w.until("the plan is asked for", func() bool {
		w.view(func(snap cadre.Snap) error {
			for a, err := range snap.OpenAsks() {
				if err != nil {
					return err
				}
				asked = a
			}
			return nil
		})
		return asked != nil
	})
	if got := w.task(id); asked.Text != "I shall" || asked.Task != id || asked.From != "ann" || w.lines("ran") != nil || got.Leased || got.Owner != "ann" {
		t.Errorf("asked for %+v about %+v, ran %v", asked, got, w.lines("ran"))
	}
	w.must("ask approve", &cadre.AskApprove{ID: asked.ID})
	w.untilDone(id)
	if got := w.lines("ran"); len(got) != 1 {
		t.Errorf("it ran %v", got)
	}
}

// TestWhoCompletesItsOwnTaskMayFinishItsTurn has somebody complete a task whose member
// still talks.
func TestWhoCompletesItsOwnTaskMayFinishItsTurn(t *testing.T) {
	w := thinking(t)
	w.spawnCommand("ann", `echo turn >> turns; until [ -e go ]; do sleep 0.01; done; echo end >> turns`, "")
	id := w.open("Outline")
	w.until("it works", func() bool { return w.turns() == 1 })
	w.must("task done", &cadre.TaskDone{ID: id, Result: "see outline.md"})
	time.Sleep(10 * w.options.Heartbeat) // its claim would be renewed meanwhile
	if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.untilState("ann", cadre.StateIdle)
	if got := w.lines("turns"); !slices.Equal(got, []string{"turn", "end"}) || w.task(id).Result.Summary != "see outline.md" {
		t.Errorf("%v, %+v", got, w.task(id).Result)
	}
}

// TestASessionGoesOn keeps the session of a member's program over supervisors.
func TestASessionGoesOn(t *testing.T) {
	w := thinking(t)
	script := `#!/bin/sh
echo "$*" >> calls
echo '{"type":"system","subtype":"init","session_id":"s1","model":"big","permissionMode":"acceptEdits"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
`
	bin := strings.TrimPrefix(w.options.Env[len(w.options.Env)-1], "BIN=")
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	w.must("member spawn", &cadre.MemberSpawn{Name: "ann", Backend: cadre.BackendClaude, Mode: "default", Folder: w.dir})
	w.untilDone(w.open("Outline"))
	w.until("the session is known", func() bool { return w.member("ann").Session == "s1" })
	if m := w.member("ann"); m.Model != "big" || m.Mode != "acceptEdits" || m.Requested.Model != "" || m.Requested.Mode != "default" {
		t.Errorf("%+v, asked for %+v", m, m.Requested)
	}
	w.end()
	w.supervise()
	w.untilDone(w.open("Chapters"))
	calls, err := os.ReadFile(filepath.Join(w.dir, "calls"))
	line := "-p --output-format stream-json --verbose --permission-mode default"
	if want := line + "\n" + line + " --resume s1\n"; err != nil || string(calls) != want {
		t.Errorf("called with\n%swant\n%s%v", calls, want, err)
	}
}

func TestMailOfAnInterruptedTurnIsReadInTheNext(t *testing.T) {
	w := thinking(t)
	w.spawnCommand("ann", `cat >> got; echo turn >> turns; until [ -e go$(wc -l < turns) ]; do sleep 0.01; done`, "")
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("go3")
	first, second := w.open("Outline"), w.open("Chapters")
	w.until("it works", func() bool { return w.turns() == 1 })
	w.must("msg send", &cadre.MsgSend{To: "ann", Text: "hello"})
	w.until("it was told", func() bool { return w.delivered("ann") == 1 })
	touch("go1")
	w.untilDone(first)
	w.until("it works again", func() bool { return w.turns() == 2 })
	owner := "somebody-else"
	w.must("task update", &cadre.TaskUpdate{ID: second, Owner: &owner})
	w.until("the mail is read", func() bool { return w.unread("ann") == 0 })
}

func (w *team) delivered(name string) (n int) {
	w.view(func(snap cadre.Snap) error {
		for m, err := range snap.Inbox(name, 0) {
			if err != nil {
				return err
			}
			if m.DeliveredAt != nil && m.Said() {
				n++
			}
		}
		return nil
	})
	return n
}

func TestAMemberThatCannotReadSaysSo(t *testing.T) {
	w := thinking(t)
	w.spawnCommand("ann", `echo turn >> turns; echo no login; exit 3`, "You write the manual.")
	w.until("one can see why", func() bool {
		m := w.member("ann")
		return m.State == cadre.StateIdle && m.Evidence == "failed: what it was told, exit code 3"
	})
	if n := w.turns(); n != 1 {
		t.Errorf("it tried %d times", n)
	}
}

// A turn without a task can hang like any other.
func TestAMemberStallsOverItsMail(t *testing.T) {
	w := thinking(t, func(o *agent.Options) { o.Stall = 150 * time.Millisecond })
	w.spawnCommand("ann", `cat > said; until [ -e go ]; do sleep 0.01; done; echo well`, "")
	w.untilState("ann", cadre.StateIdle)
	w.must("member nudge", &cadre.MemberNudge{Name: "ann", Text: "how is it going?"})
	w.untilState("ann", cadre.StateStalled)
	if m := w.member("ann"); !strings.Contains(m.Evidence, "what it was told: nothing to see") {
		t.Errorf("because %q", m.Evidence)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.untilState("ann", cadre.StateIdle)
}
