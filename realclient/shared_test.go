//go:build realclient

package realclient

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFinishedListIsKept has a session in a terminal complete the last task of its
// list. The client then deletes every file of the list; the work stays on record,
// and the ids go on.
func TestFinishedListIsKept(t *testing.T) {
	both(t, func(m *machine) {
		m.used()
		agent := m.model.talk("Do the work")
		c := m.interactive("--session-id", session, "Do the work")
		agent.use("TaskCreate", object{"subject": "Outline", "description": "one page"})
		agent.say("There is one task.")
		m.eventually("the client shows the task", func() bool { return strings.Contains(c.screen(), "Outline") })
		list := m.ownList()
		want(m, "cadre's list", m.tasks(list), "1 pending ready Outline")
		c.typed("Go on")
		agent.use("TaskUpdate", object{"taskId": "1", "status": "completed"})
		want(m, "cadre's list when it is done", m.tasks(list), "1 completed done Outline")
		agent.say("done")
		m.eventually("the client clears the list", func() bool {
			_, err := os.Stat(m.path("claude", "tasks", list, "1.json"))
			return os.IsNotExist(err)
		})
		want(m, "cadre's list when the client has cleared it", m.tasks(list), "1 completed done Outline")
		want(m, "the next id", m.cadre("task", "add", "Chapters", "--scope", list), "2")
		if _, err := os.Stat(m.path("claude", "tasks", list, "1.json")); err == nil {
			m.Error("cadre put a file back that the client had cleared")
		}
		m.cadre("audit", "verify")
	})
}

// TestWatchFollowsTheClient has nobody but `cadre watch` look on while a session
// works: it tells of each change without being asked, and records it.
func TestWatchFollowsTheClient(t *testing.T) {
	both(t, func(m *machine) {
		m.used()
		lines := m.watch("shared")
		agent := m.model.talk("Do the work")
		end := m.headless(session, "Do the work", "CLAUDE_CODE_TASK_LIST_ID=shared")
		tells := func(what string) {
			m.Helper()
			m.eventually("watch tells of "+what, func() bool { return strings.Contains(lines(), what) })
		}
		agent.use("TaskCreate", object{"subject": "Outline", "description": "one page"})
		tells(`"subject":"Outline"`)
		agent.use("TaskUpdate", object{"taskId": "1", "status": "in_progress"})
		tells(`"status":"in_progress"`)
		agent.use("TaskUpdate", object{"taskId": "1", "status": "completed"})
		tells(`"status":"completed"`)
		agent.say("done")
		end()
		want(m, "the history", strings.Join(m.taskLog("shared"), "\n"),
			"session: 1 subject=Outline status=pending\nsession: 1 status=in_progress\nsession: 1 status=completed")
	})
}

// watch starts `cadre watch` and gives what it has told so far.
func (m *machine) watch(list string) (lines func() string) {
	m.Helper()
	path := m.path("watch.jsonl")
	out, err := os.Create(path)
	if err != nil {
		m.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, cadre, "watch", "--jsonl", "--scope", list)
	c.Dir, c.Env, c.Stdout, c.Stderr = m.path("work"), m.environ(), out, out
	if err := c.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		cancel()
		c.Wait()
	})
	return func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			m.Fatal(err)
		}
		return string(text)
	}
}

// meanwhile does something again and again, numbered from 1, until the function it
// gives is called, which tells how often it was done.
func (m *machine) meanwhile(do func(i int)) (end func() int) {
	stop, done := make(chan struct{}), make(chan int, 1)
	go func() {
		i := 0
		defer func() { done <- i }()
		for {
			select {
			case <-stop:
				return
			default:
				i++
				do(i)
			}
		}
	}()
	return func() int {
		close(stop)
		return <-done
	}
}

// TestBothCreateAtOnce has the client and cadre create and change tasks in one list
// at the same time. Whatever either was told to have done is there for both, under
// the id that it was told.
func TestBothCreateAtOnce(t *testing.T) {
	const each = 30
	both(t, func(m *machine) {
		agent := m.model.talk("Do the work")
		end := m.headless(session, "Do the work", "CLAUDE_CODE_TASK_LIST_ID=shared")
		agent.need()                // the client is there
		told := map[string]string{} // subject of each id that cadre or the client gave
		ours := map[string]string{}
		count := m.meanwhile(func(i int) {
			subject := fmt.Sprintf("ours %d", i)
			ours[m.cadre("task", "add", subject, "--scope", "shared")] = subject
		})
		refused := 0
		for i := range each {
			subject := fmt.Sprintf("theirs %d", i)
			answer := agent.use("TaskCreate", object{"subject": subject, "description": "none"})
			var id string
			if _, err := fmt.Sscanf(answer, "Task #%s created", &id); err != nil {
				has(m, "a refusal", []string{answer}, "Lock file is already being held") // the old client does not wait for one
				refused++
				continue
			}
			if told[id] != "" {
				m.Errorf("the client gave %s to %q and to %q", id, told[id], subject)
			}
			told[id] = subject
			agent.use("TaskUpdate", object{"taskId": id, "status": "completed"})
		}
		m.Logf("cadre created %d tasks, the client %d of %d; the others were refused because of a lock", count(), each-refused, each)
		for id, subject := range ours {
			if told[id] != "" {
				m.Errorf("%s is %q for cadre and %q for the client", id, subject, told[id])
			}
			told[id] = subject
		}
		seen := agent.use("TaskList", object{})
		agent.say("done")
		end()
		for _, l := range get[[]task](m, "task", "list", "--scope", "shared") {
			status := "pending"
			if strings.HasPrefix(l.Subject, "theirs") {
				status = "completed"
			}
			if told[l.ID] != l.Subject || l.Status != status {
				m.Errorf("cadre has %s %q, %s; it is %q, %s", l.ID, l.Subject, l.Status, told[l.ID], status)
			}
			if line := fmt.Sprintf("#%s [%s] %s", l.ID, status, l.Subject); !strings.Contains(seen+"\n", line+"\n") {
				m.Errorf("the client does not see %q", line)
			}
			delete(told, l.ID)
		}
		if len(told) > 0 {
			m.Errorf("cadre has lost %v", told)
		}
		m.cadre("audit", "verify")
	})
}

// TestBothChangeOneTask has the client and cadre change different fields of one task
// at the same time, again and again. The client writes whole files that it read
// before; nothing old must come back that way.
func TestBothChangeOneTask(t *testing.T) {
	const each = 30
	both(t, func(m *machine) {
		m.cadre("task", "add", "Outline", "-d", "one page", "--scope", "shared")
		agent := m.model.talk("Do the work")
		end := m.headless(session, "Do the work", "CLAUDE_CODE_TASK_LIST_ID=shared")
		agent.need() // the client is there
		count := m.meanwhile(func(i int) {
			m.cadre("task", "update", "1", "--subject", fmt.Sprintf("ours %d", i), "--scope", "shared")
		})
		for i := range each {
			want(m, "the tool's answer", agent.use("TaskUpdate", object{"taskId": "1", "description": fmt.Sprintf("theirs %d", i+1)}), "Updated task #1 description")
		}
		ours := count()
		m.Logf("cadre changed the task %d times, the client %d times", ours, each)
		seen := agent.use("TaskGet", object{"taskId": "1"})
		agent.say("done")
		end()
		want(m, "the client's task", seen, fmt.Sprintf("Task #1: ours %d\nStatus: pending\nDescription: theirs %d", ours, each))
		one := get[task](m, "task", "show", "1", "--scope", "shared")
		want(m, "cadre's task", one.Subject+", "+one.Description, fmt.Sprintf("ours %d, theirs %d", ours, each))
		m.cadre("audit", "verify")
	})
}
