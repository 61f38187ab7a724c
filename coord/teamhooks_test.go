package coord_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
)

// TestTeamHooksHoldForEverybody: who has no hooks of its own is asked by the team's.
func TestTeamHooksHoldForEverybody(t *testing.T) {
	d := newDesk(t)
	d.Env = []string{"PATH=" + os.Getenv("PATH"), "CADRE_TOKEN=secret"}
	dir := t.TempDir()
	op := d.at(dir, nil)
	must[*cadre.TeamView](t, op, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	op = d.at(dir, nil)
	must[*cadre.Added](t, op, &cadre.TaskAdd{Subject: "one"})
	hooks := map[string][]cadre.Hook{"TaskCompleted": {{Command: `test -z "$CADRE_TOKEN" && grep -q '"summary":"tested"' || { echo "not tested" >&2; exit 2; }`, Timeout: time.Minute}}}
	must[*cadre.TeamView](t, op, &cadre.TeamHooks{Hooks: hooks})
	ann := d.at(dir, nil, "as=ann")
	refused(t, cadre.RuleOperator, ann, &cadre.TeamHooks{})
	if e := refused(t, cadre.RuleGate, ann, &cadre.TaskDone{ID: "1"}); !strings.Contains(e.Message, "not tested") {
		t.Errorf("%v", e)
	}
	must[*cadre.Done](t, ann, &cadre.TaskDone{ID: "1", Result: "tested"})
	must[*cadre.Added](t, ann, &cadre.TaskAdd{Subject: "two"})
	must[*cadre.TeamView](t, op, &cadre.TeamHooks{})
	must[*cadre.Done](t, ann, &cadre.TaskDone{ID: "2"})
}

// TestNoFolderLeadsAroundAHook has a member complete its task from where the hook is
// not, or is another.
func TestNoFolderLeadsAroundAHook(t *testing.T) {
	d := newDesk(t)
	d.Env = []string{"PATH=" + os.Getenv("PATH")}
	own, elsewhere := t.TempDir(), t.TempDir()
	for dir, says := range map[string]string{own: "echo not good >&2; exit 2", elsewhere: "exit 0"} {
		if err := os.WriteFile(filepath.Join(dir, "check"), []byte("#!/bin/sh\n"+says+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	op := d.at(own, nil)
	must[*cadre.TeamView](t, op, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	op = d.at(own, nil)
	must[*cadre.Added](t, op, &cadre.TaskAdd{Subject: "one", Owner: "ann"})
	must[*cadre.TeamView](t, op, &cadre.TeamHooks{Hooks: map[string][]cadre.Hook{"TaskCompleted": {{Command: "./check", Timeout: time.Minute}}}})
	must[*cadre.MemberView](t, op, &cadre.MemberSpawn{Name: "ann", Backend: cadre.BackendShell, Folder: own})
	ann := d.at(elsewhere, nil)
	ann.Scope, ann.Actor = "docs", cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: "docs", Proof: cadre.ProofProcess}
	if e := refused(t, cadre.RuleGate, ann, &cadre.TaskDone{ID: "1"}); !strings.Contains(e.Message, "not good") {
		t.Errorf("%v", e)
	}
	if err := os.Remove(filepath.Join(own, "check")); err != nil {
		t.Fatal(err)
	}
	if e := refused(t, cadre.RuleGate, ann, &cadre.TaskDone{ID: "1"}); !strings.Contains(e.Message, "./check, which the team itself names, could not be started") || e.Hint != "cadre team show" {
		t.Errorf("%v", e)
	}
}
