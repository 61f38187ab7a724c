package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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
