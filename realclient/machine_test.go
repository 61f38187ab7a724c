//go:build realclient

package realclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The two clients. Between them TeamCreate, TeamDelete and broadcasts went away,
// and every session became a team of its own.
const (
	february = "2.1.50"
	november = "2.1.325"
)

// cadre is the program under test, built by TestMain.
var cadre string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cadre-realclient-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	cadre = filepath.Join(dir, "cadre")
	build := exec.Command("go", "build", "-o", cadre, "cadre/cmd/cadre")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building cadre:", err)
		return 1
	}
	return m.Run()
}

// machine is a computer on which one version of Claude Code is installed, and
// neither it nor Cadre was ever used.
type machine struct {
	*testing.T
	version string
	dir     string
	model   *model
	more    []string // variables that everybody finds besides
}

// both runs a test on a machine with each of the clients.
func both(t *testing.T, test func(m *machine)) {
	for _, v := range []string{february, november} {
		t.Run(v, func(t *testing.T) { test(newMachine(t, v)) })
	}
}

func newMachine(t *testing.T, version string) *machine {
	t.Helper()
	m := &machine{T: t, version: version, dir: t.TempDir(), model: newModel(t)}
	for _, name := range []string{"home", "work", "claude", "tmp"} {
		if err := os.Mkdir(filepath.Join(m.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// What a person who uses the client has answered it before, and no more.
	m.write(object{
		"hasCompletedOnboarding": true, "bypassPermissionsModeAccepted": true, "theme": "dark", "numStartups": 5,
		"customApiKeyResponses": object{"approved": []string{"dummy"}, "rejected": []string{}},
		"projects":              object{m.path("work"): object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	}, "claude", ".claude.json")
	m.write(object{"skipDangerousModePermissionPrompt": true}, "claude", "settings.json")
	return m
}

// path is a place on this machine.
func (m *machine) path(names ...string) string {
	return filepath.Join(append([]string{m.dir}, names...)...)
}

// write puts a JSON document into a file, and its folder where that is missing.
func (m *machine) write(v any, names ...string) {
	m.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		m.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(m.path(names...)), 0o700); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(m.path(names...), text, 0o600); err != nil {
		m.Fatal(err)
	}
}

// read decodes a JSON file of the client.
func read[T any](m *machine, names ...string) T {
	m.Helper()
	text, err := os.ReadFile(m.path(names...))
	if err != nil {
		m.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		m.Fatalf("%s: %v in %s", filepath.Join(names...), err, text)
	}
	return v
}

// environ is all that a process on this machine finds around it.
func (m *machine) environ() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.path("home"), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash",
		"CLAUDE_CONFIG_DIR=" + m.path("claude"), "CADRE_STATE_DIR=" + m.path("state"), "XDG_CACHE_HOME=" + m.path("cache"),
		"TMPDIR=" + m.path("tmp"), "CLAUDE_CODE_TMPDIR=" + m.path("tmp"),
	}, m.more...)
}

// cadre runs a command of the operator, which has to succeed, and gives what it
// printed.
func (m *machine) cadre(args ...string) string {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, cadre, args...)
	c.Dir, c.Env = m.path("work"), m.environ()
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Run(); err != nil {
		m.Fatalf("cadre %q: %v\n%s%s", args, err, out.String(), talk.String())
	}
	return string(bytes.TrimSpace(out.Bytes()))
}

// used makes it a machine on which cadre has a record. Where there is none, looking
// leaves nothing behind, and so remembers nothing.
func (m *machine) used() {
	m.Helper()
	m.cadre("task", "add", "Water the plants", "--scope", "home")
}

// get decodes the JSON answer of a command.
func get[T any](m *machine, args ...string) T {
	m.Helper()
	var v T
	text := m.cadre(append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		m.Fatalf("cadre %q: %v in %s", args, err, text)
	}
	return v
}

// eventually waits until something is so. It is for what a client does in its own
// time, such as polling its inbox.
func (m *machine) eventually(what string, is func() bool) {
	m.Helper()
	for began := time.Now(); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > patience {
			m.Fatalf("still not so after %s: %s", patience, what)
		}
	}
}

// want compares what somebody sees with what they should.
func want[T any](m *machine, what string, got, expected T) {
	m.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", expected); g != w {
		m.Errorf("%s: got %s, want %s", what, g, w)
	}
}
