//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"cadre"
)

// BenchmarkMemory is a process that has read a long log and goes on following it.
func BenchmarkMemory(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("only Linux says how much memory another process has")
	}
	h := newHome(b, "memory")
	events := fillLog(b, h)
	cmd := h.command(world.cadre, "watch", "--scope", string(scope), "--since", "0", "--jsonl")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer stop(cmd)
	r := bufio.NewReaderSize(out, 1<<20)
	began := time.Now()
	for range events {
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(began)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	const limit = 150
	world.report.compare("memory after following 100,000 events", field(b, status, "VmRSS:"), "MB", "150 MB", limit, atMost(1))
	world.report.compare("most memory meanwhile", field(b, status, "VmHWM:"), "MB", "150 MB", limit, atMost(1))
	world.report.compare("events followed", float64(events)/took.Seconds(), "/s", "100,000 a second", 100_000, nil)
}

func field(b *testing.B, status []byte, name string) float64 {
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, name); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb / 1024
		}
	}
	b.Fatal("no " + name)
	return 0
}

// fillLog writes 200 members, 10,000 tasks, and changes of them up to 100,000
// events.
func fillLog(b *testing.B, h home) int {
	const members, tasks, total = 200, 10_000, 100_000
	c := newCaller(openStore(b, h.state()), "filler")
	now := c.clock.now().Wall
	current := make([]*cadre.Task, tasks)
	written := 1 // the mark that a log begins with
	var events []cadre.Event
	put := func(e cadre.Event) {
		events = append(events, e)
		if written++; len(events) == 2000 || written == total {
			c.put(b, events)
			events = events[:0]
		}
	}
	for i := range members {
		put(cadre.Event{After: &cadre.Member{
			Name: fmt.Sprint("member-", i), Role: cadre.RoleTeammate, Backend: cadre.BackendHand, N: uint64(i + 1), JoinedAt: now, State: cadre.StateIdle, Since: now,
		}})
	}
	for n := 0; written < total; n++ {
		old := current[n%tasks]
		next := &cadre.Task{
			ID: cadre.TaskID(strconv.Itoa(n%tasks + 1)), Subject: fmt.Sprint("task number ", n%tasks), Description: "what is to be done, in a few words",
			Status: cadre.Pending, Version: uint64(n/tasks + 1), Priority: n / tasks, CreatedAt: now, UpdatedAt: now, Author: "filler",
		}
		current[n%tasks] = next
		e := cadre.Event{After: next}
		if old != nil {
			e.Before = old
		}
		put(e)
	}
	return written
}
