package cadre

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// token is the operator with a token of its own.
func token(id string) Actor {
	return Actor{Kind: ActorOperator, Name: "operator", Proof: ProofToken, Token: id}
}

func (w *world) ask(id AskID) *Ask {
	w.t.Helper()
	return w.look(operator, &AskShow{ID: id}).(*Ask)
}

// wait lets time pass.
func (w *world) wait(d time.Duration) { w.now.Wall = w.now.Wall.Add(d) }

func TestNobodyAnswersInTime(t *testing.T) {
	for name, tt := range map[string]struct {
		kind   AskKind
		policy PolicyAnswer // empty: what goes without saying
		want   AskState
	}{
		"a plan is denied":          {AskPlan, "", AskRejected},
		"a permission is denied":    {AskPermission, PolicyDeny, AskRejected},
		"a question is over":        {AskQuestion, PolicyDeny, AskExpired},
		"a plan is approved":        {AskPlan, PolicyApprove, AskApproved},
		"a permission is approved":  {AskPermission, PolicyApprove, AskApproved},
		"a permission waits":        {AskPermission, PolicyWait, AskOpen},
		"a question waits for ever": {AskQuestion, PolicyWait, AskOpen},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTeam(t, "ann")
			digest := ""
			if tt.policy != "" {
				w.must(operator, &TeamPolicy{Kind: tt.kind, Then: tt.policy})
				team, _ := Snap{&w.state}.Team()
				digest = team.Settings.Policies[tt.kind].Digest
			}
			id := w.must(operator, &TaskAdd{Subject: "x", Plan: true, Owner: "ann"}).(*Added).ID
			ask := w.must(as("ann"), &AskFor{Kind: tt.kind, Text: "like this", Task: id}).(*Ask)
			w.wait(DefaultAskDeadline - time.Millisecond)
			if got := w.must(answers, &AsksExpire{}); fmt.Sprint(got) != "[]" {
				t.Fatalf("%v is over before its time", got)
			}
			w.wait(time.Millisecond)
			w.must(answers, &AsksExpire{})
			got := w.ask(ask.ID)
			if got.State != tt.want {
				t.Fatalf("it is %s", got.State)
			}
			if tt.want == AskOpen {
				return
			}
			if got.AnsweredBy != "policy" || got.AnsweredAt == nil || got.Policy != digest || tt.policy != "" && digest == "" {
				t.Errorf("it was answered by %+v", got)
			}
			mail := w.look(as("ann"), &MsgInbox{}).([]*MessageView)
			if last := mail[len(mail)-1]; last.From != "policy" || last.Ask != ask.ID {
				t.Errorf("ann was told %+v", last.Message)
			}
			if w.must(answers, &AsksExpire{}); w.ask(ask.ID).AnsweredAt.Compare(*got.AnsweredAt) != 0 {
				t.Error("it was answered twice")
			}
			if tt.want != AskExpired {
				return
			}
			if err := w.refused(RuleFinished, operator, &AskAnswer{ID: ask.ID, Text: "yes"}); err.Hint != `cadre msg send ann "the answer"` {
				t.Errorf("who answers too late is told to type %q", err.Hint)
			}
		})
	}
}

// TestWhoeverDecidesNoticesALateAsk: the policy's answer is in the same commit, in
// the policy's name, and counts for the command itself.
func TestWhoeverDecidesNoticesALateAsk(t *testing.T) {
	w := newTeam(t, "ann")
	w.must(operator, &TeamPolicy{Kind: AskPlan, Then: PolicyApprove, After: new(time.Duration)})
	id := w.must(operator, &TaskAdd{Subject: "x", Plan: true}).(*Added).ID
	w.must(as("ann"), &TaskClaim{ID: id})
	ask := w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "like this", Task: id}).(*Ask)
	_, r, err := w.try(member("ann"), &TaskStart{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Events {
		want := ActorMember
		if _, ok := e.After.(*Task); !ok {
			want = ActorPolicy
		}
		if e.Actor.Kind != want {
			t.Errorf("%s is by %s", e.Object, e.Actor.Kind)
		}
	}
	got := w.task(id)
	if got.Status != InProgress || got.Plan.ApprovedBy != "policy" || got.Plan.Digest != ask.Digest || w.ask(ask.ID).State != AskApproved {
		t.Errorf("the task is %+v with %+v", got, got.Plan)
	}
	gated := w.must(operator, &TaskAdd{Subject: "y", Plan: true, Owner: "ann"}).(*Added).ID
	w.must(as("ann"), &TaskDone{ID: id})
	w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "and that", Task: gated})
	if got := w.must(as("ann"), &TaskNext{Claim: true}).(*TaskView); got.ID != gated || got.Status != InProgress {
		t.Errorf("next gave %s, %s", got.ID, got.Status)
	}
}

func TestLateAsksDoNotCount(t *testing.T) {
	w := newTeam(t, "ann")
	for range maxOpenAsks {
		w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "and?"})
	}
	w.refused(RuleRate, as("ann"), &AskFor{Kind: AskQuestion, Text: "and?"})
	w.wait(DefaultAskDeadline)
	w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "and?"})
}

func TestWhoSetsAPolicy(t *testing.T) {
	w := newTeam(t, "ann")
	owner := session("11111111-0000-4000-8000-000000000000")
	mine := newWorld(t, "mine")
	mine.must(owner, &TeamCreate{Name: "mine"})
	mine.refused(RuleOperator, owner, &TeamPolicy{Kind: AskPlan, Then: PolicyApprove}) // although it leads
	mine.must(operator, &TeamPolicy{Kind: AskPlan, Then: PolicyDeny})
	mine.refused(RuleMove, owner, &Undo{Events: mine.last()})
	for _, who := range []Actor{as("ann"), as(LeadName), member("ann"), member(LeadName), session("x")} {
		w.refused(RuleOperator, who, &TeamPolicy{Kind: AskPlan, Then: PolicyApprove})
		w.refused(RuleOperator, who, &TeamApprovals{Only: "any"})
	}
	long := 2 * maxAskDeadline
	for _, v := range []*TeamPolicy{
		{Kind: AskShutdown, Then: PolicyApprove},
		{Kind: AskPlan, Then: "perhaps"},
		{Kind: AskQuestion, Then: PolicyApprove},
		{Kind: AskPlan, Then: PolicyWait, After: &long},
	} {
		w.refused(RuleValue, member("ann"), v) // what makes no sense comes before who may
	}
	w.refused(RuleLimit, operator, &TeamPolicy{Kind: AskPlan, Then: PolicyDeny, After: &long})
	newWorld(t, "list").refused(RuleMissing, operator, &TeamPolicy{Kind: AskPlan, Then: PolicyDeny})
	w.must(operator, &TeamPolicy{Kind: AskPlan, Then: PolicyDeny, Digest: "of a file"})
	head := w.state.Head()
	w.must(operator, &TeamPolicy{Kind: AskPlan, Then: PolicyDeny, Digest: "of a file"})
	if w.state.Head() != head {
		t.Error("the same again is a change")
	}
	team, _ := Snap{&w.state}.Team()
	if p := team.Settings.Policies[AskPlan]; p.Digest != "of a file" || p.By.Proof != ProofOwner {
		t.Errorf("recorded is %+v", p)
	}
}

func TestAPolicyIsForWhatWaitsToo(t *testing.T) {
	w := newTeam(t, "ann")
	ask := w.must(as("ann"), &AskFor{Kind: AskPermission, Text: "may I?"}).(*Ask)
	w.must(operator, &TeamPolicy{Kind: AskPermission, Then: PolicyWait})
	w.wait(10 * DefaultAskDeadline)
	w.must(answers, &AsksExpire{})
	if got := w.ask(ask.ID); got.State != AskOpen || got.Deadline != nil {
		t.Fatalf("it is %s", got.State)
	}
	w.must(operator, &TeamPolicy{Kind: AskPermission, Then: PolicyDeny})
	w.must(answers, &AsksExpire{})
	if got := w.ask(ask.ID); got.State != AskRejected {
		t.Errorf("it is %s", got.State)
	}
}

func TestApprovalsWithOneToken(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	w.refused(RulePerson, person, &TeamApprovals{Only: "token"}) // there is none to bind them to
	w.refused(RuleValue, token("t2"), &TeamApprovals{Only: "me"})
	w.must(token("t2"), &TeamApprovals{Only: "token"})
	id := w.must(operator, &TaskAdd{Subject: "risky", Plan: true, Approvers: []string{"ben"}, Owner: "ann"}).(*Added).ID
	ask := w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "like this", Task: id}).(*Ask)
	for _, who := range []Actor{person, operator, token("t9"), member("ben"), as("ben")} {
		w.refused(RulePerson, who, &AskApprove{ID: ask.ID})
		w.refused(RulePerson, who, &AskReject{ID: ask.ID})
	}
	w.refused(RuleLead, member(LeadName), &AskApprove{ID: ask.ID})
	for _, who := range []Actor{person, token("t9")} {
		w.refused(RulePerson, who, &TeamApprovals{Only: "any"})
		w.refused(RulePerson, who, &TeamApprovals{Only: "token"})
		w.refused(RulePerson, who, &TeamPolicy{Kind: AskPlan, Then: PolicyApprove})
	}
	w.must(token("t2"), &AskApprove{ID: ask.ID})
	question := w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "which?", Approvers: []string{"ben"}}).(*Ask)
	w.must(member("ben"), &AskAnswer{ID: question.ID, Text: "that one"}) // which approves nothing
	stop := w.must(operator, &AskShutdownOf{Name: "ann"}).(*Ask)
	w.must(member("ann"), &AskApprove{ID: stop.ID})
	w.must(token("t2"), &TeamApprovals{Only: "any"})
	ask = w.must(as("ben"), &AskFor{Kind: AskPermission, Text: "may I?"}).(*Ask)
	w.must(person, &AskApprove{ID: ask.ID})
}

func TestARefusedShutdownIsAnAsk(t *testing.T) {
	w := newTeam(t, "bob")
	stop := w.must(operator, &AskShutdownOf{Name: "bob"}).(*Ask)
	w.must(member("bob"), &AskReject{ID: stop.ID, Text: "not finished"})
	refusal := w.look(operator, &AskList{}).([]*Ask)[0]
	if refusal.Kind != AskRefusal || refusal.From != "bob" || refusal.Text != "bob refuses to shut down: not finished" || fmt.Sprint(refusal.Approvers) != "[team-lead]" {
		t.Errorf("the lead is asked %+v", refusal)
	}
	if got := fmt.Sprint(w.inbox(LeadName)); got != "[shutdown_response from bob]" {
		t.Errorf("the lead got %s", got)
	}
	w.refused(RuleSelf, member("bob"), &AskApprove{ID: refusal.ID})
	w.must(operator, &AskReject{ID: refusal.ID, Text: "it is urgent"})
	again := w.look(operator, &AskList{}).([]*Ask)
	if len(again) != 1 || again[0].Kind != AskShutdown || again[0].Text != "it is urgent" {
		t.Fatalf("bob is asked again: %+v", again)
	}
	w.must(member("bob"), &AskReject{ID: again[0].ID})
	refusal = w.look(operator, &AskList{}).([]*Ask)[0]
	w.must(operator, &AskApprove{ID: refusal.ID})
	mail := w.look(member("bob"), &MsgInbox{}).([]*MessageView)
	if last := mail[len(mail)-1]; last.Text != "work on" {
		t.Errorf("bob was told %q", last.Text)
	}
	stop = w.must(operator, &AskShutdownOf{Name: "bob"}).(*Ask)
	newer := w.must(operator, &AskShutdownOf{Name: "bob"}).(*Ask)
	if w.ask(stop.ID).State != AskVoid || newer.State != AskOpen {
		t.Error("bob is asked twice at a time")
	}
	w.must(operator, &MemberLeave{Name: "bob"})
	if open := w.look(operator, &AskList{}).([]*Ask); len(open) != 0 {
		t.Errorf("one that left is still asked: %+v", open[0])
	}
}

func TestAPlanIsItsMakers(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.must(operator, &TaskAdd{Subject: "risky", Plan: true}).(*Added).ID
	ask := w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "mine", Task: id}).(*Ask)
	w.must(person, &AskApprove{ID: ask.ID})
	w.refused(RulePlan, member("ben"), &TaskStart{ID: id})
	w.must(member("ann"), &TaskStart{ID: id})

	late := w.must(operator, &TaskAdd{Subject: "too", Plan: true, Owner: "ann"}).(*Added).ID
	ask = w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "mine too", Task: late}).(*Ask)
	owner := "ben"
	w.must(operator, &TaskUpdate{ID: late, Owner: &owner})
	w.must(person, &AskApprove{ID: ask.ID}) // ann's plan, which ben does not have
	w.refused(RulePlan, member("ben"), &TaskStart{ID: late})
	if e := w.refused(RulePlan, member("ben"), &TaskDone{ID: late}); !strings.Contains(e.Hint, "ask for plan") {
		t.Errorf("the hint is %q", e.Hint)
	}
}

func TestNoHooksAreNoChange(t *testing.T) {
	w := newTeam(t)
	for _, hooks := range []map[string][]Hook{nil, {}} {
		if _, r, err := w.try(operator, &TeamHooks{Hooks: hooks}); err != nil || len(r.Events) != 0 {
			t.Errorf("%v gives %d events and %v", hooks, len(r.Events), err)
		}
	}
}
