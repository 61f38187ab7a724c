package soak_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
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
// while processes of a ninth are killed: at random moments, at once, and when the
// task is there but the answer could not be said. No id is given out twice, and none
// that a process printed is lost. Both kinds of silence must have been met: a run in
// which every kill fell on the same side of the commit says nothing about the other.
func TestSoakCreateAndKill(t *testing.T) {
	const writers = 8
	each := count(t, "tasks by each of 8 writers", 25, 250)
	kills := count(t, "kills of a ninth", 8, 50)
	m := newMachine(t)
	told := make([][]created, writers+1)
	var asked []silenced
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { told[w] = m.createMany(fmt.Sprintf("writer %d", w), each) })
	}
	all.Go(func() { told[writers], asked = m.createKilled(kills) })
	all.Wait()

	unsaid := map[string]silenced{}
	for _, s := range asked {
		unsaid[s.subject] = s
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
	there, random := 0, 0
	for id, v := range have {
		if _, ok := seen[id]; ok {
			continue
		}
		s, ok := unsaid[v.Subject]
		if !ok {
			t.Errorf("task %s (%q) was created by nobody", id, v.Subject)
		}
		if there++; s.at == atRandom {
			random++
		}
		delete(unsaid, v.Subject) // committed once at most
	}
	for subject, s := range unsaid {
		if s.at == whenThere {
			t.Errorf("%q was there when its process was killed, and is lost", subject)
		}
	}
	report := m.audited()
	t.Logf("%d processes created and were told so, %d were killed: %d before the commit, %d after it and before the answer (%d of those at a random moment); %d tasks, %d events, audit clean",
		acknowledged, kills, len(unsaid), there, random, len(have), report.Events)
	if len(unsaid) == 0 || there == 0 || len(unsaid)+there != len(asked) {
		t.Errorf("of %d processes that were killed and had said nothing %d had not committed and %d had: both must be met, and be all", len(asked), len(unsaid), there)
	}
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

// silenced is a task that a process was asked for, which was killed before it said
// anything.
type silenced struct {
	subject string
	at      killAt
}

// killAt is when a process is killed.
type killAt int

const (
	atRandom  killAt = iota // between its start and a little after the time that the one before took
	atOnce                  // in the first quarter of that time
	whenThere               // when the task is there and its answer finds no reader
	moments
)

// createKilled creates tasks, every other one in a process that is killed, until it
// killed so many. It gives what it was told, and what it asked for and was not told.
func (m *machine) createKilled(kills int) (told []created, asked []silenced) {
	told = m.createMany("the ninth, before", 1)
	for n, i := 0, 0; n < kills; i++ {
		whole := m.run("task", "add", fmt.Sprintf("the ninth, left alone %d", i))
		if whole.code != 0 {
			m.t.Errorf("creating while others do: %s", whole)
		} else {
			told = append(told, created{whole.id(), whole.args[2]})
		}
		when, args := killAt(i)%moments, []string{"task", "add", fmt.Sprintf("the ninth, killed %d", i)}
		var r result
		switch when {
		case atRandom:
			r = m.killed(rand.N(whole.took*5/4), args...)
		case atOnce:
			r = m.killed(rand.N(whole.took/4), args...)
		case whenThere:
			r = m.killedUnheard(args...)
		}
		switch {
		case strings.HasSuffix(r.out, "\n"):
			told = append(told, created{r.id(), args[2]})
		case r.code == -1:
			asked = append(asked, silenced{args[2], when})
		default:
			m.t.Errorf("creating under fire: %s", r)
		}
		if r.code == -1 {
			n++
		}
	}
	return told, asked
}

// killedUnheard starts a command that adds a task and whose answer finds no room in
// the pipe, and kills it when the task is there.
func (m *machine) killedUnheard(args ...string) result {
	reader, writer, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	if err := writer.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		m.t.Fatal(err)
	}
	for err == nil {
		_, err = writer.Write(make([]byte, 4096))
	}
	var talk bytes.Buffer
	c := m.command(context.Background(), args...)
	c.Stdout, c.Stderr = writer, &talk
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	there := func() bool {
		for _, v := range m.tasks() {
			if v.Subject == args[2] {
				return true
			}
		}
		return false
	}
	began := time.Now()
	for !there() && time.Since(began) < patience {
	}
	_ = c.Process.Kill() // the state says how it ended
	_ = c.Wait()
	r := result{args: args, err: talk.String(), code: c.ProcessState.ExitCode(), took: time.Since(began)}
	if r.took >= patience || r.code != -1 {
		m.t.Errorf("the task did not appear while its answer waited for a reader: %s", r)
	}
	return r
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
