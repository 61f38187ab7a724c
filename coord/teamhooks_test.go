package coord_test

import (
	"os"
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
