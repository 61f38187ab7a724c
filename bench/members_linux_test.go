package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/internal/bootclock"
)

// crew is a team of shell members under a supervisor that is a process of its own.
type crew struct {
	store cadre.Store
	home  home
	up    *exec.Cmd
	dir   string // where the output of its members goes
}

func newCrew(b *testing.B, members int, mode cadre.WorkMode) *crew {
	b.Helper()
	h := newHome(b, "crew")
	h.run(b, world.cadre, "team", "create", "crew")
	h.run(b, world.cadre, "team", "mode", string(mode))
	c := &crew{store: openStore(b, h.state()), home: h, dir: filepath.Join(h.state(), "supervisors", "crew")}
	c.up = h.command(world.cadre, "up")
	c.up.Stderr = os.Stderr
	out, err := c.up.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.up.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stop(c.up) })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	for i := range members {
		c.do(b, "member spawn", &cadre.MemberSpawn{Name: fmt.Sprintf("m%d", i), Backend: cadre.BackendShell, Folder: h.dir})
	}
	c.until(b, func(s cadre.Snap) bool {
		for m, err := range s.Members() {
			if err != nil || m.Role != cadre.RoleLead && m.State != cadre.StateIdle {
				return false
			}
		}
		return true
	})
	return c
}

// do commits one change of the operator's.
func (c *crew) do(b *testing.B, verb string, v cadre.Change) {
	b.Helper()
	up := bootclock.Now()
	cmd := cadre.Command{
		ID: cadre.CommandID(fmt.Sprintf("%s%d", cadre.DrawnMark, rand.Uint64())), Door: "bench", Verb: verb, Now: cadre.Time{Wall: time.Now(), Boot: up.Boot, Up: up.Up},
		Actor: cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofOwner},
	}
	if _, err := c.store.Update(context.Background(), "crew", cmd, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, cmd) }); err != nil {
		b.Fatal(err)
	}
}

func (c *crew) view(b *testing.B, look func(cadre.Snap) error) {
	b.Helper()
	if err := c.store.View(context.Background(), "crew", look); err != nil {
		b.Fatal(err)
	}
}

// until waits until something is so in the record.
func (c *crew) until(b *testing.B, so func(cadre.Snap) bool) {
	b.Helper()
	for met := false; !met; time.Sleep(5 * time.Millisecond) {
		c.view(b, func(s cadre.Snap) error {
			met = so(s)
			return nil
		})
	}
}

// carry has the crew do so many tasks, and gives how long that took from the moment in
// which they were there, as the record says. Each was to be run once.
func (c *crew) carry(b *testing.B, tasks int, run string) time.Duration {
	b.Helper()
	before := c.done(b)
	plan := &cadre.TaskImport{}
	for i := range tasks {
		plan.Lines = append(plan.Lines, cadre.ImportLine{Subject: fmt.Sprint("task ", i), Run: run})
	}
	c.do(b, "import", plan)
	c.untilDone(b, before+tasks)
	var first, last time.Time
	c.view(b, func(s cadre.Snap) error {
		for t, err := range s.Tasks(cadre.TaskQuery{Index: cadre.IndexStatus, Key: string(cadre.Completed)}) {
			if err != nil {
				return err
			}
			if n, _ := strconv.Atoi(string(t.ID)); n <= before {
				continue
			}
			if first.IsZero() || t.CreatedAt.Before(first) {
				first = t.CreatedAt
			}
			if t.CompletedAt.After(last) {
				last = *t.CompletedAt
			}
			if t.Attempts != 0 {
				b.Errorf("task %s was tried %d times", t.ID, t.Attempts)
			}
		}
		return nil
	})
	return last.Sub(first)
}

// done counts what is completed.
func (c *crew) done(b *testing.B) (n int) {
	b.Helper()
	c.view(b, func(s cadre.Snap) (err error) {
		n, err = s.Count(cadre.IndexStatus, string(cadre.Completed)+"\x00")
		return err
	})
	return n
}

func (c *crew) untilDone(b *testing.B, n int) {
	b.Helper()
	for c.done(b) < n {
		time.Sleep(5 * time.Millisecond)
	}
}

// memory is what the supervisor, and what all its members together, have of the
// machine's memory, in MB. What processes share is counted once.
func (c *crew) memory(b *testing.B) (supervisor, members float64) {
	b.Helper()
	share := func(pid string) float64 {
		data, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil {
			return 0 // it ended
		}
		return field(b, data, "Pss:")
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.up.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	var children []byte
	for _, thread := range threads { // each thread has those that it started
		more, _ := os.ReadFile(thread)
		children = append(children, more...)
	}
	for _, pid := range strings.Fields(string(children)) {
		members += share(pid)
	}
	return share(strconv.Itoa(c.up.Process.Pid)), members
}

// once looks whether every task ran once.
func (c *crew) once(b *testing.B, tasks int) {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(c.home.dir, "ran"))
	if err != nil {
		b.Fatal(err)
	}
	ran := strings.Fields(string(data))
	slices.Sort(ran)
	if len(ran) != tasks || len(slices.Compact(ran)) != tasks {
		b.Errorf("%d runs of %d tasks", len(ran), tasks)
	}
}

// BenchmarkMembers has more and more members carry the same number of tasks.
func BenchmarkMembers(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	tasks := 5000
	if n, err := strconv.Atoi(os.Getenv("CADRE_BENCH_CREW")); err == nil {
		tasks = n
	}
	for _, members := range []int{10, 50, 200} {
		c := newCrew(b, members, cadre.ModeSelfClaim)
		took := c.carry(b, tasks, `echo "$CADRE_TASK" >> ran`)
		c.once(b, tasks)
		supervisor, all := c.memory(b)
		stop(c.up)
		other := xargs(b, c.home, members, tasks, `echo "$0" >> ran`)
		name := fmt.Sprintf("%d tasks by %d members", tasks, members)
		world.report.times(name, took, "xargs -P", other, nil)
		world.report.compare(name+", memory of the supervisor", supervisor, "MB", "150 MB", 150, atMost(1))
		world.report.compare(name+", memory of a member", all/float64(members), "MB", "5 MB", 5, nil)
	}
}

// xargs has xargs run a command so often, and gives how long that took.
func xargs(b *testing.B, h home, jobs, tasks int, run string) time.Duration {
	b.Helper()
	cmd := h.command("xargs", "-P", strconv.Itoa(jobs), "-n", "1", "sh", "-c", run)
	var in bytes.Buffer
	for i := range tasks {
		fmt.Fprintln(&in, i)
	}
	cmd.Stdin = &in
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("xargs: %v\n%s", err, out)
	}
	return time.Since(began)
}

// BenchmarkShortTasks compares tasks of 50 ms with xargs, in turn.
func BenchmarkShortTasks(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	const jobs, tasks = 10, 400
	for _, mode := range []cadre.WorkMode{cadre.ModeSelfClaim, cadre.ModeDispatch} {
		c := newCrew(b, jobs, mode)
		var ours, theirs samples
		for round := range max(3, rounds(0)/8) {
			took := c.carry(b, tasks, "sleep 0.05")
			other := xargs(b, c.home, jobs, tasks, "sleep 0.05")
			if round > 0 {
				ours, theirs = append(ours, took), append(theirs, other)
			}
		}
		stop(c.up)
		world.report.times(fmt.Sprintf("%d tasks of 50 ms by %d members, %s", tasks, jobs, mode), ours.median(), "xargs -P", theirs.median(), atMost(1.15))
	}
}

// BenchmarkDispatch is how long it takes from the moment in which a task is ready until
// a member works on it, with 50 members that wait.
func BenchmarkDispatch(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	const members = 50
	for _, mode := range []cadre.WorkMode{cadre.ModeSelfClaim, cadre.ModeDispatch} {
		c := newCrew(b, members, mode)
		var started, begun samples
		for n := range max(20, 5*rounds(0)) {
			began := time.Now() // its own commit counts too
			c.do(b, "task add", &cadre.TaskAdd{Subject: "one", Run: "echo begun"})
			c.untilDone(b, n+1)
			t := c.task(b, n+1)
			started = append(started, max(0, t.StartedAt.Sub(began)))
			info, err := os.Stat(filepath.Join(c.dir, t.Owner, fmt.Sprintf("%s-%d.log", t.ID, t.Fence)))
			if err != nil {
				b.Fatal(err)
			}
			begun = append(begun, max(0, info.ModTime().Sub(began)))
		}
		stop(c.up)
		const limit = 50 * time.Millisecond
		name := fmt.Sprintf("a task is ready until it is claimed, %d members, %s", members, mode)
		world.report.times(name+", p50", started.median(), "50 ms", limit, nil)
		world.report.times(name+", p99", started.at(0.99), "50 ms", limit, atMost(1))
		world.report.times(name+" and its command begins, p99", begun.at(0.99), "50 ms", limit, atMost(1))
	}
}

func (c *crew) task(b *testing.B, n int) (t *cadre.Task) {
	b.Helper()
	c.view(b, func(s cadre.Snap) (err error) {
		t, err = s.Task(cadre.TaskID(strconv.Itoa(n)))
		return err
	})
	return t
}
