package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// cadre is the program under test, built by TestMain.
var cadre string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cadre-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	cadre = filepath.Join(dir, "cadre")
	if runtime.GOOS == "windows" {
		cadre += ".exe"
	}
	build := exec.Command("go", "build", "-o", cadre, "cadre/cmd/cadre")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building cadre:", err)
		return 1
	}
	return m.Run()
}

// Exit codes, as the help of every command lists them.
const (
	usage      = 2
	notFound   = 3
	conflict   = 4
	blocked    = 5
	notAllowed = 6
	timeout    = 8
)

// machine is a computer on which Cadre was never used.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	t.Parallel()
	m := &machine{t, t.TempDir()}
	for _, name := range []string{"home", "work"} {
		if err := os.Mkdir(filepath.Join(m.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// caller is whoever starts a process: its variables and its flags.
type caller struct {
	*machine
	env   []string
	flags []string
}

// The two sessions of most tests.
const (
	leadSession   = "11111111-aaaa-4aaa-8aaa-111111111111"
	workerSession = "22222222-bbbb-4bbb-8bbb-222222222222"
)

// session is a shell inside a session of the client.
func (m *machine) session(id string, env ...string) caller {
	return caller{m, append([]string{"CLAUDE_CODE_SESSION_ID=" + id}, env...), nil}
}

// operator is the person at this machine.
func (m *machine) operator(flags ...string) caller { return caller{m, nil, flags} }

// as is a member of crew that the operator drives by hand.
func (m *machine) as(name string) caller { return m.operator("--scope", "crew", "--as", name) }

func (c caller) environ() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + filepath.Join(c.dir, "home"),
		"CADRE_STATE_DIR=" + filepath.Join(c.dir, "state"),
		"CLAUDE_CONFIG_DIR=" + filepath.Join(c.dir, "claude"),
		"XDG_CACHE_HOME=" + filepath.Join(c.dir, "cache"),
	}, c.env...)
}

func (c caller) command(args ...string) *exec.Cmd {
	cmd := exec.Command(cadre, append(slices.Clone(args), c.flags...)...)
	cmd.Dir, cmd.Env = filepath.Join(c.dir, "work"), c.environ()
	return cmd
}

// try runs a command and gives what it printed and its exit code.
func (c caller) try(stdin string, args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	return c.finish(c.command(args...), stdin)
}

func (c caller) finish(cmd *exec.Cmd, stdin string) (stdout, stderr string, code int) {
	c.t.Helper()
	var out, talk bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &talk
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		c.t.Fatalf("%v: %v", cmd.Args, err)
	}
	return out.String(), talk.String(), cmd.ProcessState.ExitCode()
}

// do expects a command to succeed and gives its output without the last newline.
func (c caller) do(args ...string) string {
	c.t.Helper()
	out, talk, code := c.try("", args...)
	if code != 0 {
		c.t.Fatalf("%v: exit code %d: %s%s", args, code, out, talk)
	}
	return strings.TrimSuffix(out, "\n")
}

// no expects a refusal with this exit code, and gives what was said.
func (c caller) no(code int, args ...string) string {
	c.t.Helper()
	out, talk, got := c.try("", args...)
	if got != code {
		c.t.Fatalf("%v: exit code %d, want %d\n%s%s", args, got, code, out, talk)
	}
	return talk
}

// get decodes the JSON answer of a command.
func get[T any](c caller, args ...string) T {
	c.t.Helper()
	var v T
	text := c.do(append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		c.t.Fatalf("%v: %v in %s", args, err, text)
	}
	return v
}

type task struct {
	ID          string
	Subject     string
	Description string
	ActiveForm  string
	Status      string
	State       string
	Owner       string
	Blocks      []string
	BlockedBy   []string
	WaitingOn   []string
	Metadata    map[string]any
	Kind        string
	Priority    int
	Labels      []string
	Parent      string
	References  []string
	Comments    []struct{ Author, Content string }
	Flags       []string
	Version     int
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Author      string
	Similar     []string // of task add
	Freed       []string // of task done
	Next        *task    // of task done
	Result      *struct{ Summary string }
}

type member struct {
	Name, Role, AgentID, AgentType, Model, Color, CWD, Session, State, Evidence, Description string
	PlanModeRequired                                                                         bool
	JoinedAt                                                                                 time.Time
	Tasks                                                                                    []string
	Unread                                                                                   int
}

type team struct {
	Name, Description string
	CreatedAt         time.Time
	Creator           struct{ Kind, Session string }
	Members           []member
}

type message struct {
	ID, From, To, Kind, Text, Summary, Color, Task, Ask, State string
	SentAt                                                     time.Time
	ReadAt                                                     *time.Time
}

type event struct {
	Seq        int
	Time       time.Time
	Verb       string
	Actor      struct{ Kind, Name, Session, By string }
	Object     struct{ Kind, ID string }
	Prev, Hash string
}

func (c caller) show(id string) task { c.t.Helper(); return get[task](c, "task", "show", id) }

func (c caller) list(flags ...string) []task {
	c.t.Helper()
	return get[[]task](c, append([]string{"task", "list"}, flags...)...)
}

func (c caller) inbox(flags ...string) []message {
	c.t.Helper()
	return get[[]message](c, append([]string{"msg", "inbox"}, flags...)...)
}

// subjects is a list in one line: ids and subjects.
func subjects(tasks []task) string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.ID+" "+t.Subject)
	}
	return strings.Join(out, ", ")
}

func kinds(mail []message) string {
	var out []string
	for _, m := range mail {
		out = append(out, m.Kind+" from "+m.From)
	}
	return strings.Join(out, ", ")
}

func want[T any](t *testing.T, what string, got, expected T) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", expected); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

// crew is a team that one session leads and that another joined.
func (m *machine) crew() (lead, worker caller) {
	m.t.Helper()
	lead, worker = m.session(leadSession), m.session(workerSession)
	lead.do("team", "create", "crew")
	worker.do("team", "join", "crew", "--name", "analyst")
	return lead, worker
}
