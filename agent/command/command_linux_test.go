package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/agent/agenttest"
	"cadre/agent/command"
	"cadre/internal/proc"
)

func TestMain(m *testing.M) {
	proc.KeepIfAsked()
	os.Exit(m.Run())
}

var keepers = sync.OnceValues(proc.NewKeepers)

// member is somebody whose program is a stand-in, with a folder for what that keeps.
type member struct {
	t *testing.T
	cadre.Member
	backend agent.Backend
	env     []string
	keeps   string
	known   []string
	dir     string
	worker  agent.Worker
}

func newMember(t *testing.T, b cadre.Backend) *member {
	t.Helper()
	k, err := keepers()
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, keeps: t.TempDir(), dir: t.TempDir(), Member: cadre.Member{Name: "ann", Backend: b, CWD: t.TempDir()}}
	bin := t.TempDir()
	streams, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "codex", "mytool"} {
		if err := os.Symlink(filepath.Join(streams, "standin"), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "STANDIN_KEEPS=" + m.keeps, "STANDIN_STREAMS=" + streams, "COMMAND_TEST=" + t.Name()}
	m.backend = command.Backend{Keepers: k, Recipe: command.Recipes()[b], Env: m.env}
	return m
}

// start starts the member, which ends with the test.
func (m *member) start() {
	m.t.Helper()
	w, err := m.backend.Start(agent.Spec{
		Scope: "docs", Member: &m.Member, Dir: m.dir, Env: m.env, Heartbeat: time.Second, Grace: 100 * time.Millisecond,
		Known: func(session, model, mode string) { m.known = append(m.known, session+" "+model+" "+mode) },
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(w.End)
	m.worker = w
}

func (m *member) do(t *cadre.TaskView) agent.Outcome {
	m.t.Helper()
	out, err := m.worker.Do(m.t.Context(), t)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// kept is what the stand-in noted.
func (m *member) kept(name string) string {
	data, _ := os.ReadFile(filepath.Join(m.keeps, name)) // none before the first call
	return string(data)
}

func task(subject string) *cadre.TaskView {
	return &cadre.TaskView{ID: "7", Subject: subject, Status: cadre.InProgress, Fence: 1}
}

// subject is a member with which the backend is tried.
func subject(b cadre.Backend) func(t *testing.T) agenttest.Subject {
	return func(t *testing.T) agenttest.Subject {
		m := newMember(t, b)
		odd := m.Member
		if odd.Mode = "loud"; b == cadre.BackendCommand {
			m.Run = `sh -c 'case $1 in *"say sorry"*) echo sorry; exit 1 ;; *"wait for ever"*) echo wait for ever | exec mytool ;; esac; echo hello' sh {prompt}`
		}
		left := func() (names []string) {
			for _, id := range proc.Marked("COMMAND_TEST=" + t.Name()) {
				names = append(names, id.String())
			}
			return names
		}
		return agenttest.Subject{
			Backend: m.backend, Member: &m.Member, Odd: &odd, Env: m.env,
			Succeed: task("greet"), Fail: task("say sorry"), Hang: task("wait for ever"),
			Busy: func() bool { return len(left()) >= 4 }, Left: left,
			Kill: func(p cadre.Process) error { return syscall.Kill(p.PID, syscall.SIGKILL) },
		}
	}
}

func TestBackend(t *testing.T) {
	for b := range command.Recipes() {
		t.Run(string(b), func(t *testing.T) { agenttest.Run(t, subject(b)) })
	}
}

// TestStreams replays what the real programs printed, and parts of it.
func TestStreams(t *testing.T) {
	for _, tt := range []struct {
		backend cadre.Backend
		task    string
		ok      bool
		limited bool
		says    []string
	}{
		{"claude", "replay answer", true, false, []string{"hello, the tests are green", "10 tokens in, 5 out", "$0.0001"}},
		{"claude", "replay tool", true, false, []string{"I ran it.", "20 tokens in, 10 out"}},
		{"claude", "replay denied", true, false, []string{"I ran it.", "not permitted: Bash"}},
		{"claude", "replay refused", false, false, []string{"API Error: 400 sorry, that cannot be", "7-1.log"}},
		{"claude", "replay turns", false, false, []string{"Reached maximum number of turns (1)"}},
		{"claude", "replay limit", false, true, []string{"would exceed your account's rate limit"}},
		{"claude", "replay overload", false, true, []string{"529"}},
		{"claude", "break off", false, false, []string{"its stream broke off (exit code 0)"}},
		{"claude", "half a line", false, false, []string{"its stream broke off (exit code 0)"}},
		{"claude", "rubbish", false, false, []string{"its stream broke off (exit code 0)", "Segmentation fault"}},
		{"codex", "replay answer", true, false, []string{"hello, the tests are green", "100 tokens in, 20 of them from the cache, 7 out, in its session so far"}},
		{"codex", "replay tool", true, false, []string{"I ran it."}},
		{"codex", "replay refused", false, false, []string{"sorry, that cannot be"}},
		{"codex", "replay limit", false, true, []string{"429 Too Many Requests"}},
		{"codex", "replay usage", false, true, []string{"hit your usage limit"}},
		{"codex", "break off", false, false, []string{"its stream broke off (exit code 0)"}},
		{"codex", "half a line", false, false, []string{"its stream broke off"}},
		{"codex", "rubbish", false, false, []string{"its stream broke off", "Segmentation fault"}},
	} {
		t.Run(string(tt.backend)+"/"+tt.task, func(t *testing.T) {
			m := newMember(t, tt.backend)
			m.start()
			out := m.do(task(tt.task))
			if out.OK != tt.ok || out.Limited != tt.limited {
				t.Errorf("OK is %t, limited %t: %q", out.OK, out.Limited, out.Summary)
			}
			for _, part := range tt.says {
				if !strings.Contains(out.Summary, part) {
					t.Errorf("%q is not in %q", part, out.Summary)
				}
			}
			if _, err := os.Stat(filepath.Join(m.dir, "7-1.log")); err != nil {
				t.Error(err)
			}
		})
	}
}

const session = "11111111-2222-4333-8444-555555555555"

// TestGoesOn has a program go on with its session: in the next turn, under the next
// worker, and anew when the session is not there any more.
func TestGoesOn(t *testing.T) {
	for b, want := range map[cadre.Backend]struct{ known, first, again, lost string }{
		"claude": {
			session + " claude-opus-5-5 default",
			"-p --output-format stream-json --verbose --model large --permission-mode acceptEdits",
			"-p --output-format stream-json --verbose --model large --permission-mode acceptEdits --resume ",
			"-p --output-format stream-json --verbose --model large --permission-mode acceptEdits",
		},
		"codex": {
			session + "  ",
			`exec --json --skip-git-repo-check --model large -c sandbox_mode="read-only" -`,
			`exec resume --json --skip-git-repo-check --model large -c sandbox_mode="read-only" SESSION -`,
			`exec --json --skip-git-repo-check --model large -c sandbox_mode="read-only" -`,
		},
	} {
		t.Run(string(b), func(t *testing.T) {
			m := newMember(t, b)
			m.Prompt, m.Model, m.Mode = "You write the manual.", "large", "acceptEdits"
			if b == "codex" {
				m.Mode = "read-only"
			}
			m.Requested = &cadre.Settings{Model: m.Model, Mode: m.Mode}
			m.start()
			m.do(task("replay answer"))
			m.do(task("replay resumed"))
			m.worker.End()
			m.Session, m.Told, m.Model = session, true, "what the program took"
			m.start()
			m.do(task("replay resumed"))
			m.worker.End()
			m.Session = "99999999-2222-4333-8444-555555555555"
			m.start()
			if out := m.do(task("replay answer")); !out.OK || !strings.Contains(out.Summary, "hello") {
				t.Errorf("without its session: %+v", out)
			}
			resume := func(id string) string {
				if line := strings.Replace(want.again, "SESSION", id, 1); line != want.again {
					return line
				}
				return want.again + id
			}
			calls := strings.Split(strings.TrimSpace(m.kept("calls")), "\n")
			if wanted := []string{want.first, resume(session), resume(session), resume(m.Session), want.lost}; !slices.Equal(calls, wanted) {
				t.Errorf("called with\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(wanted, "\n"))
			}
			prompts := strings.Split(m.kept("prompts"), "=====")
			for i, introduced := range []bool{true, false, false, false, true} {
				if strings.Contains(prompts[i], "You write the manual.") != introduced {
					t.Errorf("turn %d was told %q", i+1, prompts[i])
				}
			}
			if len(m.known) == 0 || m.known[0] != want.known {
				t.Errorf("known is %q", m.known)
			}
		})
	}
}

func TestAPlanChangesNothing(t *testing.T) {
	for b, option := range map[cadre.Backend]string{"claude": "--permission-mode plan", "codex": `-c sandbox_mode="read-only"`} {
		m := newMember(t, b)
		m.start()
		plan := task("replay answer")
		plan.Status = cadre.Pending
		out := m.do(plan)
		if !out.OK || !strings.HasSuffix(strings.TrimSpace(m.kept("calls")), option) || !strings.Contains(m.kept("prompts"), "Change nothing now.") {
			t.Errorf("%+v after %s%s", out, m.kept("calls"), m.kept("prompts"))
		}
	}
}

// TestMail has messages wait for a turn, and be read once.
func TestMail(t *testing.T) {
	m := newMember(t, cadre.BackendClaude)
	m.Prompt = "replay answer"
	m.start()
	if out := m.do(nil); !out.OK || out.Summary == "" || len(out.Read) != 0 {
		t.Errorf("for its prompt: %+v", out)
	}
	if out := m.do(nil); !out.OK || out.Summary != "" || strings.Count(m.kept("prompts"), "=====") != 1 {
		t.Errorf("for nothing: %+v", out)
	}
	tell := func(id cadre.MessageID, text string) {
		if err := m.worker.Tell(&cadre.Message{ID: id, From: "ben", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	tell("m1", "replay limit")
	if out := m.do(nil); !out.Limited || len(out.Read) != 0 {
		t.Errorf("while it is limited: %+v", out)
	}
	tell("m2", "two lines\nreplay resumed")
	out := m.do(nil)
	if !out.OK || fmt.Sprint(out.Read) != "[m1 m2]" || !strings.Contains(m.kept("prompts"), "From ben, 00:00:\n> two lines\n> replay resumed\n") {
		t.Errorf("%+v after %s", out, m.kept("prompts"))
	}
	if out := m.do(task("replay resumed")); !out.OK || len(out.Read) != 0 {
		t.Errorf("it was read before: %+v", out)
	}
}

func TestAnyCommand(t *testing.T) {
	for _, tt := range []struct {
		run, task   string
		ok, limited bool
		says        string
	}{
		{`cat`, "from standard input", true, false, "Your task is task 7: from standard input"},
		{`printf %s "as one: {prompt}"`, "it's \"quoted\" $HOME `x`", true, false, "as one: You are ann"},
		{`printf %s {prompt}`, "it's \"quoted\" $HOME `x`", true, false, "task 7: it's \"quoted\" $HOME `x`"},
		{`sh -c 'echo out; echo err >&2; exit 3'`, "x", false, false, "exit code 3\n\nout\n\n[8 bytes printed to "},
		{`sh -c 'echo err >&2; exit 3'`, "x", false, false, "exit code 3\nerr"},
		{`sh -c 'echo full; exit 75'`, "x", false, true, "exit code 75\n\nfull"},
		{`echo "FAILED: no such file"`, "x", false, false, "FAILED: no such file"},
		{`sh -c 'echo $CADRE_TASK; pwd'`, "x", true, false, "7\n/"},
		{`sh -c 'kill -9 $$'`, "x", false, false, "ended by SIGKILL"},
		{`sh -c 'head -c 100000 /dev/zero | tr "\\0" x; echo; echo end'`, "x", true, false, "bytes more are in "},
	} {
		t.Run(tt.run, func(t *testing.T) {
			m := newMember(t, cadre.BackendCommand)
			m.Run = tt.run
			if no := m.backend.Check(&m.Member); len(no) > 0 {
				t.Fatal(no)
			}
			m.start()
			out := m.do(task(tt.task))
			if out.OK != tt.ok || out.Limited != tt.limited || !strings.Contains(out.Summary, tt.says) || len(out.Summary) > 70_000 {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestAPromptThatIsTooLongForAnArgument(t *testing.T) {
	m := newMember(t, cadre.BackendCommand)
	m.Run = "echo {prompt}"
	m.start()
	long := task("x")
	long.Description = strings.Repeat("x", 200_000)
	if out := m.do(long); out.OK || !strings.Contains(out.Summary, "argument list too long") {
		t.Errorf("%+v", out)
	}
	if out := m.do(task("short")); !out.OK {
		t.Errorf("after that: %+v", out)
	}
}

func TestRefusedAtSpawn(t *testing.T) {
	for _, tt := range []struct {
		backend cadre.Backend
		set     func(m *member)
		no      []string
	}{
		{"command", func(m *member) {}, []string{"run: there is no command to run: give one with --run 'PROGRAM ARGUMENTS'"}},
		{"command", func(m *member) { m.Run = "'oops" }, []string{"run: the command line ends within quotes"}},
		{"command", func(m *member) { m.Run, m.Model, m.Mode, m.PlanMode = "no-such-tool {prompt}", "large", "bold", true }, []string{
			"model: say it in the command that is run", "mode: say it in the command that is run",
			"plan mode: nothing keeps a command from changing things while it plans", `run: there is no program "no-such-tool" here`,
		}},
		{"claude", func(m *member) { m.Run, m.Mode, m.CWD = "claude", "bold", "/nowhere" }, []string{
			"cwd: stat /nowhere: no such file or directory", "run: a claude member has a command line of its own",
			`mode: claude has no "bold", only default, acceptEdits, auto, bypassPermissions, dontAsk, manual, plan`,
		}},
		{"codex", func(m *member) { m.Mode = "plan" }, []string{`mode: codex has no "plan", only read-only, workspace-write, danger-full-access`}},
	} {
		m := newMember(t, tt.backend)
		tt.set(m)
		if no := m.backend.Check(&m.Member); !slices.Equal(no, tt.no) {
			t.Errorf("%s: refused for %q, want %q", tt.backend, no, tt.no)
		}
	}
}

// TestAMissingProgram is refused by whoever spawns and by whoever starts: they need not
// look in the same places.
func TestAMissingProgram(t *testing.T) {
	for b, install := range map[cadre.Backend]string{"claude": "npm install -g @anthropic-ai/claude-code", "codex": "npm install -g @openai/codex"} {
		m := newMember(t, b)
		k, err := keepers()
		if err != nil {
			t.Fatal(err)
		}
		m.env = []string{"PATH=" + t.TempDir()}
		m.backend = command.Backend{Keepers: k, Recipe: command.Recipes()[b], Env: m.env}
		no := m.backend.Check(&m.Member)
		if len(no) != 1 || !strings.Contains(no[0], fmt.Sprintf("there is no program %q here: install", b)) || !strings.Contains(no[0], install) {
			t.Errorf("refused for %q", no)
		}
		w, err := m.backend.Start(agent.Spec{Scope: "docs", Member: &m.Member, Dir: m.dir, Env: m.env, Heartbeat: time.Second, Grace: time.Second})
		if err == nil {
			w.End()
		}
		if err == nil || !strings.Contains(err.Error(), install) {
			t.Errorf("started with %v", err)
		}
	}
}
