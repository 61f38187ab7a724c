package soak_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cadre"
)

// patience is how long a command may take before it counts as hanging. It is far
// longer than any command needs, also while 64 others want the same lock.
const patience = 60 * time.Second

// parts are what the test binary does as a process of its own, instead of running
// tests, when it is called with one of these names.
var parts = map[string]func(args []string) error{
	"lock":      lockUntilKilled,
	"lock-once": lockOnce,
	"swap":      swapUntilKilled,
	"swap-once": swapOnce,
}

// TestMain plays a part, or runs the tests and removes what they built.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && parts[os.Args[1]] != nil {
		if err := parts[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

// binary builds the real program, once, the way it is shipped.
func binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "cadre-soak-"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(built.dir, "cadre"), "cadre/cmd/cadre")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("building the program: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "cadre")
}

// machine is a home folder with a state folder in it, and nothing else that a
// process could find: every command gets a clean environment.
type machine struct {
	t     testing.TB
	bin   string
	home  string
	state string
	files bool     // Claude Code's files are kept as well
	by    []string // what runs every command
	env   []string // what every command has in its environment besides
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	return machineIn(t, t.TempDir())
}

func machineIn(t testing.TB, home string) *machine {
	t.Helper()
	return &machine{t: t, bin: binary(t), home: home, state: filepath.Join(home, "state")}
}

// command prepares one command line.
func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	return m.wrapped(ctx, nil, args...)
}

// wrapped prepares a command line that another program runs.
func (m *machine) wrapped(ctx context.Context, by []string, args ...string) *exec.Cmd {
	line := slices.Concat(by, m.by, []string{m.bin}, args)
	c := exec.CommandContext(ctx, line[0], line[1:]...)
	c.Dir = m.home
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "CADRE_STATE_DIR=" + m.state,
		"CLAUDE_CONFIG_DIR=" + m.claude(), "XDG_CACHE_HOME=" + filepath.Join(m.home, "cache"),
	}
	if !m.files {
		c.Env = append(c.Env, "CADRE_CLAUDE=off")
	}
	c.Env = append(c.Env, m.env...)
	return c
}

// result is what a process left.
type result struct {
	args     []string
	out, err string
	code     int // -1: ended by a signal
	took     time.Duration
}

func (r result) String() string {
	return fmt.Sprintf("cadre %s: exit %d after %s\nstdout: %s\nstderr: %s", strings.Join(r.args, " "), r.code, r.took.Round(time.Millisecond), r.out, r.err)
}

// id is what a command that answers with an id printed.
func (r result) id() cadre.TaskID { return cadre.TaskID(strings.TrimSpace(r.out)) }

// run carries out one command in a process of its own. One that hangs is killed
// and fails the test.
func (m *machine) run(args ...string) result {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := finish(m.command(ctx, args...), args)
	if ctx.Err() != nil {
		m.t.Errorf("this command hangs: %s", r)
	}
	return r
}

// finish runs a prepared command to its end.
func finish(c *exec.Cmd, args []string) result {
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	began := time.Now()
	err := c.Run()
	r := result{args: args, out: out.String(), err: talk.String(), took: time.Since(began)}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code = exit.ExitCode()
	} else if err != nil {
		r.code, r.err = -1, r.err+err.Error()
	}
	return r
}

// must carries out a command that has to succeed, and gives its output.
func (m *machine) must(args ...string) string {
	m.t.Helper()
	r := m.run(args...)
	if r.code != 0 {
		m.t.Fatal(r)
	}
	return strings.TrimSpace(r.out)
}

// ask carries out a command and reads its JSON answer.
func ask[T any](m *machine, args ...string) T {
	m.t.Helper()
	var v T
	text := m.must(append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		m.t.Fatalf("cadre %s --json: %v in %s", strings.Join(args, " "), err, text)
	}
	return v
}

// tasks lists every task of a list by its id.
func (m *machine) tasks(args ...string) map[cadre.TaskID]cadre.TaskView {
	m.t.Helper()
	all := map[cadre.TaskID]cadre.TaskView{}
	for _, v := range ask[[]cadre.TaskView](m, append([]string{"task", "list"}, args...)...) {
		if _, twice := all[v.ID]; twice {
			m.t.Errorf("task %s is listed twice", v.ID)
		}
		all[v.ID] = v
	}
	return all
}

// audited has the record verified, which must hold.
func (m *machine) audited() cadre.AuditReport {
	m.t.Helper()
	r := m.run("audit", "verify", "--json")
	var report cadre.AuditReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != 0 || len(report.Findings) > 0 {
		m.t.Errorf("the record does not hold: %s", r)
	}
	return report
}

// copyOf gives another machine with the same files.
func (m *machine) copyOf(home string) *machine {
	m.t.Helper()
	if err := copyFolder(m.home, home); err != nil {
		m.t.Fatal(err)
	}
	other := machineIn(m.t, home)
	other.files = m.files
	return other
}

// copyFolder copies files and folders, byte by byte, with their permissions.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), info.Mode().Perm())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm())
	})
}
