package cadre

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestStatusVerbs(t *testing.T) {
	// What each verb does with a task, by who calls and how the task stands.
	// "" means it succeeds; "same" that it succeeds and writes nothing.
	type callers struct{ owner, other, lead string }
	tests := []struct {
		name  string
		setup func(w *world, id TaskID)
		want  map[string]callers
	}{
		{"unowned", func(*world, TaskID) {}, map[string]callers{
			"claim": {"", "", ""}, "start": {"", "", ""}, "done": {"", "", ""}, "release": {"same", "same", "same"},
		}},
		{"claimed", func(w *world, id TaskID) { w.must(as("ann"), &TaskClaim{ID: id}) }, map[string]callers{
			"claim": {"same", "owned", "owned"}, "start": {"", "owned", "owned"}, "done": {"", "owner", ""}, "release": {"", "owner", ""},
		}},
		{"running", func(w *world, id TaskID) { w.must(as("ann"), &TaskStart{ID: id}) }, map[string]callers{
			"claim": {"same", "owned", "owned"}, "start": {"same", "owned", "owned"}, "done": {"", "owner", ""}, "release": {"", "owner", ""},
		}},
		{"completed", func(w *world, id TaskID) { w.must(as("ann"), &TaskDone{ID: id}) }, map[string]callers{
			"claim": {"same", "owned", "owned"}, "start": {"move", "owned", "owned"}, "done": {"same", "finished", "finished"}, "release": {"move", "move", "move"},
		}},
		{"blocked", func(w *world, id TaskID) {
			w.must(operator, &TaskBlock{ID: id, By: []TaskID{w.add("first")}})
		}, map[string]callers{
			"claim": {"waits", "waits", "waits"}, "start": {"waits", "waits", "waits"}, "done": {"waits", "waits", "waits"}, "release": {"same", "same", "same"},
		}},
		{"removed", func(w *world, id TaskID) { w.must(operator, &TaskRemove{ID: id}) }, map[string]callers{
			"claim": {"task-missing", "task-missing", "task-missing"}, "done": {"task-missing", "task-missing", "task-missing"},
		}},
	}
	verbs := map[string]func(TaskID) Change{
		"claim":   func(id TaskID) Change { return &TaskClaim{ID: id} },
		"start":   func(id TaskID) Change { return &TaskStart{ID: id} },
		"done":    func(id TaskID) Change { return &TaskDone{ID: id} },
		"release": func(id TaskID) Change { return &TaskRelease{ID: id} },
	}
	for _, tt := range tests {
		for verb, want := range tt.want {
			for i, caller := range []Actor{as("ann"), as("ben"), operator} {
				expect := []string{want.owner, want.other, want.lead}[i]
				t.Run(fmt.Sprintf("%s/%s/%s", tt.name, verb, caller.Name), func(t *testing.T) {
					w := newTeam(t, "ann", "ben")
					id := w.add("work")
					tt.setup(w, id)
					switch expect {
					case "":
						if _, r, err := w.try(caller, verbs[verb](id)); err != nil || len(r.Events) == 0 {
							t.Errorf("got %d events and %v, want success", len(r.Events), err)
						}
					case "same":
						if _, r, err := w.try(caller, verbs[verb](id)); err != nil || len(r.Events) != 0 {
							t.Errorf("got %d events and %v, want success and no event", len(r.Events), err)
						}
					default:
						w.refused(Rule(expect), caller, verbs[verb](id))
					}
				})
			}
		}
	}
}

func TestClaimNamesTheWinner(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.add("work")
	w.must(as("ann"), &TaskClaim{ID: id})
	if got := w.task(id); got.Owner != "ann" || got.Status != Pending {
		t.Errorf("claim made it %s of %s, want pending of ann", got.Status, got.Owner)
	}
	if e := w.refused(RuleOwned, as("ben"), &TaskClaim{ID: id}); !strings.Contains(e.Message, "ann") {
		t.Errorf("%q does not name the winner", e.Message)
	}
}

func TestCompletingFreesAndTells(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	a, b := w.add("a"), w.add("b")
	c := w.must(operator, &TaskAdd{Subject: "c", BlockedBy: []TaskID{a, b}, Owner: "ben"}).(*Added).ID
	done := w.must(as("ann"), &TaskDone{ID: a, Result: "fine"}).(*Done)
	wantIDs(t, done.Freed)
	if w.task(c).OpenBlockers != 1 {
		t.Errorf("c has %d open blockers, want 1", w.task(c).OpenBlockers)
	}
	w.refused(RuleWaits, as("ben"), &TaskStart{ID: c})
	done = w.must(as("ann"), &TaskDone{ID: b}).(*Done)
	wantIDs(t, done.Freed, c)
	if got := fmt.Sprint(w.inbox("ben")); got != "[task_assignment from team-lead notice from cadre]" {
		t.Errorf("ben was told %s", got)
	}
	if got := w.task(a).Result; got == nil || got.Summary != "fine" {
		t.Errorf("the result is %v", got)
	}
	w.must(as("ben"), &TaskStart{ID: c})
}

func TestReopeningBlocksAgain(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.add("b", a)
	w.must(as("ann"), &TaskDone{ID: a})
	pending := "pending"
	w.refused(RuleAuthor, as("ann"), &TaskUpdate{ID: a, Status: &pending})
	w.must(operator, &TaskUpdate{ID: a, Status: &pending})
	if w.task(b).OpenBlockers != 1 {
		t.Errorf("b has %d open blockers, want 1", w.task(b).OpenBlockers)
	}
}

func TestForce(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.add("b", a)
	w.refused(RuleLead, as("ann"), &TaskDone{ID: b, Force: true})
	w.refused(RulePerson, operator, &TaskDone{ID: b, Force: true})
	w.must(person, &TaskDone{ID: b, Force: true})
	if !w.task(b).has(FlagForced) {
		t.Error("the force is not recorded")
	}
	c := w.add("c", a)
	w.refused(RulePerson, as(LeadName), &TaskStart{ID: c, Force: true}) // the operator under another name
	w.must(member(LeadName), &TaskStart{ID: c, Force: true})
}

func TestNextOrder(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	w.add("low")
	w.must(operator, &TaskAdd{Subject: "high", Priority: "high"})
	w.must(operator, &TaskAdd{Subject: "for ann", Owner: "ann"})
	next := func(a Actor) TaskID { return w.must(a, &TaskNext{Claim: true}).(*TaskView).ID }
	if got := next(as("ann")); got != "3" {
		t.Errorf("ann got %s, want the one assigned to her", got)
	}
	if got := next(as("ann")); got != "3" {
		t.Errorf("ann got %s, want her own unfinished one", got)
	}
	if got := next(as("ben")); got != "2" {
		t.Errorf("ben got %s, want the one with the highest priority", got)
	}
	w.must(as("ben"), &TaskDone{ID: "2"})
	if got := next(as("ben")); got != "1" {
		t.Errorf("ben got %s, want the last one", got)
	}
	w.must(as("ben"), &TaskDone{ID: "1"})
	w.refused(RuleNothing, as("ben"), &TaskNext{Claim: true})
}

func TestNextSaysWhatIsWaitedFor(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	a := w.add("a")
	w.add("b", a)
	w.must(as("ann"), &TaskStart{ID: a})
	if e := w.refused(RuleNothing, as("ben"), &TaskNext{Claim: true}); !strings.Contains(e.Message, "task 2 waits for 1 (a)") {
		t.Errorf("%q does not say what is waited for", e.Message)
	}
}

func TestIDsAreNeverReused(t *testing.T) {
	w := newTeam(t)
	a := w.add("a")
	b := w.add("b")
	w.must(operator, &TaskRemove{ID: b})
	w.must(operator, &TaskRemove{ID: a})
	if c := w.add("c"); c != "3" {
		t.Errorf("got id %s, want 3", c)
	}
}

func TestWhoMayChangeWhat(t *testing.T) {
	text, none := "x", ""
	tests := []struct {
		name                 string
		update               TaskUpdate
		owner, author, other Rule
	}{
		{"subject", TaskUpdate{Subject: &text}, RuleAuthor, "", RuleAuthor},
		{"description", TaskUpdate{Description: &text}, RuleAuthor, "", RuleAuthor},
		{"owner", TaskUpdate{Owner: &none}, RuleAuthor, "", RuleAuthor},
		{"active form", TaskUpdate{ActiveForm: &text}, "", "", RuleOwner},
		{"result", TaskUpdate{Result: &text}, "", "", RuleOwner},
		{"metadata", TaskUpdate{Metadata: map[string]json.RawMessage{"k": json.RawMessage(`1`)}}, "", "", RuleOwner},
		{"adding a blocker", TaskUpdate{AddBlocked: []TaskID{"1"}}, "", "", RuleOwner},
		{"reference", TaskUpdate{Reference: []TaskID{"1"}}, "", "", ""},
	}
	for _, tt := range tests {
		for name, rule := range map[string]Rule{"owner": tt.owner, "author": tt.author, "other": tt.other, LeadName: ""} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				w := newTeam(t, "owner", "author", "other")
				w.add("elsewhere")
				w.must(as("author"), &TaskAdd{Subject: "work", Owner: "owner"})
				v := tt.update
				v.ID = "2"
				if rule == "" {
					w.must(as(name), &v)
				} else {
					w.refused(rule, as(name), &v)
				}
			})
		}
	}
}

func TestAddAnswersWhatShowShows(t *testing.T) {
	w := newTeam(t, "bob")
	first := w.add("first")
	w.must(operator, &TaskDone{ID: w.add("done")})
	for _, v := range []*TaskAdd{
		{Subject: "plain"},
		{Subject: "waits", BlockedBy: []TaskID{first, "2"}, Labels: []string{"x"}, Priority: "high"},
		{Subject: "for bob", Owner: "bob", Parent: first, Plan: true, Paths: []string{"a.go"}},
	} {
		added := w.must(operator, v).(*Added)
		got, err := json.Marshal(added.TaskView)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(w.look(operator, &TaskShow{ID: added.ID}))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("add answers\n%s\nand show\n%s", got, want)
		}
	}
}

func TestStaleVersion(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("work")
	subject, active := "other work", "Working"
	w.must(operator, &TaskUpdate{ID: id, Subject: &subject})
	if e := w.refused(RuleVersion, operator, &TaskUpdate{ID: id, Subject: &subject, IfVersion: new(uint64(1))}); !strings.Contains(e.Message, "subject") {
		t.Errorf("%q does not say what was changed", e.Message)
	}
	w.must(operator, &TaskUpdate{ID: id, ActiveForm: &active, IfVersion: new(uint64(1))})
	w.refused(RuleVersion, operator, &TaskUpdate{ID: id, ActiveForm: &active, IfVersion: new(uint64(99))})
	w.refused(RuleValue, operator, &TaskUpdate{ID: id, ActiveForm: &active, IfVersion: new(uint64(0))})
}

func TestTrackingStaysApart(t *testing.T) {
	w := newTeam(t, "ann")
	plan := w.add("the plan")
	w.must(as("ann"), &TaskStart{ID: plan})
	note := w.must(as("ann"), &TaskAdd{Subject: "my own note"}).(*Added)
	if note.Parent != plan || note.Kind != KindTrack {
		t.Errorf("got parent %q, kind %q; want a track of %s", note.Parent, note.Kind, plan)
	}
	if other := w.add("more plan"); w.task(other).Kind != KindPlan {
		t.Error("what the lead creates is tracked")
	}
}

func TestSimilarSubjects(t *testing.T) {
	w := newTeam(t)
	first := w.add("Write the docs")
	second := w.must(operator, &TaskAdd{Subject: "write  the DOCS"}).(*Added)
	wantIDs(t, second.Similar, first)
}

// TestALaterResultIsKept: what is said with a completion that was already there is not
// lost, but the same again writes nothing, and a runtime says nothing better than who
// did the work.
func TestALaterResultIsKept(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("work")
	w.must(as("ann"), &TaskDone{ID: id})
	w.must(as("ann"), &TaskDone{ID: id, Result: "good", Files: []string{"a.go"}})
	if r := w.task(id).Result; r == nil || r.Summary != "good" || len(r.Files) != 1 {
		t.Fatalf("the result is %+v", r)
	}
	version := w.task(id).Version
	w.must(as("ann"), &TaskDone{ID: id, Result: "good", Files: []string{"a.go"}})
	w.must(as("ann"), &TaskDone{ID: id})
	w.must(as("ann"), &TaskDone{ID: id, Result: "exit code 0", Tell: true})
	w.refused(RuleFinished, operator, &TaskDone{ID: id, Result: "bad"})
	if got := w.task(id); got.Version != version || got.Result.Summary != "good" {
		t.Errorf("it is at version %d, not %d, with %+v", got.Version, version, got.Result)
	}
}

func TestRemoveAndRestore(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.must(operator, &TaskAdd{Subject: "b", BlockedBy: []TaskID{a}, Owner: "ann"}).(*Added).ID
	if e := w.refused(RuleBlocks, operator, &TaskRemove{ID: a}); !strings.Contains(e.Hint, "--unblock") {
		t.Errorf("the hint is %q", e.Hint)
	}
	w.must(operator, &TaskRemove{ID: a, Unblock: true})
	if got := w.task(b); got.OpenBlockers != 0 || len(got.BlockedBy) != 0 || !got.has(FlagUnblocked) {
		t.Errorf("b is %+v", got)
	}
	if got := w.inbox("ann"); len(got) != 2 {
		t.Errorf("ann was told %v", got)
	}
	w.must(operator, &TaskRestore{ID: a})
	if got := w.task(b); got.OpenBlockers != 1 || got.has(FlagUnblocked) {
		t.Errorf("after the restore b is %+v", got)
	}
	w.must(as("ann"), &TaskDone{ID: a})
	w.must(as("ann"), &TaskStart{ID: b})
	w.must(operator, &TaskRemove{ID: b})
	w.must(operator, &TaskRemove{ID: a, Unblock: true})
	w.must(operator, &TaskRestore{ID: a})
	w.must(operator, &TaskRestore{ID: b})
	if got := w.task(a); got.Status != Completed || got.Owner != "ann" {
		t.Errorf("finished work came back as %s of %q", got.Status, got.Owner)
	}
	if got := w.task(b); got.Status != Pending || got.Owner != "ann" {
		t.Errorf("work that was under way came back as %s of %q", got.Status, got.Owner)
	}
}

func TestMetadataSetsFields(t *testing.T) {
	w := newTeam(t)
	id := w.add("work")
	w.must(operator, &TaskUpdate{ID: id, Metadata: map[string]json.RawMessage{
		"priority": json.RawMessage(`"high"`), "tags": json.RawMessage(`["urgent","backend"]`), "result": json.RawMessage(`"good"`), "estimatedHours": json.RawMessage(`4`),
	}})
	got := w.task(id)
	if got.Priority != High || fmt.Sprint(got.Labels) != "[urgent backend]" || got.Result.Summary != "good" || string(got.Metadata["estimatedHours"]) != "4" {
		t.Errorf("got %+v", got)
	}
	w.must(operator, &TaskUpdate{ID: id, Metadata: map[string]json.RawMessage{"estimatedHours": json.RawMessage(`null`)}})
	if _, there := w.task(id).Metadata["estimatedHours"]; there {
		t.Error("null did not remove the key")
	}
}

func TestOldWordsForStatus(t *testing.T) {
	w := newTeam(t)
	id := w.add("work")
	resolved, open := "resolved", "open"
	w.must(operator, &TaskUpdate{ID: id, Status: &resolved})
	if got := w.task(id).Status; got != Completed {
		t.Errorf("resolved made it %s", got)
	}
	w.must(operator, &TaskUpdate{ID: id, Status: &open})
	if got := w.task(id).Status; got != Pending {
		t.Errorf("open made it %s", got)
	}
}

func TestLimitsAndBadInput(t *testing.T) {
	w := newTeam(t)
	id := w.add("work")
	long := strings.Repeat("ä", MaxSubject+1)
	for name, tt := range map[string]struct {
		rule Rule
		verb Change
	}{
		"no subject":       {RuleValue, &TaskAdd{Subject: "  "}},
		"long subject":     {RuleLimit, &TaskAdd{Subject: long}},
		"long description": {RuleLimit, &TaskAdd{Subject: "x", Description: strings.Repeat("x", MaxDescription+1)}},
		"NUL":              {RuleValue, &TaskAdd{Subject: "a\x00b"}},
		"not UTF-8":        {RuleValue, &TaskAdd{Subject: "a\xffb"}},
		"metadata":         {RuleLimit, &TaskAdd{Subject: "x", Metadata: map[string]json.RawMessage{"k": json.RawMessage(`"` + strings.Repeat("x", MaxMetadata) + `"`)}}},
		"bad metadata":     {RuleValue, &TaskAdd{Subject: "x", Metadata: map[string]json.RawMessage{"k": json.RawMessage(`{`)}}},
		"priority":         {RuleValue, &TaskAdd{Subject: "x", Priority: "soon"}},
		"status":           {RuleValue, &TaskUpdate{ID: id, Status: &long}},
		"path as id":       {RuleName, &TaskClaim{ID: "../x"}},
		"no id":            {RuleName, &TaskClaim{}},
		"unknown id":       {RuleTaskMissing, &TaskClaim{ID: "77"}},
		"owner":            {RuleName, &TaskAdd{Subject: "x", Owner: "../../etc"}},
		"parent":           {RuleTaskMissing, &TaskAdd{Subject: "x", Parent: "77"}},
		"blocker":          {RuleTaskMissing, &TaskAdd{Subject: "x", BlockedBy: []TaskID{"77"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.refused(tt.rule, operator, tt.verb)
		})
	}
}

func TestLeases(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.add("work")
	w.must(as("ann"), &TaskStart{ID: id, Lease: 30 * time.Second})
	fence := w.task(id).Fence
	w.now.Up += 29 * time.Second
	w.now.Wall = w.now.Wall.Add(-5 * time.Hour) // the wall clock does not matter
	w.refused(RuleOwned, as("ben"), &TaskClaim{ID: id})
	w.must(as("ann"), &TaskRenew{ID: id, Fence: fence, Lease: 30 * time.Second})
	w.now.Up += 31 * time.Second
	w.must(as("ben"), &TaskClaim{ID: id})
	got := w.task(id)
	if got.Owner != "ben" || got.Attempts != 1 || got.Fence <= fence {
		t.Errorf("got %+v", got)
	}
	w.refused(RuleFence, as("ann"), &TaskDone{ID: id, Fence: fence})
	if ann, _ := (Snap{&w.state}).Member("ann"); ann.State != StateUnreachable {
		t.Errorf("ann is %s", ann.State)
	}
	if got := w.inbox(LeadName); len(got) != 1 {
		t.Errorf("the lead was told %v", got)
	}
}

func TestAnotherBootEndsALease(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("work")
	for i := range DefaultAttempts {
		w.must(as("ann"), &TaskStart{ID: id, Lease: time.Hour})
		w.now.Boot = fmt.Sprint("boot ", i)
		w.must(operator, &LeasesExpire{})
	}
	if got := w.task(id); got.Attempts != DefaultAttempts || !got.has(FlagPerson) {
		t.Errorf("got %+v", got)
	}
	w.refused(RulePerson, as("ann"), &TaskStart{ID: id})
	w.refused(RuleNothing, as("ann"), &TaskNext{Claim: true})
}

func TestAcceptFreesWhatWasCompletedOutOfOrder(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.add("b", a)
	c := w.add("c", b)
	// Another program completes b although a is open.
	w.completeBehindItsBack(b)
	w.check()
	w.refused(RuleWaits, as("ann"), &TaskStart{ID: c})
	w.refused(RuleLead, as("ann"), &TaskAccept{ID: b})
	w.must(operator, &TaskAccept{ID: b})
	w.must(as("ann"), &TaskStart{ID: c})
}

func TestOutOfOrderIsAcceptedOnceItsBlockersComplete(t *testing.T) {
	w := newTeam(t, "ann")
	a := w.add("a")
	b := w.add("b", a)
	c := w.add("c", b)
	w.completeBehindItsBack(b)
	w.must(as("ann"), &TaskDone{ID: a})
	w.must(as("ann"), &TaskStart{ID: c})
}

// completeBehindItsBack is another program completing a task through a file,
// although it waits for others.
func (w *world) completeBehindItsBack(id TaskID) {
	old := w.task(id)
	foreign := old.Clone()
	foreign.Status, foreign.Version = Completed, old.Version+1
	foreign.flag(FlagUnaccepted)
	w.apply(w.command(Self), []Event{{Before: old, After: foreign}})
}

func TestFewerThanNoneCannotBeShown(t *testing.T) {
	w := newTeam(t)
	for _, q := range []Query{&TaskList{Limit: -1}, &TaskReady{Limit: -1}, &MsgInbox{Limit: -1}} {
		if _, err := q.Look(Snap{&w.state}, w.command(operator)); AsError(err) == nil || AsError(err).Rule != RuleValue {
			t.Errorf("%T gives %v", q, err)
		}
	}
}

// A member's token can be used from anywhere: what it brings is not run here.
func TestATokenAloneGivesNoCommands(t *testing.T) {
	w := newTeam(t, "ann")
	w.refused(RuleLead, member("ann"), &TaskAdd{Subject: "x", Run: "id"})
	w.refused(RuleLead, member("ann"), &TaskImport{Lines: []ImportLine{{Subject: "x", Run: "id"}}})
	own := w.must(member("ann"), &TaskAdd{Subject: "own"}).(*Added).ID
	w.refused(RuleLead, member("ann"), &TaskUpdate{ID: own, Run: new("id")})
	near := member("ann")
	near.Proof = ProofProcess
	w.must(near, &TaskUpdate{ID: own, Run: new("id")})
	w.must(operator, &TaskAdd{Subject: "y", Run: "id"})
}
