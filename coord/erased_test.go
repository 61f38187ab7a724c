package coord_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
)

// told is what transcripts tell of a team's members.
type told map[string]cadre.Spent

func (t told) Erased(context.Context) ([]*coord.Erased, error) { return nil, nil }

func (t told) Spent(context.Context, cadre.Scope) (map[string]cadre.Spent, error) { return t, nil }

// listening is a store that knows what transcripts tell.
type listening struct {
	cadre.Store
	told told
	now  *cadre.Time
}

func (l listening) Listen(ctx context.Context, scope cadre.Scope) error {
	v := &cadre.ClientsHeard{Last: map[string]time.Time{}}
	for name, sp := range l.told {
		v.Last[name] = sp.Last
	}
	c := cadre.Command{Actor: cadre.Self, Door: "file", Verb: "clients heard", Now: *l.now}
	_, err := l.Update(ctx, scope, c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) })
	return err
}

// A supervisor asks whether it would disturb somebody if it started the lead anew. A
// client's member is at work as long as it is heard of, however long its task takes; one
// that died in the middle of a task is not, though nobody has taken its task away.
func TestWhetherAnyoneIsAtWork(t *testing.T) {
	d := newDesk(t)
	s := d.at("/x", nil, "scope=docs")
	began := d.now.Wall
	c := cadre.Command{ID: "found", Actor: cadre.External, Door: "file", Verb: "intake", Now: d.now}
	v := &cadre.Foreign{
		Team: &cadre.ForeignTeam{Name: "docs", CreatedAt: began, LeadSession: "s", Members: []cadre.ForeignMember{
			{Name: cadre.LeadName, Lead: true, JoinedAt: began}, {Name: "bob", JoinedAt: began},
		}},
		Tasks: []cadre.ForeignTask{{ID: "1", By: cadre.External, Subject: new("one"), Status: new("in_progress"), Owner: new("bob")}},
	}
	if _, err := d.Store.Update(t.Context(), "docs", c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) }); err != nil {
		t.Fatal(err)
	}
	const works = "bob is working: has task 1 in progress"
	stalled := "bob is stalled: has task 1 in progress, and has written nothing to its transcript since " +
		began.Add(5*time.Hour-25*time.Minute).UTC().Format("2006-01-02 15:04")
	inner := d.Store
	for _, tt := range []struct {
		name     string
		after    time.Duration
		said     time.Duration // before that; 0: nothing is told of bob
		active   bool
		evidence []string
	}{
		{"it has just begun", 0, 0, true, []string{works}},
		{"nothing is told of it", 5 * time.Hour, 0, true, []string{works}},
		{"it said something a moment ago", 5 * time.Hour, 9 * time.Second, true, []string{works, "bob wrote to its transcript 9s ago"}},
		{"its task takes a while", 5 * time.Hour, 9 * time.Minute, true, []string{works}},
		{"it is given something after a long rest", 5 * time.Minute, time.Hour, true, []string{works}},
		{"it is silent", 5 * time.Hour, 25 * time.Minute, false, []string{stalled}},
		{"nobody tells of it any more", 5 * time.Hour, 0, false, []string{stalled}},
		{"it goes on", 5*time.Hour + 10*time.Minute, 5 * time.Minute, true, []string{works}},
	} {
		d.now.Wall = began.Add(tt.after)
		said := told{}
		if tt.said > 0 {
			said["bob"] = cadre.Spent{Last: d.now.Wall.Add(-tt.said)}
		}
		d.Transcripts, d.Store = said, listening{inner, said, &d.now}
		got := must[*cadre.TeamView](t, s, &coord.TeamShow{}).Active
		if got.Active != tt.active || !slices.Equal(got.Evidence, tt.evidence) {
			t.Errorf("%s: active is %t, because %s", tt.name, got.Active, strings.Join(got.Evidence, "; "))
		}
	}
}

// The newer client's lead reads no mail while it has no teammate of its own.
func TestALeadThatReadsNoMail(t *testing.T) {
	d := newDesk(t)
	const session = "0a1b2c3d-0000-4000-8000-000000000001"
	lead := cadre.ForeignMember{Name: cadre.LeadName, Lead: true, JoinedAt: d.now.Wall}
	bob := cadre.ForeignMember{Name: "bob", JoinedAt: d.now.Wall}
	for n, tt := range []struct {
		scope   cadre.Scope
		members []cadre.ForeignMember
		left    []string
		deaf    bool
	}{
		{"session-0a1b2c3d", []cadre.ForeignMember{lead}, nil, true},
		{"session-0a1b2c3d", []cadre.ForeignMember{lead, bob}, nil, false},
		{"session-0a1b2c3d", []cadre.ForeignMember{lead}, []string{"bob"}, true},
		{"docs", []cadre.ForeignMember{lead}, nil, false}, // one of the older client reads all the time
	} {
		c := cadre.Command{ID: cadre.CommandID(fmt.Sprint(n)), Actor: cadre.External, Door: "file", Verb: "intake", Now: d.now}
		v := &cadre.Foreign{Team: &cadre.ForeignTeam{Name: string(tt.scope), CreatedAt: d.now.Wall, LeadSession: session, Members: tt.members, Left: tt.left}}
		if _, err := d.Store.Update(t.Context(), tt.scope, c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) }); err != nil {
			t.Fatal(err)
		}
		m := must[*cadre.MemberView](t, d.at("/x", nil, "scope="+string(tt.scope)), &coord.MemberShow{MemberShow: cadre.MemberShow{Name: cadre.LeadName}})
		if m.Deaf != tt.deaf || strings.Contains(m.Evidence, "reads no mail") != tt.deaf {
			t.Errorf("%d: deaf is %t, because it %s", n, m.Deaf, m.Evidence)
		}
	}
}
