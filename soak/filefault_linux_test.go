package soak_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
)

var fileScenarios = []scenario{
	{
		name: "task add",
		prepare: [][]string{
			{"team", "create", "docs"},
			{"task", "add", "one", "--scope", "docs", "--as", "ann"},
			{"task", "add", "two", "--scope", "docs", "--as", "ben"},
		},
		command: []string{"task", "add", "three", "--blocked-by", "1,2", "--owner", "ann", "--scope", "docs", "--as", "cat"},
	},
	{
		name: "task done",
		prepare: [][]string{
			{"team", "create", "docs"},
			{"task", "add", "one", "--scope", "docs", "--as", "ann"},
			{"task", "add", "two", "--blocked-by", "1", "--owner", "ben", "--scope", "docs"},
		},
		command: []string{"task", "done", "1", "--scope", "docs", "--as", "ann"},
	},
	{
		name: "task rm",
		prepare: [][]string{
			{"task", "add", "one", "--scope", "docs"},
			{"task", "add", "two", "--blocked-by", "1", "--scope", "docs"},
		},
		command: []string{"task", "rm", "1", "--unblock", "--scope", "docs"},
	},
	{
		name: "msg send",
		prepare: [][]string{
			{"team", "create", "docs"},
			{"team", "join", "docs", "--name", "ann"},
			{"msg", "send", "ann", "first", "--scope", "docs"},
		},
		command: []string{"msg", "send", "ann", "second", "--scope", "docs"},
	},
	{
		name:    "team create",
		prepare: [][]string{{"task", "add", "elsewhere", "--scope", "other"}},
		command: []string{"team", "create", "docs"},
	},
	{
		name: "team delete",
		prepare: [][]string{
			{"team", "create", "docs"},
			{"team", "join", "docs", "--name", "ann"},
			{"task", "add", "one", "--scope", "docs"},
			{"task", "add", "two", "--blocked-by", "1", "--scope", "docs"},
		},
		command: []string{"team", "delete", "docs"},
	},
	{
		name:    "import",
		prepare: [][]string{{"task", "add", "one", "--scope", "docs"}},
		command: []string{"import", "plan.jsonl", "--scope", "docs"},
	},
}

// TestSoakFileFaults takes one command at a time and lets every system call fail
// that changes something in Claude Code's folder, or in what is remembered of it:
// by a kill, by an I/O error, for want of space. Whatever happens to the files: what
// was acknowledged is in the log, a durable command does not fail for them, the next
// one makes them say what the log says, nobody waits for a lock that was left
// behind, and somebody who reads without a lock finds whole JSON at every moment.
func TestSoakFileFaults(t *testing.T) {
	t.Parallel()
	for _, sc := range fileScenarios {
		t.Run(sc.name, func(t *testing.T) { injectFiles(t, sc) })
	}
}

func injectFiles(t *testing.T, sc scenario) {
	prepared := withFiles(t)
	lines := strings.Repeat(`{"subject":"one of many","blockedBy":["1"]}`+"\n", 50)
	if err := os.WriteFile(filepath.Join(prepared.home, "plan.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range sc.prepare {
		prepared.must(args...)
	}
	var points []point
	for _, p := range prepared.moved(filepath.Join(t.TempDir(), "whole")).faultPoints(sc.command) {
		if fileCall.MatchString(p.line) {
			points = append(points, p)
		}
	}
	step := max(1, len(points)/250) // of a long row of like writes some will do
	if !full() {
		step = max(1, len(points)/3)
	}
	var n fileTally
	injected := injectAll(t, points, step, func(home string, p point, fault string) bool {
		return prepared.moved(home).heal(sc, p, fault, &n)
	})
	t.Logf("%d system calls on files, %d faults of %d injected: %s", len(points), injected, len(points)*len(faults), n.String())
	// Some calls share their number with one of Go's own in another thread, and never
	// fail alone: of few that can be most.
	least := int64(1)
	if full() {
		least = int64(injected) / 2
	}
	if met := n.done.Load() + n.warned.Load() + n.failed.Load() + n.killed.Load(); met < least {
		t.Errorf("%d of %d faults never happened", int64(injected)-met, injected)
	}
}

// fileTally counts how commands ended that met a fault in the files.
type fileTally struct{ done, warned, failed, killed, reads, missed atomic.Int64 }

func (n *fileTally) String() string {
	return fmt.Sprintf("%d commands noticed nothing and the files were right at once, %d were done with a warning, %d got no id, %d were killed; %d readings of JSON files meanwhile; %d were tried again because the fault did not happen",
		n.done.Load(), n.warned.Load(), n.failed.Load(), n.killed.Load(), n.reads.Load(), n.missed.Load())
}

// tooLong is how long a command takes only when it waits for a lock to become old.
const tooLong = 5 * time.Second

// fileCall is a system call on Claude Code's files or on what is remembered of them.
var fileCall = regexp.MustCompile(`/claude/(tasks|teams)|/claude>|/state/claude`)

// hitFile says whether a fault happened to one file of Claude Code's folder, or to
// what is remembered of it, and to nothing else. Strace counts for each thread, so
// that a goroutine which moves may meet a fault elsewhere, or two.
func hitFile(trace string) bool {
	hit := 0
	for line := range strings.Lines(trace) {
		if strings.Contains(line, "(INJECTED)") {
			if hit++; !fileCall.MatchString(line) {
				return false
			}
		}
	}
	return hit == 1
}

// heal lets a command meet a fault in its files, and has the next one mend them. It
// says whether the fault happened.
func (m *machine) heal(sc scenario, p point, fault string, n *fileTally) bool {
	stop := m.watchJSON()
	r, trace := m.traced(fmt.Sprintf("%s:%s:when=%d", p.name, fault, p.nth), sc.command)
	where := fmt.Sprintf("%s with %s at call %d of %s (%.200s)\n%s", sc.name, fault, p.nth, p.name, p.line, r)
	if r.code != -1 && !hitFile(trace) {
		stop()
		n.missed.Add(1)
		return false
	}
	switch {
	case r.code == -1:
		n.killed.Add(1)
	case r.code == 1 && strings.Contains(r.err, "no task id could be reserved"):
		n.failed.Add(1)
	case r.code != 0:
		m.t.Errorf("a fault in the files fails a command: %s", where)
	case r.err != "":
		n.warned.Add(1)
	default:
		n.done.Add(1)
		if sc.name == "team delete" {
			break // an archived team has no files: that none are left is looked at below
		}
		if diff := m.differences("docs"); len(diff) > 0 {
			m.t.Errorf("no warning, and the files differ:\n%s\n%s", strings.Join(diff, "\n"), where)
		}
	}
	if r.took > tooLong {
		m.t.Errorf("takes too long: %s", where)
	}
	next := m.run("task", "add", "the next", "--scope", "docs")
	if next.code == 3 { // the team is gone
		next = m.run("team", "list", "--all")
		if !strings.Contains(next.out, "docs") {
			m.t.Errorf("the deleted team is not in the archive: %s\nafter %s", next, where)
		}
		if left, _ := filepath.Glob(m.claude("t*", "docs")); len(left) > 0 {
			m.t.Errorf("the team is deleted, and these are left: %v\nafter %s", left, where)
		}
		if back := m.run("team", "restore", "docs"); back.code != 0 {
			m.t.Errorf("the deleted team does not come back: %s\nafter %s", back, where)
			return true
		}
	}
	if next.code != 0 || next.took > tooLong || next.err != "" {
		m.t.Errorf("the next command: %s\nafter %s", next, where)
	}
	if diff := m.differences("docs"); len(diff) > 0 {
		m.t.Errorf("after the next command the files differ:\n%s\n%s\nafter %s", strings.Join(diff, "\n"), next, where)
	}
	for _, e := range ask[[]cadre.Event](m.logged(), "log", "--limit", "0", "--scope", "docs") {
		if e.Verb == "intake" {
			m.t.Errorf("nobody else wrote anything, and this was taken in: %d %s %s %+v\nafter %s", e.Seq, e.Actor, e.Object, e.After, where)
		}
	}
	if locks := m.locks(); len(locks) > 0 {
		m.t.Errorf("locks are left: %v\nafter %s", locks, where)
	}
	broken, reads := stop()
	if n.reads.Add(int64(reads)); len(broken) > 0 {
		m.t.Errorf("somebody read half a file: %s\nin %s", broken[0], where)
	}
	m.audited()
	return true
}
