package cadre

import (
	"slices"
	"testing"
)

func TestAnotherCommandIsApprovedAnew(t *testing.T) {
	w := spawned(t, "ann")
	gated := w.must(operator, &TaskAdd{Subject: "deploy", Run: "make deploy", Plan: true, Owner: "ann"}).(*Added).ID
	w.must(person, &AskApprove{ID: w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "make deploy", Task: gated}).(*Ask).ID})
	worse := "rm -rf /"
	w.refused(RuleAuthor, as("ann"), &TaskUpdate{ID: gated, Run: &worse})
	w.must(operator, &TaskUpdate{ID: gated, Run: &worse})
	w.refused(RulePlan, as("ann"), &TaskStart{ID: gated})
}

func TestAKeyMakesOneTask(t *testing.T) {
	w := newTeam(t)
	lines := []ImportLine{{Key: "build", Subject: "build"}, {Key: "test", Subject: "test", BlockedBy: []LineRef{"@1"}}}
	w.must(operator, &TaskImport{Lines: lines})
	w.must(operator, &TaskImport{Lines: lines})
	more := append([]ImportLine{{Key: "lint", Subject: "lint", BlockedBy: []LineRef{"@3"}}}, lines...)
	got := w.must(operator, &TaskImport{Lines: append(more, ImportLine{Key: "ship", Subject: "ship", BlockedBy: []LineRef{"@1", "@2"}})}).(*Imported)
	if !slices.Equal(got.IDs, []TaskID{"3", "4"}) {
		t.Fatalf("the last import made %v", got.IDs)
	}
	if by := w.task("3").BlockedBy; !slices.Equal(by, []TaskID{"2"}) {
		t.Errorf("lint waits for %v", by)
	}
	if by := w.task("4").BlockedBy; !slices.Equal(by, []TaskID{"3", "1"}) {
		t.Errorf("ship waits for %v", by)
	}
	w.refused(RuleValue, operator, &TaskImport{Lines: []ImportLine{{Key: "a", Subject: "a"}, {Key: "a", Subject: "b"}}})
	e := w.refused(RuleCycle, operator, &TaskImport{Lines: []ImportLine{{Key: "build", Subject: "build"}, {Subject: "x", BlockedBy: []LineRef{"@3"}}, {Subject: "y", BlockedBy: []LineRef{"@2"}}}})
	if want := "line 2: the import has a cycle: @2 waits for @3 waits for @2"; e.Message != want {
		t.Errorf("%q, want %q", e.Message, want)
	}
}

func TestATaskMaySayHowOftenItIsTried(t *testing.T) {
	w := spawned(t, "ann")
	w.must(operator, &TaskAdd{Subject: "flaky", Run: "false", MaxAttempts: 1})
	got := w.must(as("ann"), &TaskNext{Claim: true, Runs: true}).(*TaskView)
	w.must(as("ann"), &TaskFail{ID: got.ID, Fence: got.Fence, Result: "no"})
	if !w.task(got.ID).has(FlagPerson) {
		t.Errorf("%+v", w.task(got.ID))
	}
	w.refused(RuleLimit, operator, &TaskAdd{Subject: "x", MaxAttempts: 101})
}
