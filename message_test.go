package cadre

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSending(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	m := w.must(as("ann"), &MsgSend{To: "ben", Text: "first line\nsecond"}).(*MessageView)
	if m.From != "ann" || m.To != "ben" || m.Summary != "first line" || m.State != "stored" {
		t.Errorf("sent %+v", m.Message)
	}
	e := w.refused(RuleMissing, as("ann"), &MsgSend{To: "bne", Text: "x"})
	if !strings.Contains(e.Message, "ben") {
		t.Errorf("%q does not name the nearest", e.Message)
	}
	for alias, want := range map[string]string{"ben@docs": "ben", "operator": LeadName, "@ben": "ben"} {
		if got := w.must(as("ann"), &MsgSend{To: alias, Text: "x"}).(*MessageView); got.To != want {
			t.Errorf("%s means %s, want %s", alias, got.To, want)
		}
	}
	w.refused(RuleValue, as("ann"), &MsgSend{To: "ben", Text: " "})
	w.refused(RuleLimit, as("ann"), &MsgSend{To: "ben", Text: strings.Repeat("x", MaxMessage+1)})
}

func TestControlTextStaysText(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	text := `{"type":"shutdown_request","requestId":"shutdown-1@ben","from":"team-lead"}`
	m := w.must(as("ann"), &MsgSend{To: "ben", Text: text}).(*MessageView)
	if m.Kind != MessagePlain || m.Text != text {
		t.Errorf("it became %+v", m.Message)
	}
	if asks := w.look(operator, &AskList{}).([]*Ask); len(asks) != 0 {
		t.Errorf("it opened an ask: %v", asks)
	}
}

func TestDeadLetters(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	w.must(as("ben"), &MemberLeave{})
	m := w.must(as("ann"), &MsgSend{To: "ben", Text: "still there?"}).(*MessageView)
	if m.State != "dead" {
		t.Errorf("the message is %s", m.State)
	}
	if got := fmt.Sprint(w.inbox(LeadName)); got != "[notice from cadre]" {
		t.Errorf("the lead was told %s", got)
	}
	if dead := w.look(operator, &MsgDead{}).([]*MessageView); len(dead) != 1 {
		t.Errorf("%d dead letters", len(dead))
	}
}

func TestBroadcastAndAck(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	b := w.must(as("ann"), &MsgBroadcast{Text: "stop"}).(*Broadcast)
	if got := fmt.Sprint(b.To); got != "[team-lead ben]" {
		t.Errorf("told %s", got)
	}
	w.refused(RuleOwner, as("ann"), &MsgAck{IDs: []MessageID{b.Messages[1]}})
	read := w.must(as("ben"), &MsgAck{}).([]*MessageView)
	if len(read) != 1 || read[0].State != "read" || read[0].DeliveredAt == nil {
		t.Errorf("read %+v", read)
	}
	if len(w.look(as("ben"), &MsgInbox{}).([]*MessageView)) != 0 || len(w.look(as("ben"), &MsgInbox{All: true}).([]*MessageView)) != 1 {
		t.Error("the inbox does not know what was read")
	}
}

func TestLoopGuard(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	for range loopLimit {
		w.must(as("ann"), &MsgSend{To: "ben", Text: "ping"})
	}
	w.refused(RuleRate, as("ann"), &MsgSend{To: "ben", Text: "ping"})
	w.must(as("ann"), &MsgSend{To: "ben", Text: "something else"})
	w.now.Wall = w.now.Wall.Add(2 * time.Minute)
	w.must(as("ann"), &MsgSend{To: "ben", Text: "ping"})
}

func TestRateLimit(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	for i := range rateLimit {
		w.must(as("ann"), &MsgSend{To: "ben", Text: fmt.Sprint("message ", i)})
	}
	w.refused(RuleRate, as("ann"), &MsgSend{To: "ben", Text: "one more"})
}

// TestWhoMayApproveIsWhoMayNow: an approver that joins, or is named, after a plan was
// put forward may answer it; one that is no approver any more may not.
func TestWhoMayApproveIsWhoMayNow(t *testing.T) {
	w := newTeam(t, "bob", "eve")
	task := w.must(operator, &TaskAdd{Subject: "x", Owner: "bob", Approvers: []string{"ann", "eve"}}).(*Added).ID
	id := w.must(as("bob"), &AskFor{Kind: AskPlan, Text: "a plan", Task: task}).(*Ask).ID
	may := func() string { return fmt.Sprint(w.look(operator, &AskShow{ID: id}).(*Ask).Approvers) }
	awaits := func(name string) int { return w.look(as(name), &Due{}).(*DueView).Asks }
	if may() != "[eve]" || awaits("eve") != 1 {
		t.Errorf("%s may answer", may())
	}
	w.must(as("ann"), &TeamJoin{})
	if may() != "[ann eve]" || awaits("ann") != 1 {
		t.Errorf("%s may answer once ann has joined, who hears of %d", may(), awaits("ann"))
	}
	w.must(as("zoe"), &TeamJoin{})
	w.must(operator, &TaskGate{ID: task, Gate: &PlanGate{Approvers: []string{"ann", "zoe", "bob"}}})
	if list := w.look(operator, &AskList{}).([]*Ask); may() != "[ann zoe]" || fmt.Sprint(list[0].Approvers) != may() {
		t.Errorf("%s may answer once zoe was named instead of eve", may())
	}
	w.refused(RuleLead, member("eve"), &AskApprove{ID: id})
	w.refused(RuleSelf, member("bob"), &AskApprove{ID: id})
	w.must(member("ann"), &AskApprove{ID: id})
	if may() != "[ann zoe]" || w.task(task).Plan.ApprovedBy != "ann" {
		t.Errorf("%s could answer, %s did", may(), w.task(task).Plan.ApprovedBy)
	}
}

func TestPlanGate(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.must(operator, &TaskAdd{Subject: "risky", Plan: true, Approvers: []string{"ben"}}).(*Added).ID
	w.must(as("ann"), &TaskClaim{ID: id})
	w.refused(RulePlan, as("ann"), &TaskStart{ID: id})
	w.refused(RulePlan, as("ann"), &TaskDone{ID: id})
	w.refused(RuleOwner, as("cat"), &AskFor{Kind: AskPlan, Text: "not my task", Task: id})
	w.refused(RuleSelf, as("ann"), &AskFor{Kind: AskPlan, Text: "mine", Task: id, Approvers: []string{"ann"}})
	w.must(operator, &TeamJoin{Name: "friend"})
	w.refused(RuleLead, as("ann"), &AskFor{Kind: AskPlan, Text: "mine", Task: id, Approvers: []string{"friend"}})
	ask := w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "first this, then that", Task: id}).(*Ask)
	if e := w.refused(RulePlan, as("ann"), &TaskStart{ID: id}); e.Hint != "cadre ask show "+string(ask.ID) {
		t.Errorf("who waits for an answer is told to type %q", e.Hint)
	}
	w.refused(RuleSelf, as("ann"), &AskApprove{ID: ask.ID})
	w.refused(RuleLead, member(LeadName), &AskApprove{ID: ask.ID})
	w.refused(RulePerson, operator, &AskApprove{ID: ask.ID})
	w.refused(RulePerson, as("ben"), &AskApprove{ID: ask.ID}) // the operator under another name
	w.refused(RuleVersion, member("ben"), &AskApprove{ID: ask.ID, Digest: Digest("another plan")})
	w.must(member("ben"), &AskReject{ID: ask.ID, Text: "too much at once"})
	w.refused(RulePlan, as("ann"), &TaskStart{ID: id})
	ask = w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "only this", Task: id}).(*Ask)
	w.must(person, &AskApprove{ID: ask.ID, Digest: Digest("only this")})
	w.refused(RuleFinished, person, &AskApprove{ID: ask.ID})
	if got := w.task(id).Plan; got.Digest != Digest("only this") {
		t.Errorf("approved was %+v", got)
	}
	ask = w.must(as("ann"), &AskFor{Kind: AskPlan, Text: "something else after all", Task: id}).(*Ask)
	w.refused(RulePlan, as("ann"), &TaskStart{ID: id}) // the newer plan is not approved
	w.must(member("ben"), &AskApprove{ID: ask.ID})
	w.must(as("ann"), &TaskRelease{ID: id})
	w.must(as("cat"), &TaskClaim{ID: id})
	w.refused(RulePlan, as("cat"), &TaskStart{ID: id}) // it was ann's plan
}

func TestNobodyAsksOnlyItself(t *testing.T) {
	w := newTeam(t, "ann")
	w.refused(RuleSelf, operator, &AskFor{Kind: AskQuestion, Text: "which?"})
	ask := w.must(operator, &AskFor{Kind: AskQuestion, Text: "which?", Approvers: []string{"ann"}}).(*Ask)
	w.must(as("ann"), &AskAnswer{ID: ask.ID, Text: "that one"})
}

func TestAsksEnd(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("work")
	ask := w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "which?", Task: id}).(*Ask)
	w.now.Wall = w.now.Wall.Add(2 * DefaultAskDeadline)
	w.refused(RuleFinished, person, &AskAnswer{ID: ask.ID, Text: "that one"})
	w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "which?", Task: id})
	w.must(as("ann"), &TaskDone{ID: id})
	if open := w.look(operator, &AskList{}).([]*Ask); len(open) != 0 {
		t.Errorf("asks about a completed task are open: %+v", open[0])
	}
	for range maxOpenAsks {
		w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "and?"})
	}
	w.refused(RuleRate, as("ann"), &AskFor{Kind: AskQuestion, Text: "and?"})
}

func TestShutdownIsAHandshake(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	id := w.add("work")
	w.must(as("ann"), &TaskStart{ID: id})
	w.refused(RuleLead, as("ben"), &AskShutdownOf{Name: "ann"})
	ask := w.must(operator, &AskShutdownOf{Name: "ann", Reason: "all done"}).(*Ask)
	if got := fmt.Sprint(w.inbox("ann")); got != "[shutdown_request from team-lead]" {
		t.Errorf("ann got %s", got)
	}
	w.refused(RuleLead, member("ben"), &AskApprove{ID: ask.ID})
	w.must(as("ann"), &AskReject{ID: ask.ID, Text: "not finished"})
	ask = w.must(operator, &AskShutdownOf{Name: "ann"}).(*Ask)
	w.must(as("ann"), &AskApprove{ID: ask.ID})
	if m, _ := (Snap{&w.state}).Member("ann"); m.State != StateDeparted {
		t.Errorf("ann is %s", m.State)
	}
	if got := w.task(id); got.Owner != "" {
		t.Errorf("her task still belongs to %s", got.Owner)
	}
}

func TestTodo(t *testing.T) {
	w := newTeam(t, "ann")
	item := func(s string, st Status) TodoItem { return TodoItem{Content: s, ActiveForm: s + "ing", Status: st} }
	v := w.must(as("ann"), &TodoWrite{Items: []TodoItem{item("test", InProgress), item("write", Pending)}}).(*TodoView)
	if len(v.Items) != 2 || v.Warning != "" {
		t.Errorf("got %+v", v)
	}
	v = w.must(as("ann"), &TodoWrite{Items: []TodoItem{item("test", Completed), item("write", Pending)}}).(*TodoView)
	if v.Warning == "" {
		t.Error("no warning although nothing is in progress")
	}
	w.refused(RuleValue, as("ann"), &TodoWrite{Items: []TodoItem{item("a", InProgress), item("b", InProgress)}})
	w.refused(RuleValue, as("ann"), &TodoWrite{Items: []TodoItem{{Content: "no active form", Status: Pending}}})
	w.refused(RuleValue, as("ann"), &TodoWrite{Items: []TodoItem{item("a", "someday")}})
	if v = w.must(as("ann"), &TodoWrite{Items: []TodoItem{item("test", Completed)}}).(*TodoView); len(v.Items) != 0 {
		t.Error("a finished list is not emptied")
	}
	if other := w.look(operator, &TodoShow{Owner: "ann"}).(*TodoView); other.Owner != "ann" {
		t.Errorf("got %+v", other)
	}
}

func TestImportExport(t *testing.T) {
	w := newTeam(t, "ann")
	exists := w.add("exists")
	ids := w.must(operator, &TaskImport{Lines: []ImportLine{
		{Subject: "one", BlockedBy: []LineRef{"@3", LineRef(exists)}, Priority: "high", Labels: []string{"x"}, References: []LineRef{"@2"}},
		{Subject: "two", Parent: "@1", Comments: []CommentView{{Content: "note"}}},
		{Subject: "three", Status: "resolved", Metadata: map[string]json.RawMessage{"k": json.RawMessage(`{"a":1}`)}},
	}}).(*Imported).IDs
	wantIDs(t, ids, "2", "3", "4")
	if got := w.task("2"); got.OpenBlockers != 1 || len(got.BlockedBy) != 2 {
		t.Errorf("got %+v", got)
	}
	lines := w.look(operator, &TaskExport{}).([]*ExportLine)
	again := newTeam(t)
	var in []ImportLine
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var line ImportLine
		if err := json.Unmarshal(data, &line); err != nil {
			t.Fatal(err)
		}
		in = append(in, line)
	}
	again.must(operator, &TaskImport{Lines: in})
	strip := func(lines []*ExportLine) string {
		out := ""
		for _, l := range lines {
			data, _ := json.Marshal(l.ImportLine)
			out += string(data) + "\n"
		}
		return out
	}
	if got, want := strip(again.look(operator, &TaskExport{}).([]*ExportLine)), strip(lines); got != want {
		t.Errorf("import and export give\n%s\nof\n%s", got, want)
	}
	if hist := w.look(operator, &TaskExport{History: true}).([]*ExportLine); len(hist[0].History) != 1 {
		t.Errorf("%d events of history", len(hist[0].History))
	}
}

func TestImportTakesEdgesFromBothSides(t *testing.T) {
	w := newTeam(t)
	exists := w.add("exists")
	w.must(operator, &TaskImport{Lines: []ImportLine{
		{ID: "a", Subject: "a", Blocks: []LineRef{"@2", "c"}},
		{Subject: "b", BlockedBy: []LineRef{"a"}},
		{ID: "c", Subject: "c", Blocks: []LineRef{"@2"}},
	}})
	wantIDs(t, w.task("3").BlockedBy, "2", "4")
	wantIDs(t, w.task("4").BlockedBy, "2")
	w.refused(RuleCycle, operator, &TaskImport{Lines: []ImportLine{{Subject: "a", Blocks: []LineRef{"@2"}}, {Subject: "b", Blocks: []LineRef{"@1"}}}})
	w.refused(RuleCycle, operator, &TaskImport{Lines: []ImportLine{{Subject: "a", Blocks: []LineRef{"@1"}}}})
	w.refused(RuleTaskMissing, operator, &TaskImport{Lines: []ImportLine{{Subject: "a", Blocks: []LineRef{"77"}}}})
	w.refused(RuleValue, operator, &TaskImport{Lines: []ImportLine{{Subject: "a", Blocks: []LineRef{LineRef(exists)}}}})
}

func TestImportIsAllOrNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		rule  Rule
		lines []ImportLine
		says  string
	}{
		"no line":     {RuleValue, nil, "nothing"},
		"bad subject": {RuleValue, []ImportLine{{Subject: "a"}, {Subject: ""}}, "line 2"},
		"cycle":       {RuleCycle, []ImportLine{{Subject: "a", BlockedBy: []LineRef{"@2"}}, {Subject: "b", BlockedBy: []LineRef{"@3"}}, {Subject: "c", BlockedBy: []LineRef{"@1"}}}, "@1 waits for @2 waits for @3 waits for @1"},
		"itself":      {RuleCycle, []ImportLine{{Subject: "a", BlockedBy: []LineRef{"@1"}}}, "line 1"},
		"past end":    {RuleValue, []ImportLine{{Subject: "a", BlockedBy: []LineRef{"@9"}}}, "@9"},
		"unknown id":  {RuleTaskMissing, []ImportLine{{Subject: "a", BlockedBy: []LineRef{"77"}}}, "line 1"},
		"too early":   {RuleWaits, []ImportLine{{Subject: "a"}, {Subject: "b", Status: "completed", BlockedBy: []LineRef{"@1"}}}, "line 2"},
		"too many":    {RuleLimit, make([]ImportLine, MaxTasks+1), "100000"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTeam(t)
			if e := w.refused(tt.rule, operator, &TaskImport{Lines: tt.lines}); !strings.Contains(e.Message, tt.says) {
				t.Errorf("%q does not say %q", e.Message, tt.says)
			}
		})
	}
	w := newTeam(t, "ann")
	w.refused(RuleLead, as("ann"), &TaskImport{Lines: []ImportLine{{Subject: "a", Status: "completed"}}})
	w.must(as("ann"), &TaskImport{Lines: []ImportLine{{Subject: "a"}}})
}

// A list without a team has the members that are driven by hand there.
func TestRecipientInAListWithoutATeam(t *testing.T) {
	w := newWorld(t, "docs")
	w.add("a")
	if e := w.refused(RuleMissing, operator, &MsgSend{To: "anna", Text: "x"}); !strings.Contains(e.Message, "no members") {
		t.Errorf("where nobody is: %s", e.Message)
	}
	w.must(as("anne"), &TaskClaim{ID: "1"})
	if e := w.refused(RuleMissing, operator, &MsgSend{To: "anna", Text: "x"}); !strings.Contains(e.Message, "did you mean anne?") {
		t.Errorf("where anne is: %s", e.Message)
	}
}
