package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cadre"
	"cadre/coord"
)

// onMachine runs command lines on a machine that has used Claude Code.
func onMachine(t *testing.T, claude string) func(args ...string) string {
	dir := t.TempDir()
	env := []string{"HOME=" + dir, "CADRE_STATE_DIR=" + filepath.Join(dir, "state"), "CLAUDE_CONFIG_DIR=" + claude}
	return func(args ...string) string {
		t.Helper()
		var out, talk bytes.Buffer
		if code := Run(t.Context(), args, strings.NewReader(""), &out, &talk, env); code != 0 {
			t.Fatalf("cadre %s: exit %d\n%s%s", strings.Join(args, " "), code, &out, &talk)
		}
		return out.String()
	}
}

func TestATeamThatItsClientErasedComesBack(t *testing.T) {
	claude := t.TempDir()
	if err := os.CopyFS(filepath.Join(claude, "projects"), os.DirFS("../transcript/testdata/v50-lifecycle/projects")); err != nil {
		t.Fatal(err)
	}
	cadreOn := onMachine(t, claude)
	if got := cadreOn(); !strings.Contains(got, "cadre team restore demo-team") {
		t.Errorf("the first screen does not show the erased team:\n%s", got)
	}
	var lines []*coord.TeamLine
	if err := json.Unmarshal([]byte(cadreOn("team", "list", "--all", "--json")), &lines); err != nil {
		t.Fatal(err)
	}
	var erased *coord.TeamLine
	for _, l := range lines {
		if l.Scope == "demo-team" {
			erased = l
		}
	}
	if erased == nil || erased.Where != "erased" || erased.Members != 3 || erased.Tasks[cadre.Completed] != 1 {
		t.Fatalf("listed as %+v", erased)
	}
	if _, err := os.Stat(filepath.Join(claude, "tasks")); !os.IsNotExist(err) {
		t.Error("looking wrote into Claude Code's folder")
	}
	cadreOn("team", "restore", "demo-team")
	var tasks []*cadre.TaskView
	if err := json.Unmarshal([]byte(cadreOn("task", "list", "--json")), &tasks); err != nil {
		t.Fatal(err)
	}
	if len(tasks) != 4 || tasks[2].Subject != "Third task (renamed)" {
		t.Errorf("brought back %d tasks", len(tasks))
	}
	for _, path := range []string{"tasks/demo-team/1.json", "teams/demo-team/config.json"} {
		if _, err := os.Stat(filepath.Join(claude, path)); err != nil {
			t.Error(err)
		}
	}
	var lead cadre.MemberView
	if err := json.Unmarshal([]byte(cadreOn("member", "show", "team-lead", "--json")), &lead); err != nil {
		t.Fatal(err)
	}
	if lead.Spent == nil || lead.Spent.Output == 0 {
		t.Errorf("the lead spent %+v", lead.Spent)
	}
}

func TestEveryErasedListIsShownAndComesBack(t *testing.T) {
	claude := t.TempDir()
	if err := os.CopyFS(filepath.Join(claude, "projects"), os.DirFS("../transcript/testdata/v50-lifecycle/projects")); err != nil {
		t.Fatal(err)
	}
	cadreOn := onMachine(t, claude)
	names := strings.Fields(cadreOn("team", "list", "--all", "-q"))
	const solo = "e87b3a22-3171-4c0c-9daa-bac5abea5c2a" // the session's own list
	if !slices.Contains(names, solo) {
		t.Fatalf("listed %q", names)
	}
	for _, name := range names {
		if got := cadreOn("team", "show", name, "-q"); strings.TrimSpace(got) != name {
			t.Errorf("%s is shown as %s", name, got)
		}
		cadreOn("team", "restore", name)
	}
	if got := cadreOn("task", "list", "--scope", solo); !strings.Contains(got, "Before team") {
		t.Errorf("what came back of the session's list:\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(claude, "teams", solo)); !os.IsNotExist(err) {
		t.Errorf("the session's list became a team: %v", err)
	}
}

func TestAFolderFromAnotherPlaceIsTakenOver(t *testing.T) {
	theirs := t.TempDir()
	for path, content := range map[string]string{
		"tasks/docs/3.json":      `{"id":"3","subject":"from there","description":"","status":"completed","owner":"bob","blocks":[],"blockedBy":[]}`,
		"tasks/other/1.json":     `{"id":"1","subject":"a list","description":"","status":"pending","blocks":[],"blockedBy":[]}`,
		"tasks/taken/1.json":     `{"id":"1","subject":"theirs","description":"","status":"pending","blocks":[],"blockedBy":[]}`,
		"teams/docs/config.json": `{"name":"docs","createdAt":1000,"leadAgentId":"team-lead@docs","leadSessionId":"s","members":[{"agentId":"team-lead@docs","name":"team-lead","joinedAt":1000,"tmuxPaneId":"","cwd":"","subscriptions":[]}]}`,
	} {
		path = filepath.Join(theirs, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours := t.TempDir()
	cadreOn := onMachine(t, ours)
	cadreOn("task", "add", "ours", "--scope", "taken")
	var lines []*coord.TeamLine
	if err := json.Unmarshal([]byte(cadreOn("import", "--from-claude", theirs, "--json")), &lines); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 {
		t.Fatalf("took over %d", len(lines))
	}
	if got := cadreOn("task", "list", "--scope", "taken", "--json"); strings.Contains(got, "theirs") || !strings.Contains(got, "ours") {
		t.Errorf("a taken name became %s", got)
	}
	for _, path := range []string{"tasks/docs/3.json", "tasks/other/1.json", "teams/docs/config.json"} {
		if _, err := os.Stat(filepath.Join(ours, path)); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(theirs, "tasks/docs")); len(entries) != 1 {
		t.Errorf("their folder was written to: %v", entries)
	}
}

// Several lists are looked at side by side, and each asks who wrote to it.
func TestTranscriptsAreAskedSideBySide(t *testing.T) {
	claude := t.TempDir()
	if err := os.CopyFS(filepath.Join(claude, "projects"), os.DirFS("../transcript/testdata/v50-lifecycle/projects")); err != nil {
		t.Fatal(err)
	}
	said := &transcripts{program: &program{env: map[string]string{"CLAUDE_CONFIG_DIR": claude}}}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			said.Live()
			if teams, err := said.Erased(t.Context()); err != nil || len(teams) == 0 {
				t.Errorf("they tell of %d teams: %v", len(teams), err)
			}
		})
	}
	all.Wait()
}

// What Cadre itself writes into Claude Code's folder is no sign of a session: every
// change that nobody explains would wait for its author.
func TestOurOwnFilesAreNoSession(t *testing.T) {
	claude := t.TempDir()
	p := &program{env: map[string]string{"HOME": t.TempDir(), "CADRE_STATE_DIR": filepath.Join(t.TempDir(), "state"), "CLAUDE_CONFIG_DIR": claude}, stderr: &bytes.Buffer{}, now: clock, open: openState}
	p.out = bufio.NewWriter(&bytes.Buffer{})
	if code := p.run(t.Context(), []string{"task", "add", "one"}); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.stderr)
	}
	if _, err := os.Stat(filepath.Join(claude, besideName)); err != nil {
		t.Error(err)
	}
	if p.said.Live() {
		t.Error("a session is thought to be about")
	}
	if err := os.WriteFile(filepath.Join(claude, "history.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !p.said.Live() {
		t.Error("a session that has just begun is not noticed")
	}
}
