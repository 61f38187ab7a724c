//go:build unix

package soak_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cadre"
)

// TestSoakLockOverlap has processes of Node read under a lock and stand still for longer
// than a lock counts, which is the overlap that their lock allows: commands of ours take
// the locks over and write, and then the processes go on and write what they made of
// what they had read. Both changes of a task must be there afterwards, and all mail, in
// the log and in the files. What both made under one number is one task: it has Node's
// words, and the lead is told whose those were.
func TestSoakLockOverlap(t *testing.T) {
	t.Parallel()
	rounds := count(t, "overlaps that Node causes, of each kind", 1, 4)
	m := withFiles(t)
	m.must("team", "create", "docs")
	m.must("team", "join", "docs", "--name", "bob")
	for range rounds {
		id := m.must("task", "add", "one", "-d", "old words")
		m.must("msg", "send", "bob", "before")
		ways := []*stopped{
			stoppedInside(t, "task", m.claude("tasks", "docs", id+".json"), ""),
			stoppedInside(t, "inbox", m.claude("teams", "docs", "inboxes", "bob.json"), "from Node, after "+id),
			stoppedInside(t, "list", m.claude("tasks", "docs", ".lock"), "from Node"),
		}
		began := time.Now()
		m.must("msg", "send", "bob", "ours, after "+id)
		both := m.must("task", "add", "ours")
		m.must("task", "update", id, "-d", "new words", "--labels", "late") // last: an old value that comes back after 2 s is taken for a wish
		waited := time.Since(began)
		for _, node := range ways {
			t.Logf("Node, which had read the %s, went on after %s and says that its lock was %s", node.what, waited.Round(time.Millisecond), node.goOn())
		}
		v := m.tasks()[cadre.TaskID(id)]
		if v.Owner != "bob" || v.Status != cadre.InProgress {
			t.Errorf("what Node wrote to the task is not there: %+v", v)
		}
		if v.Description != "new words" || len(v.Labels) != 1 {
			t.Errorf("what our command wrote to the task is not there: %+v", v)
		}
		unread := map[string]bool{}
		for _, mail := range ask[[]cadre.MessageView](m, "msg", "inbox", "bob") {
			unread[mail.Text] = true
		}
		for _, text := range []string{"before", "from Node, after " + id, "ours, after " + id} {
			if !unread[text] {
				t.Errorf("nobody has read %q, and it is not among what is unread: %v", text, unread)
			}
		}
		told := false
		for _, mail := range ask[[]cadre.MessageView](m, "msg", "inbox", "team-lead", "--all") {
			told = told || strings.Contains(mail.Text, "changed the words of task "+both+" (ours)")
		}
		if v := m.tasks()[cadre.TaskID(both)]; v.Subject != "from Node" || !told {
			t.Errorf("two made task %s: it is %q, and that the lead was told so is %v", both, v.Subject, told)
		}
	}
	if diff := m.differences("docs"); len(diff) > 0 {
		t.Errorf("files and log differ: %v", diff)
	}
	m.audited()
}

// stopped is a process that has read something under a lock and stands still.
type stopped struct {
	t    *testing.T
	what string
	node *exec.Cmd
	said *bufio.Reader
}

// goOn lets the process go on to its end, and gives what it says of its lock.
func (s *stopped) goOn() string {
	s.t.Helper()
	if err := s.node.Process.Signal(syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
	end, err := s.said.ReadString('\n')
	if err := errors.Join(err, s.node.Wait()); err != nil {
		s.t.Fatalf("Node: %v: %s", err, s.node.Stderr)
	}
	return strings.TrimSpace(end)
}

// stoppedInside starts a process of Node and waits until it stands still.
func stoppedInside(t *testing.T, what, path, words string) *stopped {
	t.Helper()
	installed, err := filepath.Abs("../.tools/proper-lockfile/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "testdata/stopped.js", what, path, words)
	node.Env = append(os.Environ(), "NODE_PATH="+installed)
	node.Stderr = new(bytes.Buffer)
	out, err := node.StdoutPipe()
	if err == nil {
		err = node.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "read\n" {
		t.Fatalf("Node said %q (%v) instead of reading; scripts/proper-lockfile installs what it locks with: %s", line, err, node.Stderr)
	}
	return &stopped{t, what, node, said}
}
