package soak_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/internal/proc"
	"cadre/sqlitestore"
)

// The times of the supervisor in these tests.
const (
	crewLease     = 2 * time.Second
	crewHeartbeat = 500 * time.Millisecond
)

// crew is a team on a machine whose members run under a supervisor that is a process of
// its own. The test looks at the record by itself and acts through the program.
type crew struct {
	*machine
	*testing.T
	store *sqlitestore.Store
	up    *exec.Cmd
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	return crewOn(newMachine(t), t)
}

// crewOn is a crew on a machine that there is.
func crewOn(m *machine, t *testing.T) *crew {
	t.Helper()
	m.must("team", "create", "crew")
	store, err := sqlitestore.Open(m.state)
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{machine: m, T: t, store: store}
	t.Cleanup(func() {
		c.stop(syscall.SIGTERM)
		store.Close()
	})
	c.supervise()
	return c
}

// supervise starts the supervisor and waits until it is at work.
func (c *crew) supervise() {
	c.Helper()
	c.up = c.command(context.Background(), "up", "--lease", crewLease.String(), "--heartbeat", crewHeartbeat.String())
	c.up.Stderr = os.Stderr
	out, err := c.up.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	if err := c.up.Start(); err != nil {
		c.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		c.Fatalf("the supervisor ended at once: %v", err)
	}
}

// stop ends the supervisor.
func (c *crew) stop(with syscall.Signal) {
	if c.up != nil {
		_ = c.up.Process.Signal(with)
		_ = c.up.Wait() // how it ends is not the question
		c.up = nil
	}
}

func (c *crew) view(look func(cadre.Snap) error) {
	c.Helper()
	if err := c.store.View(context.Background(), "crew", look); err != nil {
		c.Fatal(err)
	}
}

func (c *crew) member(name string) (m *cadre.Member) {
	c.Helper()
	c.view(func(s cadre.Snap) (err error) { m, err = s.Member(name); return err })
	return m
}

func (c *crew) task(id cadre.TaskID) (t *cadre.Task) {
	c.Helper()
	c.view(func(s cadre.Snap) (err error) { t, err = s.Task(id); return err })
	return t
}

// until waits for something that must happen.
func (c *crew) until(what string, so func() bool) {
	c.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("waited in vain until %s; %d processes run\n%s\n%s\n%s", what, len(c.running()), c.must("member", "list"), c.must("task", "list"), c.must("log", "--limit", "30"))
		}
	}
}

// add adds a task that notes each time that it is run.
func (c *crew) add(run string) cadre.TaskID {
	c.Helper()
	return cadre.TaskID(c.must("task", "add", "work", "--run", run))
}

// events is the whole log.
func (c *crew) events() (all []cadre.Event) {
	c.Helper()
	for e, err := range c.store.Events(context.Background(), "crew", cadre.Head{}, false) {
		if err != nil {
			c.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// running are the processes of this machine, the supervisor left out.
func (c *crew) running() (names []string) {
	for _, id := range proc.Marked("HOME=" + c.home) {
		if c.up == nil || id.PID != c.up.Process.Pid {
			names = append(names, id.String())
		}
	}
	return names
}

// noted is what commands wrote to a file.
func (c *crew) noted(name string) []string {
	data, err := os.ReadFile(filepath.Join(c.home, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

// findings holds a record against what must be so of a crew, however often who died.
// deaths says how often each member was killed.
func findings(events []cadre.Event, deaths map[string]int) (out []string) {
	done, died := map[cadre.TaskID]int{}, map[string]int{}
	open, mail := map[cadre.TaskID]bool{}, map[cadre.MessageID]*cadre.Message{}
	for _, e := range events {
		switch o := e.After.(type) {
		case *cadre.Task:
			before, _ := e.Before.(*cadre.Task)
			if open[o.ID] = o.Status != cadre.Completed; o.Status == cadre.Completed && (before == nil || before.Status != cadre.Completed) {
				done[o.ID]++
			}
		case *cadre.Message:
			mail[o.ID] = o
			if who, _, ok := strings.Cut(o.Text, " died: "); ok && e.Before == nil && o.To == cadre.LeadName {
				died[who]++
			}
		}
	}
	for id, is := range open {
		if is || done[id] != 1 {
			out = append(out, fmt.Sprintf("task %s was completed %d times, and is open: %t", id, done[id], is))
		}
	}
	for name, n := range deaths {
		if died[name] != n {
			out = append(out, fmt.Sprintf("%s died %d times, and the lead was told %d times", name, n, died[name]))
		}
	}
	for id, m := range mail {
		if m.To != cadre.LeadName && m.Kind == cadre.MessagePlain && m.DeliveredAt == nil {
			out = append(out, fmt.Sprintf("message %s to %s was never delivered", id, m.To))
		}
	}
	slices.Sort(out)
	return out
}

// TestFindings shows that each of them can be found.
func TestFindings(t *testing.T) {
	now := time.Now()
	good := []cadre.Event{
		{After: &cadre.Task{ID: "1", Status: cadre.Pending}},
		{Before: &cadre.Task{ID: "1", Status: cadre.Pending}, After: &cadre.Task{ID: "1", Status: cadre.Completed}},
		{After: &cadre.Message{ID: "m1", To: cadre.LeadName, Text: "ann died: of a signal"}},
		{After: &cadre.Message{ID: "m2", To: "ann", Kind: cadre.MessagePlain}},
		{After: &cadre.Message{ID: "m2", To: "ann", Kind: cadre.MessagePlain, DeliveredAt: &now}},
	}
	deaths := map[string]int{"ann": 1}
	if got := findings(good, deaths); len(got) != 0 {
		t.Errorf("of a good record: %v", got)
	}
	for name, bad := range map[string][]cadre.Event{
		"never done":      good[:1],
		"done twice":      append(slices.Clone(good), cadre.Event{Before: &cadre.Task{ID: "1", Status: cadre.Pending}, After: &cadre.Task{ID: "1", Status: cadre.Completed}}),
		"told twice":      append(slices.Clone(good), good[2]),
		"not told":        good[:2],
		"mail is lost":    good[:4],
		"open in the end": append(slices.Clone(good), cadre.Event{Before: &cadre.Task{ID: "1", Status: cadre.Completed}, After: &cadre.Task{ID: "1", Status: cadre.Pending}}),
	} {
		if got := findings(bad, deaths); len(got) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}

// span is the middle and the largest of some times.
func span(times []time.Duration) string {
	if len(times) == 0 {
		return "never"
	}
	slices.Sort(times)
	return fmt.Sprintf("%s in the middle and %s at most", times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
}

// TestSoakMembersKilled kills members at random moments, again and again.
func TestSoakMembersKilled(t *testing.T) {
	rounds := count(t, "members killed", 5, 100)
	c := newCrew(t)
	names := []string{"ann", "ben", "cat", "dan"}
	for _, name := range names {
		c.must("member", "spawn", name)
	}
	deaths := map[string]int{}
	var noticed, again []time.Duration
	for round := range rounds {
		for range 2 {
			c.add(`echo "$CADRE_TASK" >> ran; (setsid sleep 1000 &); sleep 0.` + fmt.Sprint(1+rand.IntN(4)))
		}
		for range 2 { // more would be refused: all of it comes from one sender
			c.must("msg", "send", names[rand.IntN(len(names))], fmt.Sprint("round ", round, ": ", rand.Uint64()))
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		victim := c.victim(names)
		process, held := *c.member(victim).Process, c.held(victim)
		killed := time.Now()
		if err := syscall.Kill(process.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		deaths[victim]++
		c.until(victim+" is dead", func() bool { return c.member(victim).State == cadre.StateDead })
		noticed = append(noticed, c.member(victim).Since.Sub(killed))
		if held != "" && c.task(held).Owner != victim {
			again = append(again, time.Since(killed))
		}
		if held != "" && c.task(held).Owner == victim && c.task(held).Status == cadre.InProgress {
			t.Errorf("%s is dead and still holds task %s", victim, held)
		}
		c.must("member", "resume", victim)
	}
	c.until("everything is done", func() bool { return c.open() == 0 })
	c.until("everything is delivered", func() bool { return len(findings(c.events(), deaths)) == 0 || c.quiet() })
	for _, f := range findings(c.events(), deaths) {
		t.Error(f)
	}
	c.stop(syscall.SIGTERM)
	if left := c.running(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	c.audited()
	t.Logf("%d deaths noticed after %s (a heartbeat is %s, a lease %s); %d of the dead worked, their tasks were pending again after %s; %d runs of %d tasks",
		rounds, span(noticed), crewHeartbeat, crewLease, len(again), span(again), len(c.noted("ran")), 2*rounds)
}

// victim is a random member, but none whose task was lost twice: a third time it would
// need a person.
func (c *crew) victim(names []string) string {
	for _, i := range rand.Perm(len(names)) {
		m := c.member(names[i])
		if held := c.held(m.Name); m.Process != nil && (held == "" || c.task(held).Attempts < cadre.DefaultAttempts-1) {
			return m.Name
		}
	}
	c.Fatal("nobody can be killed")
	return ""
}

// held is what a member works on.
func (c *crew) held(name string) (id cadre.TaskID) {
	c.view(func(s cadre.Snap) error {
		for t, err := range s.Tasks(cadre.TaskQuery{Index: cadre.IndexOwner, Key: name}) {
			if err != nil {
				return err
			}
			if t.Status == cadre.InProgress {
				id = t.ID
			}
		}
		return nil
	})
	return id
}

// open counts the tasks that are not done.
func (c *crew) open() (n int) {
	c.view(func(s cadre.Snap) error {
		for _, st := range []cadre.Status{cadre.Pending, cadre.InProgress} {
			for _, err := range s.Tasks(cadre.TaskQuery{Index: cadre.IndexStatus, Key: string(st)}) {
				if err != nil {
					return err
				}
				n++
			}
		}
		return nil
	})
	return n
}

// quiet says whether nothing was written for a while.
func (c *crew) quiet() bool {
	head := func() (seq cadre.Seq) {
		c.view(func(s cadre.Snap) error { seq = s.Head().Seq; return nil })
		return seq
	}
	before := head()
	time.Sleep(2 * crewHeartbeat)
	return head() == before
}

// TestSoakSupervisorKilled kills the supervisor at random moments and starts another.
func TestSoakSupervisorKilled(t *testing.T) {
	rounds := count(t, "supervisors killed", 3, 50)
	c := newCrew(t)
	names := []string{"ann", "ben", "cat"}
	for _, name := range names {
		c.must("member", "spawn", name)
	}
	for round := range rounds {
		for range 3 {
			c.add(`echo "$CADRE_TASK" >> ran; (setsid sleep 1000 &); sleep 0.` + fmt.Sprint(1+rand.IntN(3)))
		}
		c.must("msg", "send", names[round%3], fmt.Sprint("round ", round))
		time.Sleep(rand.N(500 * time.Millisecond))
		c.stop(syscall.SIGKILL)
		c.supervise()
		for _, name := range names {
			c.until(name+" runs again", func() bool { m := c.member(name); return m.Process != nil && proc.ID(*m.Process).Alive() })
		}
	}
	c.until("everything is done", func() bool { return c.open() == 0 })
	c.until("everything is delivered", func() bool { return len(findings(c.events(), nil)) == 0 || c.quiet() })
	for _, f := range findings(c.events(), nil) {
		t.Error(f)
	}
	for id := range 3 * rounds {
		if got := c.task(cadre.TaskID(fmt.Sprint(id + 1))); got.Attempts != 0 {
			t.Errorf("task %s: %d attempts, and no member failed", got.ID, got.Attempts)
		}
	}
	c.stop(syscall.SIGTERM)
	if left := c.running(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	c.audited()
	t.Logf("%d runs of %d tasks", len(c.noted("ran")), 3*rounds)
}
