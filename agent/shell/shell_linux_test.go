package shell_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/agent/agenttest"
	"cadre/agent/shell"
	"cadre/internal/proc"
)

func TestMain(m *testing.M) {
	proc.KeepIfAsked()
	os.Exit(m.Run())
}

var keepers = sync.OnceValues(proc.NewKeepers)

func backend(t *testing.T) shell.Backend {
	t.Helper()
	k, err := keepers()
	if err != nil {
		t.Fatal(err)
	}
	return shell.Backend{Keepers: k}
}

func task(id cadre.TaskID, run string) *cadre.TaskView {
	return &cadre.TaskView{ID: id, Run: run, Fence: 1}
}

// subject is a shell member that works in a folder of its own.
func subject(t *testing.T) agenttest.Subject {
	mark := "SHELL_TEST=" + t.Name()
	left := func() (names []string) {
		for _, id := range proc.Marked(mark) {
			names = append(names, id.String())
		}
		return names
	}
	m := &cadre.Member{Name: "ann", Backend: cadre.BackendShell, CWD: t.TempDir()}
	odd := *m
	odd.Model = "large"
	return agenttest.Subject{
		Backend: backend(t), Member: m, Odd: &odd, Env: []string{"PATH=" + os.Getenv("PATH"), mark},
		Succeed: task("1", "echo hello"),
		Fail:    task("2", "echo sorry; exit 1"),
		Hang:    task("3", `for i in 1 2 3; do (setsid sh -c 'trap "" TERM; exec sleep 1000' &); done; trap "" TERM; while :; do sleep 1; done`),
		Busy:    func() bool { return len(left()) >= 4 },
		Left:    left,
		Kill:    func(p cadre.Process) error { return syscall.Kill(p.PID, syscall.SIGKILL) },
	}
}

func TestBackend(t *testing.T) { agenttest.Run(t, subject) }

// start starts a member that ends with the test.
func start(t *testing.T, s agenttest.Subject) (agent.Worker, string) {
	t.Helper()
	dir := t.TempDir()
	w, err := s.Backend.Start(agent.Spec{Scope: "docs", Member: s.Member, Dir: dir, Env: s.Env, Heartbeat: time.Second, Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.End)
	return w, dir
}

func do(t *testing.T, w agent.Worker, v *cadre.TaskView) agent.Outcome {
	t.Helper()
	out, err := w.Do(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestACommandKnowsItsTask(t *testing.T) {
	s := subject(t)
	w, dir := start(t, s)
	v := task("7", `cat; echo "$CADRE_TASK $PWD"; wc -l < "$CADRE_MAIL"`)
	v.Subject = "Look around"
	if err := w.Tell(&cadre.Message{ID: "m1", Text: "one\ntwo"}); err != nil {
		t.Fatal(err)
	}
	out := do(t, w, v)
	for _, part := range []string{`"subject":"Look around"`, "7 " + s.Member.CWD, "\n1", "exit code 0", filepath.Join(dir, "7-1.log")} {
		if !strings.Contains(out.Summary, part) {
			t.Errorf("%q is not in %q", part, out.Summary)
		}
	}
	f, err := os.Open(filepath.Join(dir, "mail.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	var got cadre.Message
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil || got.Text != "one\ntwo" {
		t.Errorf("its mail is %q", lines.Text())
	}
}

func TestAGigabyteIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("prints a gigabyte")
	}
	w, dir := start(t, subject(t))
	out := do(t, w, task("1", "head -c 1000000000 /dev/zero; echo; echo the end"))
	if !out.OK || !strings.HasSuffix(out.Summary, "the end") || len(out.Summary) > 20_000 {
		t.Errorf("%t with %d bytes", out.OK, len(out.Summary))
	}
	info, err := os.Stat(filepath.Join(dir, "1-1.log"))
	if err != nil || info.Size() > 5<<20 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAFolderThatGoesAwayIsToldAsTheResult(t *testing.T) {
	s := subject(t)
	w, _ := start(t, s)
	if err := os.RemoveAll(s.Member.CWD); err != nil {
		t.Fatal(err)
	}
	if out := do(t, w, task("1", "true")); out.OK || !strings.Contains(out.Summary, "no such file") {
		t.Errorf("%+v", out)
	}
	if no := s.Backend.Check(s.Member); len(no) != 1 {
		t.Errorf("refused for %v", no)
	}
	if out := do(t, w, task("2", "")); out.OK {
		t.Errorf("a task without a command is done: %+v", out)
	}
}
