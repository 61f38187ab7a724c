package cadre

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// These are ways around a rule that once worked.

func TestOneUpdateCannotCloseACycle(t *testing.T) {
	w := newTeam(t)
	a, b := w.add("a"), w.add("b")
	w.refused(RuleCycle, operator, &TaskUpdate{ID: a, AddBlocked: []TaskID{b}, AddBlocks: []TaskID{b}})
}

func TestACompletedTaskCannotBeginToWait(t *testing.T) {
	w := newTeam(t)
	a, b := w.add("a"), w.add("b")
	c := w.add("c", b)
	pending := string(Pending)
	w.must(operator, &TaskDone{ID: a})
	for _, other := range []string{"open", "completed"} {
		forward := w.refused(RuleMove, operator, &TaskBlock{ID: a, By: []TaskID{b}})
		backward := w.refused(RuleMove, operator, &TaskUpdate{ID: b, AddBlocks: []TaskID{a}})
		if forward.Error() != backward.Error() || forward.Hint != backward.Hint {
			t.Errorf("for an %s blocker: %q one way, %q the other", other, forward, backward)
		}
		if other == "open" {
			w.must(operator, &TaskDone{ID: b})
		}
	}
	w.refused(RuleMove, operator, &TaskUpdate{ID: b, AddBlocks: []TaskID{a}, Status: &pending}) // open again in the same moment
	w.must(operator, &TaskDone{ID: c})
	w.must(operator, &TaskBlock{ID: c, By: []TaskID{b}}) // the edge was there before
	w.must(operator, &TaskUpdate{ID: b, AddBlocks: []TaskID{c}, Status: &pending})
}

func TestAReferenceIsNotMadeAndTakenAtOnce(t *testing.T) {
	w := newTeam(t)
	a, b := w.add("a"), w.add("b")
	w.refused(RuleValue, operator, &TaskUpdate{ID: a, Reference: []TaskID{b}, Unreference: []TaskID{"#" + b}})
}

func TestMetadataIsNotNestedTooDeep(t *testing.T) {
	w := newTeam(t)
	deep := json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	w.refused(RuleLimit, operator, &TaskAdd{Subject: "x", Metadata: map[string]json.RawMessage{"k": deep}})
	for raw, want := range map[string]int{`1`: 0, `"[[["`: 0, `"\"["`: 0, `[]`: 1, `{"a":[{"b":"]"}]}`: 3} {
		if got := jsonDepth([]byte(raw)); got != want {
			t.Errorf("%s is %d deep, want %d", raw, got, want)
		}
	}
}

func TestMetadataIsAppliedInOneOrder(t *testing.T) {
	for range 50 {
		w := newTeam(t)
		id := w.must(operator, &TaskAdd{Subject: "x", Metadata: map[string]json.RawMessage{
			"labels": json.RawMessage(`["one"]`), "tags": json.RawMessage(`["two"]`),
		}}).(*Added).ID
		if got := fmt.Sprint(w.task(id).Labels); got != "[two]" {
			t.Fatalf("labels %s", got)
		}
	}
}

func TestPriorityIsThePlansAlsoInMetadata(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("work")
	w.must(as("ann"), &TaskUpdate{ID: id, Metadata: map[string]json.RawMessage{"note": json.RawMessage(`1`)}})
	w.refused(RuleAuthor, as("ann"), &TaskUpdate{ID: id, Metadata: map[string]json.RawMessage{"priority": json.RawMessage(`"urgent"`)}})
}

func TestImportKeepsTheRules(t *testing.T) {
	w := newTeam(t, "ann")
	w.refused(RuleValue, operator, &TaskImport{Lines: []ImportLine{{Subject: "a", Status: "deleted"}, {Subject: "b", BlockedBy: []LineRef{"@1"}}}})
	w.refused(RuleWaits, operator, &TaskImport{Lines: []ImportLine{{Subject: "a"}, {Subject: "b", Status: "in_progress", BlockedBy: []LineRef{"@1"}}}})
	w.refused(RuleValue, as("ann"), &TaskImport{Lines: []ImportLine{{Subject: "hidden", Kind: KindInternal}}})
	w.refused(RuleLimit, operator, &TaskImport{Lines: []ImportLine{{Subject: "a", BlockedBy: make([]LineRef, MaxBlockers+1)}}})
	w.must(as("ann"), &TaskImport{Lines: []ImportLine{{Subject: "a", Comments: []CommentView{{Author: LeadName, Content: "approved"}}}}})
	if c := w.look(operator, &TaskShow{ID: "1"}).(*TaskView).Comments; c[0].Author != "ann" {
		t.Errorf("a comment of ann's is signed by %s", c[0].Author)
	}
	w.must(operator, &TaskImport{Lines: []ImportLine{{Subject: "for ann", Owner: "ann"}, {Subject: "and this", Owner: "ann", Metadata: map[string]json.RawMessage{"result": json.RawMessage(`"kept"`)}}}})
	if got := w.inbox("ann"); len(got) != 1 {
		t.Errorf("ann was told %v", got)
	}
	if r := w.task("3").Result; r == nil || r.Summary != "kept" {
		t.Errorf("the result is %v", r)
	}
	var ref ImportLine
	if err := json.Unmarshal([]byte(`{"subject":"x","blockedBy":[1,"2"],"parent":3}`), &ref); err != nil || !slices.Equal(ref.BlockedBy, []LineRef{"1", "2"}) || ref.Parent != "3" {
		t.Errorf("read %+v, %v", ref, err)
	}
}

func TestUndoKeepsTheRules(t *testing.T) {
	w := newTeam(t, "ann")
	a, b := w.add("a"), w.add("b")
	w.must(as("ann"), &TaskStart{ID: a})
	w.must(as("ann"), &TaskRelease{ID: a})
	release := w.last()
	w.must(operator, &TaskBlock{ID: a, By: []TaskID{b}})
	w.must(as("ann"), &Undo{Events: release})
	if got := w.task(a); got.Status != Pending {
		t.Errorf("a task that waits is %s again", got.Status)
	}
	c := w.add("c")
	w.must(as("ann"), &TaskDone{ID: c})
	pending := "pending"
	w.must(operator, &TaskUpdate{ID: c, Status: &pending})
	reopen := w.last()
	w.must(operator, &TaskBlock{ID: c, By: []TaskID{b}})
	w.refused(RuleWaits, operator, &Undo{Events: reopen})
	d := w.add("d")
	w.must(as("ann"), &TaskStart{ID: d})
	w.must(operator, &TaskRemove{ID: d})
	removal := w.last()
	w.must(as("ann"), &MemberLeave{})
	w.must(operator, &Undo{Events: removal})
	if got := w.task(d); got.Status != Pending || got.Owner != "" {
		t.Errorf("the work of someone who left is %s of %q", got.Status, got.Owner)
	}
}

func TestALeaseIsTakenOnOnesOwnTaskToo(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.must(operator, &TaskAdd{Subject: "x", Owner: "ann"}).(*Added).ID
	w.must(as("ann"), &TaskNext{Claim: true, Lease: time.Minute})
	got := w.task(id)
	if !got.Leased || got.Fence == 0 || got.Status != InProgress {
		t.Errorf("got %+v", got)
	}
	w.must(as("ann"), &TaskStart{ID: id, Lease: 1 << 62})
	if h := w.holder("ann"); h.Lease.expired(w.now) {
		t.Error("a very long lease is over at once")
	}
}

func TestAReleaseEndsTheClaim(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("x")
	w.must(as("ann"), &TaskStart{ID: id})
	fence := w.task(id).Fence
	w.must(operator, &TaskRelease{ID: id})
	w.refused(RuleFence, as("ann"), &TaskDone{ID: id, Fence: fence})
}

func TestALostMembersTasksGoBackTogether(t *testing.T) {
	w := newTeam(t, "ann")
	for range 3 {
		w.must(as("ann"), &TaskClaim{ID: w.add("x"), Lease: time.Minute})
	}
	w.now.Up += time.Hour
	w.must(operator, &LeasesExpire{})
	for _, id := range []TaskID{"1", "2", "3"} {
		if got := w.task(id); got.Owner != "" || got.Attempts != 1 {
			t.Errorf("task %s is of %q after %d attempts", id, got.Owner, got.Attempts)
		}
	}
	if got := w.inbox(LeadName); len(got) != 1 {
		t.Errorf("the lead was told %v", got)
	}
}

func TestAPlanModeMemberComesBackAsOne(t *testing.T) {
	w := newTeam(t)
	w.must(operator, &TeamJoin{Name: "careful", PlanMode: true})
	w.must(as("careful"), &MemberLeave{})
	if m := w.must(operator, &TeamJoin{Name: "careful"}).(*MemberView); !m.PlanMode {
		t.Error("leaving and joining again switches plan mode off")
	}
}

func TestADepartedNameIsNotAStrangersToTake(t *testing.T) {
	w := newTeam(t)
	one, two := session("11111111"), session("22222222")
	w.must(one, &TeamJoin{Name: "coder"})
	w.must(one, &MemberLeave{})
	if m := w.must(two, &TeamJoin{Name: "coder"}).(*MemberView); m.Name != "coder-2" {
		t.Errorf("a stranger joined as %s", m.Name)
	}
	if m := w.must(one, &TeamJoin{Name: "coder"}).(*MemberView); m.Name != "coder" {
		t.Errorf("it came back as %s", m.Name)
	}
}

func TestATaskIsNoPartOfItself(t *testing.T) {
	w := newTeam(t)
	a, b := w.add("a"), w.add("b")
	w.must(operator, &TaskUpdate{ID: a, Parent: &b})
	w.refused(RuleValue, operator, &TaskUpdate{ID: b, Parent: &a})
}

func TestNextLeavesOthersNotesAlone(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	plan := w.add("plan")
	w.must(as("ann"), &TaskStart{ID: plan})
	w.must(as("ann"), &TaskAdd{Subject: "ann's own note"})
	w.refused(RuleNothing, as("ben"), &TaskNext{Claim: true})
}

func TestNextGoesOnWhileAPlanWaits(t *testing.T) {
	w := newTeam(t, "ann")
	gated := w.must(operator, &TaskAdd{Subject: "gated", Plan: true, Owner: "ann"}).(*Added).ID
	other := w.add("other")
	w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "like this", Task: gated})
	if got := w.must(as("ann"), &TaskNext{Claim: true}).(*TaskView).ID; got != other {
		t.Errorf("ann got %s while her plan waits, want %s", got, other)
	}
}

func TestReadersWriteNothing(t *testing.T) {
	w := newTeam(t)
	guest := Actor{Kind: ActorGuest, Name: "guest", Proof: ProofEnv}
	item := TodoItem{Content: "a", ActiveForm: "b", Status: Pending}
	w.refused(RuleMember, guest, &TodoWrite{Items: []TodoItem{item}})
}

func TestALongNameCostsNothing(t *testing.T) {
	w := newTeam(t, "ann")
	w.refused(RuleName, operator, &MsgSend{To: strings.Repeat("x", 1<<20), Text: "hello"})
}

func TestOrderOfRefusals(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.add("work")
	w.must(as("ann"), &TaskStart{ID: id})
	text, bad, running, completed := "x", "someday", "in_progress", "completed"
	long := strings.Repeat("x", MaxMetadata+1)
	stranger := Actor{Kind: ActorMember, Name: "ann", Scope: "elsewhere", Proof: ProofToken}
	remote := Actor{Kind: ActorMember, Name: "ann", Scope: w.state.Name, Proof: ProofToken}
	for name, tt := range map[string]struct {
		rule Rule
		who  Actor
		verb Change
	}{
		"reading before usage":       {RuleRead, stranger, &TaskBlock{ID: id}},
		"usage before not found":     {RuleValue, operator, &TaskUpdate{ID: "77", Status: &bad}},
		"usage before not found 2":   {RuleValue, operator, &TaskComment{ID: "77"}},
		"usage before not found 3":   {RuleLimit, operator, &TaskUpdate{ID: "77", Run: &long}},
		"usage before rights":        {RuleValue, remote, &TaskAdd{Subject: "x", Run: "true", Priority: "soon"}},
		"not found before rights":    {RuleTaskMissing, remote, &TaskAdd{Subject: "x", Run: "true", BlockedBy: []TaskID{"77"}}},
		"not found before rights 2":  {RuleTaskMissing, remote, &TaskImport{Lines: []ImportLine{{Subject: "x", Run: "true", BlockedBy: []LineRef{"77"}}}}},
		"rights after all":           {RuleLead, remote, &TaskAdd{Subject: "x", Run: "true"}},
		"rights after all, in a row": {RuleLead, remote, &TaskImport{Lines: []ImportLine{{Subject: "x", Run: "true"}}}},
		"nothing to change":          {RuleValue, operator, &TaskUpdate{ID: id}},
		"not found before conflict":  {RuleTaskMissing, operator, &TaskUpdate{ID: id, AddBlocked: []TaskID{"77"}, Subject: &text, IfVersion: new(uint64(99))}},
		"conflict before rights":     {RuleOwned, as("ben"), &TaskUpdate{ID: id, Status: &running, ActiveForm: &text}},
		"blocked before rights": {RuleWaits, as("ben"), func() Change {
			blocked := w.add("blocked", id)
			w.must(operator, &TaskUpdate{ID: blocked, Owner: &[]string{"ann"}[0]})
			return &TaskUpdate{ID: blocked, Status: &completed, Result: &text}
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.refused(tt.rule, tt.who, tt.verb)
		})
	}
}

func TestALeadStartsForAnother(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("work")
	owner, running := "ann", "in_progress"
	w.must(operator, &TaskUpdate{ID: id, Owner: &owner, Status: &running})
	if got := w.task(id); got.Owner != "ann" || got.Status != InProgress {
		t.Errorf("it is %s of %q", got.Status, got.Owner)
	}
}
