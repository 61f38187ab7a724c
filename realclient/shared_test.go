//go:build realclient

package realclient

import (
	"fmt"
	"os"
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

// TestBothCreateAtOnce has the client and cadre create and change tasks in one list
// at the same time. Whatever either was told to have done is there for both, under
// the id that it was told.
func TestBothCreateAtOnce(t *testing.T) {
	const each = 30
	both(t, func(m *machine) {
		agent := m.model.talk("Do the work")
		end := m.headless(session, "Do the work", "CLAUDE_CODE_TASK_LIST_ID=shared")
		told := map[string]string{} // subject of each id that cadre or the client gave
		ours := make(chan map[string]string)
		go func() {
			ids := map[string]string{}
			defer func() { ours <- ids }()
			for i := range each {
				subject := fmt.Sprintf("ours %d", i)
				ids[m.cadre("task", "add", subject, "--scope", "shared")] = subject
			}
		}()
		refused := 0
		for i := range each {
			subject := fmt.Sprintf("theirs %d", i)
			answer := agent.use("TaskCreate", object{"subject": subject, "description": "none"})
			var id string
			if _, err := fmt.Sscanf(answer, "Task #%s created", &id); err != nil {
				refused++ // the old client does not wait for a lock
				continue
			}
			if told[id] != "" {
				m.Errorf("the client gave %s to %q and to %q", id, told[id], subject)
			}
			told[id] = subject
			agent.use("TaskUpdate", object{"taskId": id, "status": "completed"})
		}
		for id, subject := range <-ours {
			if told[id] != "" {
				m.Errorf("%s is %q for cadre and %q for the client", id, subject, told[id])
			}
			told[id] = subject
		}
		seen := agent.use("TaskList", object{})
		agent.say("done")
		end()
		m.Logf("the client was refused %d of %d tasks because of a lock", refused, each)
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
