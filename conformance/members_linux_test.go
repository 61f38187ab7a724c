package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// started is what the record says about a member that Cadre runs.
type started struct {
	member
	Prompt  string
	Backend string
	Process *struct{ PID int }
}

// ended waits until a member has left and its process is gone.
func (c caller) ended(name string) {
	c.t.Helper()
	for {
		if m := get[started](c, "member", "show", name); m.State == "departed" && m.Process == nil {
			return
		}
	}
}

func TestLifeCycleAWorkerIsStarted(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	lead.do("team", "create", "crew")
	spawn := []string{
		"member", "spawn", "writer", "--backend", "command", "--run", `sh -c 'cat >> told; env | sort > env; echo "I am ready"'`,
		"--prompt", "You write the manual.", "--agent-type", "general-purpose",
	}
	says(t, lead.no(usage, append(spawn, "--model", "haiku", "--mode", "plan")...), "model: say it in the command", "mode: say it in the command")
	got := get[started](lead, spawn...)
	want(t, "its record", got.AgentID+" "+got.AgentType+" "+got.Backend+" "+got.Prompt, "writer@crew general-purpose command You write the manual.")
	lead.do("msg", "wait", "--timeout", "30s")
	says(t, lead.inbox("--all")[0].Text, "I am ready")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(m.dir, "work", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	says(t, read("told"), "You write the manual.")
	says(t, read("env"), "CADRE_SCOPE=crew\n", "CLAUDE_CODE_TEAM_NAME=crew\n", "CLAUDE_CODE_AGENT_ID=writer@crew\n", "CLAUDE_CODE_AGENT_TYPE=general-purpose\n", "HOME="+filepath.Join(m.dir, "home")+"\n")
	if strings.Contains(read("env"), leadSession) {
		t.Error("it could pose as its lead's session")
	}
	lead.do("member", "stop", "writer")
	lead.ended("writer")
	lead.do("team", "delete", "crew")
}

func TestLifeCycleAWorkerDoesTheWorkAndEnds(t *testing.T) {
	m := newMachine(t)
	lead := m.session(leadSession)
	lead.do("team", "create", "crew")
	lead.do("task", "add", "measure", "--run", `echo "$PPID" > parent; echo 42`)
	lead.do("task", "add", "conclude", "--run", "echo it is 42", "--blocked-by", "1")
	lead.do("member", "spawn", "writer")
	lead.do("task", "wait", "2", "--timeout", "30s")
	says(t, lead.show("1").Result.Summary, "42")
	says(t, lead.show("2").Result.Summary, "it is 42")
	want(t, "who did it", lead.show("2").Owner, "writer")
	pid := get[started](lead, "member", "show", "writer").Process.PID
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("its process %d: %v", pid, err)
	}
	lead.do("member", "stop", "writer", "--reason", "all is done")
	lead.ended("writer")
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d outlives its member", pid)
	}
	lead.do("team", "delete", "crew")
}
