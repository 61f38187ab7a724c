package cadre

import "testing"

func TestAGateThatATaskGetsLater(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.must(operator, &TaskAdd{Subject: "x", Owner: "ann"}).(*Added).ID
	gate := &PlanGate{}
	w.refused(RuleAuthor, as("ann"), &TaskGate{ID: id, Gate: gate})
	w.must(operator, &TaskGate{ID: id, Gate: gate})
	w.refused(RulePlan, as("ann"), &TaskStart{ID: id})
	if _, r, err := w.try(operator, &TaskGate{ID: id, Gate: gate}); err != nil || len(r.Events) != 0 {
		t.Errorf("the same again is %v, %v", r.Events, err)
	}
	own := w.must(as("ann"), &TaskAdd{Subject: "y"}).(*Added).ID
	w.must(as("ann"), &TaskGate{ID: own, Gate: gate})
	w.refused(RuleOperator, as("ann"), &TaskGate{ID: own})
	w.refused(RuleOperator, as("ann"), &TaskGate{ID: own, Gate: &PlanGate{Approvers: []string{"ben"}}})
	for _, who := range []Actor{as("ann"), operator} {
		w.refused(RulePlan, who, &TaskDone{ID: own})
	}
	w.must(operator, &TaskGate{ID: own})
	w.must(as("ann"), &TaskStart{ID: own})
}
