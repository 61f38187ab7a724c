package cadre

import (
	"testing"
	"time"
)

func TestATeamIsRebuiltFromWhatIsLeftOfIt(t *testing.T) {
	w := newWorld(t, "docs")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	v := &TeamRebuild{
		Name: "docs", CreatedAt: at,
		Members: []*Member{{Name: LeadName, Role: RoleLead}, {Name: "bob", State: StateWorking, Backend: BackendClient}},
		Tasks: []*Task{
			{ID: "1", Subject: "one", Status: Pending, Author: LeadName, CreatedAt: at, BlockedBy: []TaskID{"2"}},
			{ID: "2", Subject: "two", Status: InProgress, Owner: "bob", Author: "bob", CreatedAt: at, BlockedBy: []TaskID{"1", "9"}}, // a cycle, and an edge to nothing
			{ID: "5", Subject: "five", Status: Completed, Owner: "bob", Author: LeadName, CreatedAt: at, BlockedBy: []TaskID{"1"}},
		},
		Messages: []*Message{{ID: "x", From: "bob", To: LeadName, Kind: MessagePlain, Text: "hello", SentAt: at}},
		Gaps:     []string{"what bob did alone"},
	}
	view := w.must(operator, v).(*TeamView)
	if !view.Rebuilt || len(view.Gaps) != 1 || view.Tasks[Completed] != 1 || view.Tasks[Pending] != 2 {
		t.Fatalf("rebuilt as %+v", view)
	}
	two := w.look(operator, &TaskShow{ID: "2"}).(*TaskView)
	if two.Status != Pending || two.Owner != "" || !two.CreatedAt.Equal(at) {
		t.Errorf("task 2 is %s of %q, made %s", two.Status, two.Owner, two.CreatedAt)
	}
	if five := w.look(operator, &TaskShow{ID: "5"}).(*TaskView); len(five.Flags) != 1 || five.Flags[0] != FlagUnaccepted {
		t.Errorf("task 5 has the flags %v", five.Flags)
	}
	if add := w.must(operator, &TaskAdd{Subject: "six"}).(*Added); add.ID != "6" {
		t.Errorf("the next task is %s", add.ID)
	}
	w.refused(RuleExists, operator, v)
	w.refused(RuleOperator, session("s"), v)
}

func TestASessionsOwnListIsRebuiltWithoutATeam(t *testing.T) {
	w := newWorld(t, "docs")
	view := w.must(operator, &TeamRebuild{Name: "docs", Solo: true, Tasks: []*Task{{ID: "3", Subject: "three", Status: InProgress, Author: "s"}}}).(*TeamView)
	if view.Team != nil || len(view.Members) > 0 || view.Tasks[Pending] != 1 || !view.Rebuilt {
		t.Errorf("rebuilt as %+v", view)
	}
}
