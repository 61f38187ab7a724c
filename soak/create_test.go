package soak_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"cadre"
)

// created is an id that a process was told, and what it had asked for.
type created struct {
	id      cadre.TaskID
	subject string
}

// TestSoakCreateAndKill has 8 writers create tasks, each in a process of its own,
// while processes of a ninth are killed at random moments. No id is given out
// twice, and none that a process printed is lost.
func TestSoakCreateAndKill(t *testing.T) {
	const writers = 8
	each := count(t, "tasks by each of 8 writers", 25, 250)
	kills := count(t, "kills of a ninth", 8, 50)
	m := newMachine(t)
	told := make([][]created, writers+1)
	asked := make(chan string, kills)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { told[w] = m.createMany(fmt.Sprintf("writer %d", w), each) })
	}
	all.Go(func() { told[writers] = m.createKilled(kills, asked) })
	all.Wait()
	close(asked)

	subjects := map[string]bool{}
	for s := range asked {
		subjects[s] = true
	}
	have := m.tasks()
	seen := map[cadre.TaskID]string{}
	acknowledged := 0
	for _, list := range told {
		for _, c := range list {
			acknowledged++
			if other, twice := seen[c.id]; twice {
				t.Errorf("id %s was given to %q and to %q", c.id, other, c.subject)
			}
			seen[c.id] = c.subject
			if have[c.id].Subject != c.subject {
				t.Errorf("%q was told id %s, which is %q", c.subject, c.id, have[c.id].Subject)
			}
		}
	}
	silent := 0
	for id, v := range have {
		if _, ok := seen[id]; ok {
			continue
		}
		silent++
		if !subjects[v.Subject] {
			t.Errorf("task %s (%q) was created by nobody", id, v.Subject)
		}
		delete(subjects, v.Subject) // committed once at most
	}
	report := m.audited()
	t.Logf("%d processes created and were told so, %d were killed, of those %d after the commit; %d tasks, %d events, audit clean",
		acknowledged, kills, silent, len(have), report.Events)
}

// createMany creates tasks one after the other and gives what it was told.
func (m *machine) createMany(who string, n int) []created {
	var told []created
	for i := range n {
		subject := fmt.Sprintf("%s, task %d", who, i)
		r := m.run("task", "add", subject)
		if r.code != 0 {
			m.t.Errorf("creating while others do: %s", r)
			continue
		}
		told = append(told, created{r.id(), subject})
	}
	return told
}

// createKilled creates tasks, every other one in a process that is killed at a
// moment between its start and a little after the time that the one before took,
// until it killed so many. What it asked for and was not told goes to asked.
func (m *machine) createKilled(kills int, asked chan<- string) []created {
	told := m.createMany("the ninth, before", 1)
	for n, i := 0, 0; n < kills; i++ {
		whole := m.run("task", "add", fmt.Sprintf("the ninth, left alone %d", i))
		if whole.code != 0 {
			m.t.Errorf("creating while others do: %s", whole)
		} else {
			told = append(told, created{whole.id(), whole.args[2]})
		}
		subject := fmt.Sprintf("the ninth, killed %d", i)
		r := m.killed(time.Duration(rand.Int64N(int64(whole.took*5/4))), "task", "add", subject)
		switch {
		case strings.HasSuffix(r.out, "\n"):
			told = append(told, created{r.id(), subject})
		case r.code == -1:
			asked <- subject
		default:
			m.t.Errorf("creating under fire: %s", r)
		}
		if r.code == -1 {
			n++
		}
	}
	return told
}

// killed starts a command and kills it with SIGKILL after a time, if it still runs.
func (m *machine) killed(after time.Duration, args ...string) result {
	var out, talk bytes.Buffer
	c := m.command(context.Background(), args...)
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = c.Process.Kill() }) // it may have ended
	_ = c.Wait()                                                   // the state says how it ended
	kill.Stop()
	return result{args: args, out: out.String(), err: talk.String(), code: c.ProcessState.ExitCode(), took: after}
}
