package coord_test

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/memstore"
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

// TestATokenThatIsNotThereIsWorthNothing: a log that lost events may have lost it, or
// that it was revoked.
func TestATokenThatIsNotThereIsWorthNothing(t *testing.T) {
	d := newDesk(t)
	s := d.holder(must[*coord.Issued](t, d.person("/p"), &coord.TokenCreate{Role: cadre.RoleOperator}))
	must[[]*cadre.TaskView](t, s, &cadre.TaskList{})
	s.Store = memstore.New()
	refused(t, cadre.RuleRead, s, &cadre.TaskList{})
}

// TestATokensOwnerIsToldWhereItIs: in the environment, or in the header of each request.
func TestATokensOwnerIsToldWhereItIs(t *testing.T) {
	d := newDesk(t)
	for bearers, part := range map[bool]string{false: "CADRE_TOKEN", true: "Authorization"} {
		d.Bearers = bearers
		_, err := d.Bearer(context.Background(), "made-up")
		if e := cadre.AsError(err); e == nil || !strings.Contains(e.Message, part) || !strings.Contains(e.Hint, part) {
			t.Errorf("it is told %v", err)
		}
	}
}

// counting counts the tokens that a store hands out.
type counting struct {
	cadre.Store
	n atomic.Int64
}

func (c *counting) View(ctx context.Context, scope cadre.Scope, show func(cadre.Snap) error) error {
	return c.Store.View(ctx, scope, func(snap cadre.Snap) error { return show(cadre.Snap{Source: countingSource{snap.Source, &c.n}}) })
}

type countingSource struct {
	cadre.Source
	n *atomic.Int64
}

func (c countingSource) Scan(i cadre.Index, prefix, after string) iter.Seq2[cadre.Object, error] {
	return func(yield func(cadre.Object, error) bool) {
		for o, err := range c.Source.Scan(i, prefix, after) {
			if _, ok := o.(*cadre.Token); ok {
				c.n.Add(1)
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// TestACallerCostsNoLookAtTheTokensOfOthers, however many there are.
func TestACallerCostsNoLookAtTheTokensOfOthers(t *testing.T) {
	d := newDesk(t)
	boss := d.person("/p")
	for range 20 {
		must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleReadOnly, Everywhere: true})
	}
	s := d.holder(must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleOperator}))
	counts := &counting{Store: d.Store}
	s.Store = counts
	must[[]*cadre.TaskView](t, s, &cadre.TaskList{})
	ctx, stop := s.WhileValid(context.Background())
	must[*coord.Issued](t, boss, &coord.TokenCreate{Role: cadre.RoleReadOnly, Everywhere: true})
	stop()
	<-ctx.Done()
	if n := counts.n.Load(); n != 0 {
		t.Errorf("%d tokens were looked at", n)
	}
	all := must[[]*coord.TokenView](t, s, &coord.TokenList{})
	if n := counts.n.Load(); n != int64(len(all)) {
		t.Errorf("%d tokens are listed, and %d were counted", len(all), n)
	}
}
