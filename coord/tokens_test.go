package coord_test

import (
	"context"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
)

// person is the operator at a terminal.
func (d *desk) person(dir string) *coord.Session {
	s := d.at(dir, nil)
	s.Actor.Proof = cadre.ProofTerminal
	return s
}

// holder is whoever has a token.
func (d *desk) holder(t *coord.Issued) *coord.Session {
	d.t.Helper()
	return d.at("/p", map[string]string{"CADRE_TOKEN": t.Token})
}

func TestTokenRoles(t *testing.T) {
	d := newDesk(t)
	boss := d.person("/p")
	must[*cadre.TeamView](t, boss, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	boss = d.person("/p")
	must[*coord.Joined](t, boss, &coord.TeamJoin{TeamJoin: cadre.TeamJoin{Name: "bob"}})
	ask := must[*cadre.Ask](t, d.at("/p", nil, "as=bob"), &cadre.AskFor{Kind: cadre.AskPermission, Text: "may I?"})

	reader := d.holder(must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleReadOnly}))
	must[[]*cadre.TaskView](t, reader, &cadre.TaskList{})
	refused(t, cadre.RuleMember, reader, &cadre.TaskAdd{Subject: "x"})
	refused(t, cadre.RuleMember, reader, &coord.TeamJoin{TeamJoin: cadre.TeamJoin{Name: "sly"}})
	refused(t, cadre.RuleOperator, reader, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "mine"}})
	refused(t, cadre.RuleOperator, reader, &coord.TokenCreate{Role: cadre.RoleOperator})
	refused(t, cadre.RuleRead, d.at("/p", map[string]string{"CADRE_TOKEN": must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleReadOnly}).Token}, "scope=default"), &cadre.TaskList{})
	everywhere := must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleReadOnly, Everywhere: true})
	must[[]*cadre.TaskView](t, d.at("/p", map[string]string{"CADRE_TOKEN": everywhere.Token}, "scope=default"), &cadre.TaskList{})

	lead := d.holder(must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleLead}))
	must[*cadre.TeamView](t, lead, &cadre.TeamLabel{Label: "The Manual"})
	must[*cadre.Ask](t, lead, &cadre.AskApprove{ID: ask.ID})
	refused(t, cadre.RuleOperator, lead, &coord.TokenCreate{Role: cadre.RoleMember, Name: "bob"})
	refused(t, cadre.RuleRead, d.at("/p", map[string]string{"CADRE_TOKEN": must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleLead}).Token}, "scope=default"), &cadre.TaskList{})

	operator := d.holder(must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleOperator}))
	must[*coord.Issued](t, operator, &coord.TokenCreate{Role: cadre.RoleLead})
	refused(t, cadre.RuleValue, operator, &coord.TokenCreate{Role: cadre.RoleMember, Name: cadre.LeadName})
	must[*cadre.MemberView](t, operator, &cadre.MemberLeave{Name: "bob"})
	refused(t, cadre.RuleMove, operator, &coord.TokenCreate{Role: cadre.RoleMember, Name: "bob"})
}

// TestTheFirstTokenIsOne: of two that saw an empty folder, one gets the token.
func TestTheFirstTokenIsOne(t *testing.T) {
	d := newDesk(t)
	d.Fresh = true
	one, two := d.at("/p", nil), d.at("/p", nil)
	refused(t, cadre.RulePerson, one, &coord.TokenCreate{Role: cadre.RoleReadOnly, Everywhere: true})
	must[*coord.Issued](t, one, &coord.TokenCreate{Role: cadre.RoleOperator})
	refused(t, cadre.RulePerson, two, &coord.TokenCreate{Role: cadre.RoleOperator})
}

// TestRevokingEndsWhatWaits: a holder that waits is told at the next change, and is
// shown nothing of it.
func TestRevokingEndsWhatWaits(t *testing.T) {
	d := newDesk(t)
	boss := d.person("/p")
	must[*cadre.Added](t, boss, &cadre.TaskAdd{Subject: "x"})
	issued := must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleReadOnly})
	reader := d.holder(issued)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer, err := reader.Do(ctx, "watch", &coord.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for _, err := range answer.(coord.Stream).Events {
			ended <- err
			return
		}
	}()
	waited := make(chan error, 1)
	go func() {
		_, err := reader.Do(ctx, "task wait", &coord.TaskWait{IDs: []cadre.TaskID{"1"}, Status: "completed", Timeout: time.Minute})
		waited <- err
	}()
	must[*coord.TokenView](t, boss, &coord.TokenRevoke{TokenRevoke: cadre.TokenRevoke{ID: issued.ID}})
	must[*cadre.Done](t, boss, &cadre.TaskDone{ID: "1"})
	for _, got := range []error{<-ended, <-waited} {
		if e := cadre.AsError(got); e == nil || e.Rule != cadre.RuleRead {
			t.Errorf("it ended with %v", got)
		}
	}
}
