//go:build unix

package soak_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSoakQueue stops a process that holds the lock in the middle of a commit.
// The others wait, readers do not, a waiting one can be interrupted, and when the
// holder goes on or is killed everybody gets their turn.
func TestSoakQueue(t *testing.T) {
	const lines, writers = 2000, 4
	rounds := count(t, "rounds with a stopped holder of the lock", 4, 50)
	m := newMachine(t)
	m.must("task", "add", "the first")
	plan := filepath.Join(m.home, "plan.jsonl")
	if err := os.WriteFile(plan, []byte(strings.Repeat(`{"subject":"one of many"}`+"\n", lines)), 0o600); err != nil {
		t.Fatal(err)
	}
	tally := map[string]int{}
	for n := range rounds {
		holder, list := m.stopHolder(plan, fmt.Sprintf("list-%d", n))
		waiting := m.startMany(writers, list)
		m.interrupted(list)
		m.must("task", "list", "--scope", list) // readers never wait
		for _, p := range waiting {
			if p.over() {
				t.Fatalf("a writer did not wait for the lock: %s", p.result())
			}
		}
		sig := syscall.SIGCONT
		if n%2 == 1 {
			sig = syscall.SIGKILL
		}
		freed := time.Now()
		holder.signal(sig)
		for _, p := range waiting {
			if r := p.result(); r.code != 0 {
				t.Errorf("a writer that had to wait: %s", r)
			}
		}
		took := time.Since(freed)
		r := holder.result()
		imported := len(m.tasks("--scope", list)) - writers
		switch {
		case imported != 0 && imported != lines:
			t.Errorf("%d of %d tasks of one command are there", imported, lines)
		case sig == syscall.SIGCONT && (r.code != 0 || imported != lines):
			t.Errorf("a holder that went on left %d tasks: %s", imported, r)
		case sig == syscall.SIGKILL && took > 5*time.Second:
			t.Errorf("the others waited %s for a lock whose holder was killed", took)
		}
		tally[fmt.Sprintf("%s: %d tasks", sig, imported)]++
	}
	m.audited()
	t.Logf("%v, %d writers waited and had their turn", tally, rounds*writers)
}

// process is a command that runs.
type process struct {
	m    *machine
	c    *exec.Cmd
	out  bytes.Buffer
	talk bytes.Buffer
	done chan struct{}
}

func (m *machine) start(args ...string) *process {
	m.t.Helper()
	p := &process{m: m, c: m.command(context.Background(), args...), done: make(chan struct{})}
	p.c.Stdout, p.c.Stderr = &p.out, &p.talk
	if err := p.c.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		_ = p.c.Wait() // the state says how it ended
		close(p.done)
	}()
	m.t.Cleanup(func() {
		_ = p.c.Process.Kill() // most have ended
		<-p.done
	})
	return p
}

func (m *machine) startMany(n int, list string) []*process {
	all := make([]*process, n)
	for i := range all {
		all[i] = m.start("task", "add", "had to wait", "--scope", list)
	}
	return all
}

func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) {
	p.m.t.Helper()
	if err := p.c.Process.Signal(s); err != nil {
		p.m.t.Error(err)
	}
}

// result waits for the end.
func (p *process) result() result {
	p.m.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.m.t.Fatalf("cadre %s hangs", strings.Join(p.c.Args[1:], " "))
	}
	return result{args: p.c.Args[1:], out: p.out.String(), err: p.talk.String(), code: p.c.ProcessState.ExitCode()}
}

// stopHolder starts an import into a new list and stops it while it holds the
// lock, however many attempts and lists that takes.
func (m *machine) stopHolder(plan, list string) (*process, string) {
	m.t.Helper()
	for try := range 100 {
		list := fmt.Sprint(list, "-", try)
		p := m.start("import", plan, "--scope", list)
		for !p.over() && !m.held() {
			time.Sleep(100 * time.Microsecond)
		}
		if !p.over() {
			p.signal(syscall.SIGSTOP)
			time.Sleep(5 * time.Millisecond) // until all of its threads stand still
			if m.held() {
				return p, list
			}
			p.signal(syscall.SIGKILL)
		}
		p.result()
	}
	m.t.Fatal("no process could be stopped while it held the lock")
	return nil, ""
}

// held says whether somebody has the lock now.
func (m *machine) held() bool {
	m.t.Helper()
	f, err := os.OpenFile(filepath.Join(m.state, "cadre.lock"), os.O_RDWR, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		m.t.Fatal(err)
	}
	return err != nil
}

// interrupted has a command wait for the lock and interrupts it.
func (m *machine) interrupted(list string) {
	m.t.Helper()
	p := m.start("task", "add", "interrupted", "--scope", list)
	time.Sleep(150 * time.Millisecond)
	if p.over() {
		m.t.Fatalf("a writer did not wait for the lock: %s", p.result())
	}
	began := time.Now()
	p.signal(syscall.SIGINT)
	if r := p.result(); r.code != 1 || !strings.Contains(r.err, "interrupted") || time.Since(began) > 2*time.Second {
		m.t.Errorf("a writer that was interrupted while it waited took %s: %s", time.Since(began), r)
	}
}
