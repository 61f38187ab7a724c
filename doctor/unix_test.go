//go:build unix

package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cadre/claudefile"
)

// A pipe nobody writes to would hold up whoever opens it.
func TestPipesStopNobody(t *testing.T) {
	d, f := newDoctor(t)
	f.task("l", "1", "open", "", nil, nil)
	f.put("teams/team/inboxes/ann.json", "[]")
	pipes := []string{"tasks/l/2.json", "tasks/l/.highwatermark", "teams/team/config.json", "teams/team/inboxes/bob.json"}
	var want []string
	for _, p := range pipes {
		if err := syscall.Mkfifo(filepath.Join(d.Folder, p), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, "irregular "+p)
	}
	if r := fix(t, d); len(findings(r)) != len(want) || r.Lists != 1 || r.Inboxes != 1 {
		t.Errorf("%s", cmp.Diff(want, findings(r)))
	}
	if task := f.read("tasks/l/1.json"); !strings.Contains(task, "pending") {
		t.Errorf("the good file was not mended: %s", task)
	}
}

func TestUnreadable(t *testing.T) {
	likeAnybody(t)
	d, f := newDoctor(t)
	f.task("l", "1", "pending", "", nil, nil)
	f.task("l", "2", "pending", "", nil, nil)
	if err := os.Chmod(filepath.Join(d.Folder, "tasks/l/1.json"), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"unreadable tasks/l/1.json"}, findings(examine(t, d))); diff != "" {
		t.Error(diff)
	}
}

// TestThisMachine asks the real kernel and a real tmux of its own.
func TestThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are only known on Linux")
	}
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal("there is no tmux: make test installs it")
	}
	sockets := t.TempDir()
	t.Setenv("TMUX_TMPDIR", sockets)
	t.Setenv("TMUX", "")
	d, f := newDoctor(t)
	d.Process, d.Panes = nil, nil
	host, _ := os.Hostname()
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Fields(string(stat)[strings.LastIndex(string(stat), ")"):])[20]
	team := func(name, space, start string, pid int, members ...claudefile.Member) {
		c := claudefile.Config{Name: name, LeadAgentID: "team-lead@" + name, Members: append([]claudefile.Member{{AgentID: "team-lead@" + name, Name: "team-lead"}}, members...)}
		c.LeadProcess, _ = json.Marshal(map[string]any{"pid": pid, "pidSpace": space, "procStart": start})
		f.put("teams/"+name+"/config.json", string(c.Write(nil)))
	}
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	team("alive", host+"#"+space, start, os.Getpid(), member("ann", "in-process", ""))
	team("reused", host+"#"+space, "1", os.Getpid(), member("ann", "in-process", ""))
	team("gone", host+"#"+space, start, child.Process.Pid, member("ann", "in-process", ""))
	team("far", "elsewhere#"+space, "1", child.Process.Pid, member("ann", "in-process", ""), member("bob", "tmux", "%99"))
	want := []string{
		"lead-gone teams/gone/config.json", "lead-gone teams/reused/config.json",
		"member-dead teams/gone/config.json", "member-dead teams/reused/config.json",
	}
	if diff := cmp.Diff(want, findings(examine(t, d))); diff != "" {
		t.Error(diff)
	}

	run := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), tmux, append([]string{"-L", "test", "-f", os.DevNull}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	pane := run("new-session", "-d", "-P", "-F", "#{pane_id}", "sleep 600")
	stop := func() {
		exec.CommandContext(context.WithoutCancel(t.Context()), tmux, "-L", "test", "kill-server").Run()
	}
	t.Cleanup(stop)
	team("panes", host+"#"+space, start, os.Getpid(), member("ann", "tmux", pane), member("bob", "tmux", "%98"))
	if r := examine(t, d); len(r.Findings) != len(want)+1 || !strings.Contains(fmt.Sprint(r.Findings), "bob ran in pane %98") {
		t.Errorf("with a server: %+v", r.Findings)
	}
	stop()
	for said := ""; !strings.Contains(said, "no server running"); { // it ends when it has said goodbye to everyone
		out, _ := exec.CommandContext(t.Context(), tmux, "-L", "test", "list-sessions").CombinedOutput()
		said = string(out)
	}
	if r := examine(t, d); len(r.Findings) != len(want)+2 {
		t.Errorf("without one: %+v", r.Findings)
	}
}
