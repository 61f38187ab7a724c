//go:build unix

package coord_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cadre"
	"cadre/coord"
)

// project is a folder with settings whose hook refuses every completion.
func project(t *testing.T) (dir, settings string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	settings = filepath.Join(dir, ".claude", "settings.json")
	text := `{"hooks":{"TaskCompleted":[{"hooks":[{"command":"echo not good >&2; exit 2"}]}]}}`
	if err := errors.Join(err, os.Mkdir(filepath.Dir(settings), 0o700), os.WriteFile(settings, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir, settings
}

// TestWhatIsNoFileHasNoHooks puts other things in the place of a project's settings:
// none is waited for, followed, read whole or trusted, and none stops anybody's work.
func TestWhatIsNoFileHasNoHooks(t *testing.T) {
	elsewhere, real := project(t)
	for name, put := range map[string]func(path string) error{
		"a pipe":       func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link":       func(path string) error { return os.Symlink(real, path) },
		"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
		"a folder":     func(path string) error { return os.Mkdir(path, 0o700) },
		"a large file": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 2<<30)) },
		"a linked folder": func(path string) error {
			own := filepath.Dir(path)
			return errors.Join(os.Remove(own), os.Symlink(filepath.Join(elsewhere, ".claude"), own))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.ClaudeDir = filepath.Join(t.TempDir(), "claude")
			var warned []string
			d.Warn = func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }
			dir := t.TempDir()
			path := filepath.Join(dir, ".claude", "settings.json")
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), put(path)); err != nil {
				t.Fatal(err)
			}
			s := d.at(dir, nil)
			must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
			must[*cadre.Done](t, s, &cadre.TaskDone{ID: "1"})
			if len(warned) != 1 || !strings.Contains(warned[0], "the hooks of a project are not run") {
				t.Errorf("it was told %q", warned)
			}
			if _, err := s.Do(t.Context(), "trust", &coord.Trust{}); err == nil {
				t.Error("it is trusted")
			}
			if list := must[[]*coord.TrustView](t, s, &coord.Trust{List: true}); len(list) != 1 || list[0].Error == "" {
				t.Errorf("it is listed as %+v", list)
			}
		})
	}
}

// TestAProjectsHooksAreThoseOfItsMembersFolder has a member complete its task from
// where the project's settings are not.
func TestAProjectsHooksAreThoseOfItsMembersFolder(t *testing.T) {
	d := newDesk(t)
	d.Env = []string{"PATH=" + os.Getenv("PATH")}
	d.ClaudeDir = filepath.Join(t.TempDir(), "claude")
	dir, settings := project(t)
	op := d.at(dir, nil)
	must[*cadre.TeamView](t, op, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	op = d.at(dir, nil)
	must[*cadre.Added](t, op, &cadre.TaskAdd{Subject: "one", Owner: "ann"})
	must[*cadre.MemberView](t, op, &cadre.MemberSpawn{Name: "ann", Backend: cadre.BackendShell, Folder: dir})
	if trusted := must[[]*coord.TrustView](t, op, &coord.Trust{}); len(trusted) != 1 || trusted[0].File != settings {
		t.Fatalf("%+v is trusted", trusted)
	}
	ann := d.at(t.TempDir(), nil)
	ann.Scope, ann.Actor = "docs", cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: "docs", Proof: cadre.ProofProcess}
	refused(t, cadre.RuleOperator, ann, &coord.Trust{Folder: dir})
	if e := refused(t, cadre.RuleGate, ann, &cadre.TaskDone{ID: "1"}); !strings.Contains(e.Message, "not good") {
		t.Errorf("%v", e)
	}
	must[[]*coord.TrustView](t, op, &coord.Trust{Remove: true})
	must[*cadre.Done](t, ann, &cadre.TaskDone{ID: "1"})
}

// TestTheUsersOwnSettingsAreNoProjects: a home folder is no project, whatever is in it.
func TestTheUsersOwnSettingsAreNoProjects(t *testing.T) {
	d := newDesk(t)
	dir, settings := project(t)
	d.ClaudeDir = filepath.Dir(settings)
	d.Warn = func(format string, args ...any) { t.Errorf(format, args...) }
	s := d.at(dir, nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	must[*cadre.Done](t, s, &cadre.TaskDone{ID: "1"})
	refused(t, cadre.RuleMissing, s, &coord.Trust{})
}
