package soak_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/internal/proc"
)

// TestSoakSilentMember stops a healthy member for three leases. Its task goes to another,
// what it says of it afterwards is refused, and it lives on.
func TestSoakSilentMember(t *testing.T) {
	rounds := count(t, "members stopped and continued", 1, 20)
	c := newCrew(t)
	c.must("member", "spawn", "ann")
	for round := range rounds {
		name := fmt.Sprint("round", round)
		// The first who has it is stopped with all it started; the second is done at once.
		// It goes on by itself and says that it did the task, like a command that never knew.
		id := c.add(strings.ReplaceAll(`if mkdir NAME 2>/dev/null; then echo $$ > NAME/pid
until [ -e NAME/go ]; do sleep 0.01; done
`+c.bin+` task done "$CADRE_TASK" --result late > NAME/said 2>&1; echo $? > NAME/code; sleep 1000; fi`, "NAME", name))
		c.until("it runs", func() bool { return len(c.noted(name+"/pid")) == 1 })
		holder := c.task(id).Owner
		process := proc.ID(*c.member(holder).Process)
		began := time.Now()
		if err := syscall.Kill(process.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			c.must("member", "spawn", "ben")
		}
		c.until("the task is another's", func() bool { return c.task(id).Status == cadre.Completed })
		after := time.Since(began)
		if got := c.task(id); got.Attempts != 1 || got.Owner == holder {
			t.Errorf("task %s: %d attempts, done by %s", id, got.Attempts, got.Owner)
		}
		if m := c.member(holder); m.State != cadre.StateUnreachable || !strings.Contains(m.Evidence, "lease ran out") {
			t.Errorf("%s is %s: %s", holder, m.State, m.Evidence)
		}
		// The late write, while the member is silent and its command is not.
		if err := os.WriteFile(filepath.Join(c.home, name, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.until("it said something", func() bool { return len(c.noted(name+"/code")) == 1 })
		if got := c.noted(name + "/code"); got[0] != "4" || !strings.Contains(strings.Join(c.noted(name+"/said"), " "), "this claim of task "+string(id)+" was lost") {
			t.Errorf("the late write: exit %s, %s", got, c.noted(name+"/said"))
		}
		time.Sleep(max(0, 3*crewLease-time.Since(began)))
		if err := syscall.Kill(process.PID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		c.until(holder+" is back", func() bool { return c.member(holder).State == cadre.StateIdle })
		if m := c.member(holder); !process.Alive() || *m.Process != cadre.Process(process) {
			t.Errorf("%s has another process now: %v", holder, m.Process)
		}
		t.Logf("%s was silent; its task was done by another after %s (a lease is %s)", holder, after.Round(time.Millisecond), crewLease)
	}
	c.audited()
}

// TestSoakForks ends a member that started 200 processes, half of them in sessions of
// their own.
func TestSoakForks(t *testing.T) {
	rounds := count(t, "members with 200 processes ended", 1, 10)
	c := newCrew(t)
	var took []time.Duration
	for round := range rounds {
		for _, how := range []string{"kill", "-9"} {
			c.must("member", "spawn", "ann")
			mark := fmt.Sprint(how, round)
			c.add(`i=0; while [ $i -lt 100 ]; do sleep 1000 & setsid sleep 1000 & i=$((i+1)); done; echo ` + mark + ` >> forked; wait`)
			// More than once where the machine is so busy that the lease runs out.
			c.until("all of them run", func() bool { return slices.Contains(c.noted("forked"), mark) && len(c.running()) >= 200 })
			began := time.Now()
			if how == "kill" {
				c.must("member", "kill", "ann")
			} else if err := syscall.Kill(c.member("ann").Process.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			c.until("none is left", func() bool { return len(c.running()) == 0 })
			took = append(took, time.Since(began))
			c.until("that is in the record", func() bool { return c.member("ann").Process == nil })
			c.view(func(s cadre.Snap) error {
				for task, err := range s.Tasks(cadre.TaskQuery{Index: cadre.IndexStatus, Key: string(cadre.Pending)}) {
					if err != nil {
						return err
					}
					defer c.must("task", "rm", string(task.ID))
				}
				return nil
			})
			if how == "-9" {
				c.must("member", "kill", "ann")
			}
		}
	}
	t.Logf("200 processes, 100 of them in sessions of their own, were gone after %s", span(took))
}

// TestSoakOverreach has a member try to approve what it asked for itself, in every way
// that it could come up with.
func TestSoakOverreach(t *testing.T) {
	m := newMachine(t)
	token, ok := strings.CutPrefix(m.must("token", "create", "--role", "operator"), "CADRE_TOKEN=")
	if !ok {
		t.Fatalf("no token: %s", token)
	}
	c := crewOn(m, t)
	c.must("member", "spawn", "ann")
	issue := c.command(t.Context(), "token", "create", "--role", "member", "--name", "ann")
	issue.Env = append(issue.Env, "CADRE_TOKEN="+token)
	own, ok := strings.CutPrefix(strings.TrimSpace(finish(issue, nil).out), "CADRE_TOKEN=")
	if !ok {
		t.Fatal("no token for ann")
	}
	clean := "env -i HOME=$HOME PATH=$PATH CADRE_CLAUDE=off CADRE_STATE_DIR=" + c.state + " "
	tries := []string{"", "setsid -w ", clean, clean + "setsid -w ", "nohup "}
	for _, with := range []string{own, token} {
		tries = append(tries, "env CADRE_TOKEN="+with+" ", clean+"CADRE_TOKEN="+with+" ", clean+"CADRE_TOKEN="+with+" setsid -w ")
	}
	script := `a=$(` + c.bin + ` ask for permission "to do as I like" -q)` + "\n"
	for _, try := range tries {
		script += try + c.bin + ` ask approve "$a" >> said 2>&1 < /dev/null; echo $? >> codes` + "\n"
	}
	script += clean + c.bin + ` token create --role operator >> said 2>&1; echo $? >> codes` + "\n"
	id := c.add(script)
	c.until("it is done", func() bool { return c.task(id).Status == cadre.Completed })
	codes := c.noted("codes")
	if len(codes) != len(tries)+1 || slices.ContainsFunc(codes, func(code string) bool { return code != "6" && code != "7" }) {
		said, _ := os.ReadFile(filepath.Join(c.home, "said"))
		t.Errorf("the answers to %d tries were %v:\n%s", len(tries)+1, codes, said)
	}
	asks := 0
	c.view(func(s cadre.Snap) error {
		for a, err := range s.Asks() {
			if err != nil || a.State != cadre.AskOpen {
				t.Errorf("ask %s is %s, %v", a.ID, a.State, err)
			}
			asks++
		}
		return nil
	})
	logged := map[string]int{}
	for _, e := range c.events() {
		if msg, ok := e.After.(*cadre.Message); ok && e.Verb == "member posed" && e.Before == nil {
			logged[msg.Text]++
		}
	}
	if asks != 1 || len(logged) != 2 {
		t.Errorf("%d asks; logged: %v", asks, logged)
	}
	t.Logf("%d tries, all refused: %v; logged: %v", len(tries)+1, codes, logged)
}

// TestSoakHookThatRefuses has a hook refuse every completion: a person is asked for, and
// nothing goes on for ever.
func TestSoakHookThatRefuses(t *testing.T) {
	c := newCrew(t)
	settings := `{"hooks":{"TaskCompleted":[{"hooks":[{"type":"command","command":"echo never >&2; exit 2"}]}]}}`
	if err := os.MkdirAll(c.claude(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.claude(), "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c.stop(syscall.SIGTERM)
	c.supervise() // hooks are read at the start
	c.must("member", "spawn", "ann")
	id := c.add("echo ran >> ran")
	c.until("it needs a person", func() bool {
		return slices.Contains(c.task(id).Flags, cadre.FlagPerson) && c.task(id).Status == cadre.Pending
	})
	c.until("ann is idle", func() bool { return c.member("ann").State == cadre.StateIdle })
	if !c.quiet() || len(c.noted("ran")) != cadre.DefaultAttempts {
		t.Errorf("it ran %d times", len(c.noted("ran")))
	}
	if r := c.run("task", "next", "--claim", "--as", "ben"); r.code != 3 {
		t.Errorf("somebody else may take it: %s", r)
	}
}

// TestSoakFlood has a member send as much as it can: it is stopped at the limit, and what
// was accepted is all there.
func TestSoakFlood(t *testing.T) {
	c := newCrew(t)
	c.must("member", "spawn", "ann")
	id := c.add(`ok=0; no=0; i=0; while [ $i -lt 340 ]; do i=$((i+1))
if ` + c.bin + ` msg send team-lead "news $i" -q >/dev/null 2>&1; then ok=$((ok+1)); else no=$((no+1)); fi; done; echo $ok $no > sent`)
	c.until("it is done", func() bool { return c.task(id).Status == cadre.Completed })
	sent := c.noted("sent")
	ok, err := strconv.Atoi(sent[0])
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	var first, last time.Time
	for _, e := range c.events() {
		if m, is := e.After.(*cadre.Message); is && e.Before == nil && m.From == "ann" && m.Kind == cadre.MessagePlain {
			if got++; first.IsZero() {
				first = m.SentAt
			}
			last = m.SentAt
		}
	}
	if got != ok || last.Sub(first) < time.Minute && got > 300 {
		t.Errorf("%d were accepted, %d are in the record, within %s", ok, got, last.Sub(first))
	}
	t.Logf("of 340 messages %s were accepted and %s refused, within %s", sent[0], sent[1], last.Sub(first).Round(time.Second))
}
