package cadre

import (
	"testing"
	"time"
)

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

// TestWhoeverStartsATaskThatNeedsAPersonIsOne: it runs then and waits for nobody, until
// it fails again.
func TestWhoeverStartsATaskThatNeedsAPersonIsOne(t *testing.T) {
	for name, start := range map[string]func(TaskID) Change{
		"itself":      func(id TaskID) Change { return &TaskStart{ID: id, Lease: time.Hour} },
		"for another": func(id TaskID) Change { return &TaskUpdate{ID: id, Owner: new("ann"), Status: new(string(InProgress))} },
		"in a file":   func(id TaskID) Change { return startedInFile(id, member(LeadName)) },
	} {
		w := newTeam(t, "ann")
		id := w.must(as("ann"), &TaskAdd{Subject: "work", MaxAttempts: 1}).(*Added).ID
		w.must(as("ann"), &TaskRefused{ID: id, Reason: "tests fail"})
		question := w.must(as("ann"), &AskFor{Kind: AskQuestion, Task: id, Text: "which?"}).(*Ask).ID
		w.must(operator, start(id))
		if got := w.task(id); got.has(FlagPerson) || got.Status != InProgress {
			t.Errorf("%s: it is %+v", name, got)
		}
		asks := w.look(operator, &AskList{}).([]*Ask)
		if len(asks) != 1 || asks[0].ID != question {
			t.Errorf("%s: %v wait for an answer", name, asks)
		}
		w.must(as("ann"), &TaskRefused{ID: id, Reason: "tests fail"})
		if got, asks := w.task(id), w.look(operator, &AskList{}).([]*Ask); !got.has(FlagPerson) || len(asks) != 2 {
			t.Errorf("%s: refused again it is %+v with %v", name, got, asks)
		}
		w.check()
	}
}

// startedInFile is that somebody's client started a task.
func startedInFile(id TaskID, by Actor) Change {
	return &Foreign{Tasks: []ForeignTask{{ID: id, By: by, Digest: "d", Owner: new(by.Name), Status: new(string(InProgress))}}}
}

// TestAFileSpeaksForNobodyElse: that a task was started by a teammate's client, or by
// nobody knows whom, is a fact, and no person's answer.
func TestAFileSpeaksForNobodyElse(t *testing.T) {
	for _, by := range []Actor{member("ann"), session("5e551011-aaaa"), External} {
		w := newTeam(t, "ann")
		id := w.must(as("ann"), &TaskAdd{Subject: "work", MaxAttempts: 1}).(*Added).ID
		w.must(as("ann"), &TaskRefused{ID: id, Reason: "tests fail"})
		w.must(External, startedInFile(id, by))
		if got := w.task(id); !got.has(FlagPerson) || got.Status != InProgress || len(w.look(operator, &AskList{}).([]*Ask)) != 1 {
			t.Errorf("started by %s it is %+v", by, got)
		}
		w.check()
	}
}
