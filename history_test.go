package cadre

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// last gives the events of the newest command.
func (w *world) last() []Event {
	var newest Event
	for ref := range w.state.Refs() {
		for e := range w.state.History(ref) {
			if e.Seq > newest.Seq {
				newest = e
			}
			break
		}
	}
	var out []Event
	for ref := range w.state.Refs() {
		for e := range w.state.History(ref) {
			if e.Command == newest.Command {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b Event) int { return int(a.Seq) - int(b.Seq) })
	return out
}

func TestUndo(t *testing.T) {
	subject := "another subject"
	for name, tt := range map[string]struct {
		do    func(w *world)
		check func(w *world) bool
	}{
		"add":     {func(w *world) { w.add("new") }, func(w *world) bool { return w.task("3").Status == Deleted }},
		"subject": {func(w *world) { w.must(operator, &TaskUpdate{ID: "1", Subject: &subject}) }, func(w *world) bool { return w.task("1").Subject == "a" }},
		"done":    {func(w *world) { w.must(operator, &TaskDone{ID: "1"}) }, func(w *world) bool { return w.task("1").Status == Pending && w.task("2").OpenBlockers == 1 }},
		"rm":      {func(w *world) { w.must(operator, &TaskRemove{ID: "1", Unblock: true}) }, func(w *world) bool { return w.task("1").Status == Pending && len(w.task("2").BlockedBy) == 1 }},
		"unblock": {func(w *world) { w.must(operator, &TaskUnblock{ID: "2", By: []TaskID{"1"}}) }, func(w *world) bool { return w.task("2").OpenBlockers == 1 }},
		"comment": {func(w *world) { w.must(operator, &TaskComment{ID: "1", Text: "x"}) }, func(w *world) bool {
			return len(w.look(operator, &TaskShow{ID: "1"}).(*TaskView).Comments) == 0
		}},
		"message": {func(w *world) { w.must(operator, &MsgSend{To: "ann", Text: "x"}) }, func(w *world) bool { return len(w.inbox("ann")) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTeam(t, "ann")
			w.add("a")
			w.add("b", "1")
			tt.do(w)
			w.must(operator, &Undo{Events: w.last()})
			if !tt.check(w) {
				t.Errorf("not undone: 1 is %+v\n2 is %+v", w.task("1"), w.task("2"))
			}
		})
	}
}

// Who joined with the command leaves with it, the second time too, and keeps nothing.
func TestUndoOfANewcomersFirstChange(t *testing.T) {
	w := newTeam(t)
	w.add("a")
	w.add("b")
	for range 2 {
		w.must(as("new"), &TaskClaim{ID: "1"})
		first := w.last()
		w.must(as("new"), &TaskClaim{ID: "2"})
		w.must(operator, &Undo{Events: first})
		if one, two := w.task("1").Owner, w.task("2").Owner; one != "" || two != "" || w.member("new").State != StateDeparted {
			t.Fatalf("1 belongs to %q, 2 to %q, and the newcomer is %s", one, two, w.member("new").State)
		}
	}
}

// To take back that somebody joined sends nobody away who came back later.
func TestUndoOfAnEarlierStay(t *testing.T) {
	w := newTeam(t)
	w.must(operator, &TeamJoin{Name: "ann"})
	first := w.last()
	w.must(as("ann"), &MemberLeave{})
	w.pass(time.Second)
	w.must(operator, &TeamJoin{Name: "ann"})
	w.refused(RuleChanged, operator, &Undo{Events: first})
}

func TestUndoTouchesOnlyItsOwnFields(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("a")
	subject, active := "b", "Working"
	w.must(operator, &TaskUpdate{ID: id, Subject: &subject})
	change := w.last()
	w.must(as("ann"), &TaskUpdate{ID: id, ActiveForm: &active})
	w.must(operator, &Undo{Events: change})
	if got := w.task(id); got.Subject != "a" || got.ActiveForm != "Working" {
		t.Errorf("got %+v", got)
	}
	w.must(operator, &TaskUpdate{ID: id, Subject: &subject})
	change = w.last()
	w.must(operator, &TaskUpdate{ID: id, Subject: &active})
	if e := w.refused(RuleChanged, operator, &Undo{Events: change}); !strings.Contains(e.Message, "subject") {
		t.Errorf("%q", e.Message)
	}
}

func TestWhoMayUndo(t *testing.T) {
	w := newTeam(t, "ann", "ben")
	w.must(as("ann"), &TaskAdd{Subject: "x"})
	w.refused(RuleAuthor, as("ben"), &Undo{Events: w.last()})
	w.must(as("ann"), &Undo{Events: w.last()})
	w.must(as("ann"), &TaskAdd{Subject: "y"})
	w.must(operator, &Undo{Events: w.last()})
	w.refused(RuleMissing, operator, &Undo{})
}

// TestAnAgentThatLeadsTakesBackOnlyItsOwn, whether its shell says which session it is or not.
func TestAnAgentThatLeadsTakesBackOnlyItsOwn(t *testing.T) {
	founder := guest("codex", "c1")
	founder.Role = RoleLead
	for _, lead := range []Actor{session("s1"), founder} {
		w := newWorld(t, "docs")
		w.must(lead, &TeamCreate{Name: "docs"})
		w.must(operator, &TaskAdd{Subject: "the operator's"})
		if e := w.refused(RuleAuthor, lead, &Undo{Events: w.last()}); !strings.HasSuffix(e.Message, "only the operator may undo it") {
			t.Errorf("%s was told: %s", lead, e.Message)
		}
		w.must(lead, &TaskAdd{Subject: "its own"})
		w.must(lead, &Undo{Events: w.last()})
	}
}

func TestBlame(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("a")
	w.must(as("ann"), &TaskStart{ID: id})
	lines := w.look(operator, &Blame{ID: id}).([]BlameLine)
	got := map[string]string{}
	for _, l := range lines {
		got[l.Field] = l.Event.Actor.Name
	}
	if got["subject"] != "operator" || got["owner"] != "ann" || got["status"] != "ann" {
		t.Errorf("blamed %v", got)
	}
}

func TestDifferences(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("a")
	start := w.state.Head().Seq
	w.must(as("ann"), &TaskStart{ID: id})
	w.must(as("ann"), &TaskDone{ID: id})
	var events []Event
	for e := range w.state.History(Ref{KindTask, string(id)}) {
		if e.Seq > start {
			events = append([]Event{e}, events...)
		}
	}
	diff := Differences(events)
	if len(diff) != 1 || fmt.Sprint(diff[0].Fields) != "[completedAt fence owner startedAt status]" {
		t.Errorf("got %+v", diff)
	}
}

func TestANewEpochSaysWhatIsMissing(t *testing.T) {
	w := newTeam(t, "ann")
	id := w.add("a")
	w.must(as("ann"), &TaskStart{ID: id, Lease: 1 << 40})
	w.must(as("ann"), &AskFor{Kind: AskQuestion, Text: "which?"})
	h := w.state.Head()
	anchor := Head{Epoch: h.Epoch, Seq: h.Seq + 10, Hash: "feed", Fence: h.Fence + 5, Next: h.Next + 3}
	events, err := OpenLog(Snap{&w.state}, "epoch-2", &anchor, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.apply(w.command(Self), events)
	mark := events[0].After.(*Log)
	if mark.Missing.From != h.Seq+1 || mark.Missing.To != h.Seq+10 {
		t.Errorf("missing %+v", mark.Missing)
	}
	if got := w.state.Head(); got.Epoch != "epoch-2" || got.Seq <= anchor.Seq || got.Fence <= anchor.Fence || got.Next < anchor.Next {
		t.Errorf("the head is %+v after the anchor %+v", got, anchor)
	}
	if got := w.task(id); got.Leased || got.Owner != "" {
		t.Errorf("the lease is not void: %+v", got)
	}
	if asks := w.look(operator, &AskList{}).([]*Ask); len(asks) != 0 {
		t.Errorf("asks are still open: %v", asks)
	}
	if mail := w.inbox(LeadName); mail[len(mail)-1] != "notice from cadre" {
		t.Errorf("the lead was told %v", mail)
	}
	if got, want := (Receipt{Events: events}).Lost(), fmt.Sprintf("the log lost its events %d to %d.", h.Seq+1, h.Seq+10); !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	if next := w.add("b"); next != taskIDOf(anchor.Next) {
		t.Errorf("the next id is %s, the anchor had used all below %d", next, anchor.Next)
	}
}

// What two members wrote to files comes in with one command. Each takes back its own.
func TestUndoOfWhatSeveralWrote(t *testing.T) {
	w := newTeam(t, "ann", "bob")
	first, second := w.add("first"), w.add("second")
	_, r, err := w.try(External, &Foreign{Tasks: []ForeignTask{
		{ID: first, By: member("bob"), Digest: "a", Metadata: map[string]json.RawMessage{"by": []byte(`"bob"`)}},
		{ID: second, By: member("ann"), Digest: "b", Metadata: map[string]json.RawMessage{"by": []byte(`"ann"`)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	says := func(id TaskID) string { return string(w.task(id).Metadata["by"]) }
	w.must(member("bob"), &Undo{Events: r.Events})
	if says(first) != "" || says(second) != `"ann"` {
		t.Errorf("bob took back his, and they say %q and %q", says(first), says(second))
	}
	w.must(member("ann"), &Undo{Events: r.Events})
	if says(second) != "" {
		t.Errorf("ann took back hers, and it says %q", says(second))
	}
}
