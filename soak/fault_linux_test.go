package soak_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// faulty are the system calls that change something on the disk.
const faulty = "write,pwrite64,pwritev,pwritev2,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,ftruncate,truncate,unlink,unlinkat,link,linkat,fchmod,utimensat,openat"

// faults are what is done to one of them.
var faults = []string{"signal=KILL", "error=EIO", "error=ENOSPC"}

// TestSoakFaults takes one command at a time and lets every system call fail that
// changes something on the disk, once by a kill, once with an I/O error, once for
// want of space. Whatever happens: what was acknowledged is there, the command is
// there wholly or not at all, and the next one works at once.
func TestSoakFaults(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) { inject(t, sc) })
	}
}

func inject(t *testing.T, sc scenario) {
	prepared := sc.ready(t)
	before := prepared.picture("docs")
	whole := prepared.copyOf(filepath.Join(t.TempDir(), "whole"))
	points := whole.faultPoints(sc.command)
	after := whole.picture("docs")
	if before == after {
		t.Fatal("the command changes nothing")
	}
	step := max(1, len(points)/200) // of a long row of like writes some will do
	if !full() {
		step = max(8, len(points)/8)
	}
	var tally tally
	injected := injectAll(t, points, step, func(home string, p point, fault string) bool {
		return prepared.copyOf(home).survive(sc, p, fault, before, after, &tally)
	})
	t.Logf("%d system calls, %d faults of %d injected: %s", len(points), injected, len(points)*len(faults), tally.String())
	if met := tally.done.Load() + tally.failed.Load() + tally.killed.Load(); met < int64(injected*98/100) {
		t.Errorf("%d of %d faults never happened", int64(injected)-met, injected)
	}
}

// injectAll has every fault happen at some of the points, each in a folder of its
// own, and tries again where it did not. It gives how many those were.
func injectAll(t *testing.T, points []point, step int, happened func(home string, p point, fault string) bool) (injected int) {
	folder := t.TempDir()
	limit := make(chan struct{}, 4)
	var all sync.WaitGroup
	for _, fault := range faults {
		for i, p := range points {
			if (i+len(fault))%step != 0 {
				continue
			}
			injected++
			home := filepath.Join(folder, fmt.Sprint(injected))
			limit <- struct{}{}
			all.Go(func() {
				defer func() { <-limit }()
				for try := 0; try < 25 && !happened(home, p, fault); try++ {
					os.RemoveAll(home)
				}
				os.RemoveAll(home)
			})
		}
	}
	all.Wait()
	return injected
}

// tally counts how commands ended that met a fault.
type tally struct{ done, failed, killed, there, missed atomic.Int64 }

func (n *tally) String() string {
	return fmt.Sprintf("%d commands were done all the same, %d failed, %d were killed; of those that said nothing %d were there and whole; %d were tried again because the fault did not happen",
		n.done.Load(), n.failed.Load(), n.killed.Load(), n.there.Load(), n.missed.Load())
}

// point is one system call of a command.
type point struct {
	name string
	nth  int // of that name in its thread, which is how strace counts
	line string
}

var callLine = regexp.MustCompile(`^(\d+) +([a-z0-9_]+)\(`)

// unsaid is a message that met the fault itself, as the first call of another thread.
var unsaid = regexp.MustCompile(`(?m)^\d+ +write\(2<.*\(INJECTED\)`)

// faultPoints carries out a command and lists its system calls. Opening a file
// counts where it may create one.
func (m *machine) faultPoints(args []string) []point {
	m.t.Helper()
	r, trace := m.traced("", args)
	if r.code != 0 {
		m.t.Fatal(r)
	}
	var points []point
	seen := map[string]int{}
	for line := range strings.Lines(trace) {
		call := callLine.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		thread, name := call[1], call[2]
		seen[thread+name]++
		if name == "openat" && !strings.Contains(line, "O_CREAT") {
			continue
		}
		points = append(points, point{name, seen[thread+name], strings.TrimSpace(line)})
	}
	return points
}

// traced carries out a command under strace, with a fault if one is given, and
// gives what strace saw.
func (m *machine) traced(fault string, args []string) (result, string) {
	m.t.Helper()
	file := m.home + ".trace"
	defer os.Remove(file)
	by := []string{"strace", "-f", "-y", "-qq", "-o", file, "-e", "trace=" + faulty}
	if fault != "" {
		by = append(by, "-e", "inject="+fault)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := m.wrapped(ctx, by, args...)
	c.Env = append(c.Env, "GOMAXPROCS=1") // the fewer threads, the surer strace's count
	r := finish(c, args)
	if ctx.Err() != nil {
		m.t.Errorf("hangs with %s: %s", fault, r)
	}
	trace, err := os.ReadFile(file)
	if err != nil {
		m.t.Fatalf("strace left no trace: %v\n%s", err, r)
	}
	return r, string(trace)
}

// survive lets a command meet a fault and looks at what is left. It says whether
// the fault happened: from one run to the next a goroutine may move to another
// thread, where strace counts anew.
func (m *machine) survive(sc scenario, p point, fault, before, after string, n *tally) bool {
	r, trace := m.traced(fmt.Sprintf("%s:%s:when=%d", p.name, fault, p.nth), sc.command)
	where := fmt.Sprintf("%s with %s at call %d of %s (%.120s)\n%s", sc.name, fault, p.nth, p.name, p.line, r)
	if r.code != -1 && !strings.Contains(trace, "(INJECTED)") {
		n.missed.Add(1)
		return false
	}
	if r.took > 5*time.Second {
		m.t.Errorf("takes too long: %s", where)
	}
	said := r.code == 0 || r.code == -1 && strings.HasSuffix(r.out, "\n")
	switch {
	case r.code == 0:
		n.done.Add(1)
	case r.code == -1:
		n.killed.Add(1)
	default:
		n.failed.Add(1)
		told := strings.HasPrefix(r.err, "cadre: ") || unsaid.MatchString(trace)
		if r.code != 1 || !told {
			m.t.Errorf("a fault must be told with exit code 1: %s", where)
		}
	}
	next := m.run("task", "add", "somewhere else", "--scope", "probe")
	if next.code != 0 || next.took > 5*time.Second {
		m.t.Errorf("the next command: %s\nafter %s", next, where)
		return true
	}
	have := m.picture("docs")
	switch {
	case have != before && have != after:
		m.t.Errorf("neither whole nor nothing:\n%s\nbefore:\n%s\nafter:\n%s\n%s", have, before, after, where)
	case said && have != after:
		m.t.Errorf("acknowledged and lost: %s", where)
	case !said && have == after:
		n.there.Add(1)
	}
	m.must("task", "add", "here", "--scope", "docs")
	if log := m.must("log", "--limit", "0", "--scope", "docs"); strings.Count(log, "log.open") != 1 {
		m.t.Errorf("a fault made a new epoch:\n%s\n%s", log, where)
	}
	m.audited()
	return true
}
