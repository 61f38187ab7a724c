package soak_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"cadre"
	"cadre/coord"
	"cadre/memstore"
	"cadre/sqlitestore"
)

// decidedRules are the rules that a Decide can refuse by. The others belong to
// doors: a hook, a time limit.
var decidedRules = []cadre.Rule{
	cadre.RuleName, cadre.RuleValue, cadre.RuleLimit, cadre.RuleTaskMissing, cadre.RuleMissing, cadre.RuleNothing,
	cadre.RuleOwned, cadre.RuleFinished, cadre.RuleVersion, cadre.RuleFence, cadre.RuleExists, cadre.RuleChanged,
	cadre.RuleWaits, cadre.RuleCycle, cadre.RuleMove, cadre.RuleBlocks, cadre.RulePlan, cadre.RuleAlive, cadre.RuleRate,
	cadre.RuleRead, cadre.RuleOwner, cadre.RuleAuthor, cadre.RuleLead, cadre.RuleMember, cadre.RuleOperator, cadre.RuleSelf, cadre.RulePerson,
}

// TestSoakProperty runs random commands against both stores. After each of them
// both must have answered the same, and the invariants must hold in both. It
// counts how often each rule refused, because a rule that never refuses is not
// tested.
func TestSoakProperty(t *testing.T) {
	t.Parallel()
	const each = 250
	commands := count(t, "random commands", 10_000, 100_000)
	disk, err := sqlitestore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	p := &pair{t: t, mem: memstore.New(), disk: disk, refused: map[cadre.Rule]int{}, carriedOut: map[string]int{}}
	if err := flag.Set("rapid.checks", strconv.Itoa(commands/each)); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		p.begin(rt)
		for range each {
			p.step(rt)
		}
		p.same(rt)
	})
	atLeast := 1
	if full() {
		atLeast = 100
	}
	for _, rule := range decidedRules {
		t.Logf("%-13s refused %6d times", rule, p.refused[rule])
		if p.refused[rule] < atLeast {
			t.Errorf("rule %s refused only %d times, want at least %d", rule, p.refused[rule], atLeast)
		}
	}
	for _, v := range coord.Verbs() { // those of coord do more than decide, and have tests there
		kind := fmt.Sprintf("%T", v.New())
		if _, ok := v.New().(cadre.Change); !ok || !strings.HasPrefix(kind, "*cadre.") || p.carriedOut[kind] > 0 {
			continue
		}
		if full() { // a few thousand commands may leave out the rarest
			t.Errorf("%s was never carried out: nothing draws a %s that is allowed", v.Name, kind)
		}
	}
	t.Logf("%d commands were done, %d refused", p.done, p.asked-p.done)
}

// TestDecidedRules holds the list of rules against the rule book's, so that a new one
// is counted.
func TestDecidedRules(t *testing.T) {
	text, err := os.ReadFile("../rules.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^\tRule\w+ +Rule = "([a-z-]+)"`).FindAllSubmatch(text, -1)
	doors := []cadre.Rule{cadre.RuleGate, cadre.RuleTime}
	for _, m := range named {
		if rule := cadre.Rule(m[1]); !slices.Contains(decidedRules, rule) && !slices.Contains(doors, rule) {
			t.Errorf("nothing counts how often the rule %s refuses", rule)
		}
	}
	if want := len(decidedRules) + len(doors); len(named) != want {
		t.Errorf("the rule book has %d rules, here are %d", len(named), want)
	}
}

// pair is two stores that are given the same commands.
type pair struct {
	t           *testing.T
	mem, disk   cadre.Store
	scope       cadre.Scope
	runs        int
	asked, done int
	refused     map[cadre.Rule]int
	carriedOut  map[string]int // by the type of the verb
	newest      int            // the largest id that a task of the scope was given
	receipts    []cadre.Receipt
	now         cadre.Time
}

// begin takes a scope of its own and makes a team there.
func (p *pair) begin(rt *rapid.T) {
	p.runs++
	p.scope = cadre.Scope(fmt.Sprintf("docs-%d", p.runs))
	p.receipts, p.newest = nil, 0
	p.now = cadre.Time{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: "boot", Up: time.Hour}
	if p.runs%2 == 0 {
		p.do(rt, call{guest, &cadre.TeamCreate{Name: string(p.scope)}})
	}
	lead := rapid.SampledFrom([]cadre.Actor{operator, session}).Draw(rt, "lead")
	for _, c := range []call{
		{lead, &cadre.TeamCreate{Name: string(p.scope), LeadCreates: rapid.IntRange(0, 9).Draw(rt, "lead creates") == 0}},
		{operator, &cadre.TeamJoin{Name: "ann"}},
		{operator, &cadre.TeamJoin{Name: "ben"}},
		{operator, &cadre.TeamJoin{Name: "planner", PlanMode: true}},
	} {
		p.do(rt, c)
	}
	for i := range 6 {
		p.do(rt, call{operator, &cadre.TaskAdd{Subject: fmt.Sprint("task ", i)}})
	}
}

// call is one command of one caller.
type call struct {
	actor cadre.Actor
	verb  cadre.Change
}

// step is one random command, sometimes after some time has passed.
func (p *pair) step(rt *rapid.T) {
	if rapid.IntRange(0, 9).Draw(rt, "time passes") == 0 {
		d := time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second
		p.now.Wall, p.now.Up = p.now.Wall.Add(d), p.now.Up+d
	}
	switch rapid.IntRange(0, 199).Draw(rt, "habit") {
	case 100:
		p.drain(rt, as("cat"))
	case 150:
		for range 6 { // somebody repeats itself
			p.do(rt, call{as("ben"), &cadre.MsgSend{To: "team-lead", Text: "are you there?"}})
		}
	default:
		p.do(rt, p.draw(rt))
	}
}

// drain works until nothing is left to do.
func (p *pair) drain(rt *rapid.T, who cadre.Actor) {
	for range 40 {
		before := p.refused[cadre.RuleNothing]
		p.do(rt, call{who, &cadre.TaskNext{Claim: true}})
		if p.refused[cadre.RuleNothing] > before || len(p.receipts) == 0 {
			return
		}
		for _, e := range p.receipts[len(p.receipts)-1].Events {
			if t, ok := e.After.(*cadre.Task); ok && t.Owner == who.Name {
				p.do(rt, call{who, &cadre.TaskDone{ID: t.ID}})
			}
		}
	}
}

// do gives both stores one command and compares their answers.
func (p *pair) do(rt *rapid.T, c call) {
	p.asked++
	command := cadre.Command{ID: cadre.CommandID(fmt.Sprint("c", p.asked)), Actor: c.actor, Door: "test", Verb: fmt.Sprintf("%T", c.verb), Now: p.now}
	ctx := context.Background()
	decide := func(s cadre.Snap) ([]cadre.Event, error) { return c.verb.Decide(s, command) }
	one, err1 := p.mem.Update(ctx, p.scope, command, decide)
	two, err2 := p.disk.Update(ctx, p.scope, command, decide)
	if (err1 == nil) != (err2 == nil) || err1 != nil && *cadre.AsError(err1) != *cadre.AsError(err2) {
		rt.Fatalf("%s: %T%+v: memory says %v, the disk says %v", c.actor, c.verb, c.verb, err1, err2)
	}
	if err1 != nil {
		e := cadre.AsError(err1)
		if e.Code == cadre.CodeInternal {
			rt.Fatalf("%s: %T%+v: %v", c.actor, c.verb, c.verb, err1)
		}
		p.refused[e.Rule]++
		return
	}
	p.done++
	p.carriedOut[command.Verb]++
	for _, e := range one.Events {
		t, ok := e.After.(*cadre.Task)
		if !ok || e.Before != nil {
			continue
		}
		id, err := strconv.Atoi(string(t.ID))
		if err != nil || id <= p.newest {
			rt.Fatalf("%T made a task %s after task %d", c.verb, t.ID, p.newest)
		}
		p.newest = id
	}
	if diff := cmp.Diff(images(one.Events), images(two.Events)); diff != "" {
		rt.Fatalf("%T: memory and disk wrote different events:\n%s", c.verb, diff)
	}
	if len(one.Events) > 0 {
		p.receipts = append(p.receipts, one)
	}
	for name, s := range map[string]cadre.Store{"memory": p.mem, "disk": p.disk} {
		err := s.View(ctx, p.scope, func(snap cadre.Snap) error {
			if _, err := c.verb.Answer(snap, command, one); err != nil {
				return fmt.Errorf("no answer to %T%+v: %w", c.verb, c.verb, err)
			}
			return cadre.CheckInvariants(snap)
		})
		if err != nil {
			rt.Fatalf("after %s: %T%+v in %s: %v", c.actor, c.verb, c.verb, name, err)
		}
	}
}

// same compares everything that both stores have of the scope, through every
// index, now and at an earlier time.
func (p *pair) same(rt *rapid.T) {
	ctx := context.Background()
	now := func(s cadre.Store) []string {
		var out []string
		if err := s.View(ctx, p.scope, func(snap cadre.Snap) error { out = dump(rt, snap); return nil }); err != nil {
			rt.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(now(p.mem), now(p.disk)); diff != "" {
		rt.Fatalf("memory and disk differ:\n%s", diff)
	}
	seq := rapid.SampledFrom(p.receipts).Draw(rt, "at").Head.Seq // between two commands
	at := func(s cadre.Store) []string {
		var out []string
		if err := s.At(ctx, p.scope, seq, func(snap cadre.Snap) error { out = dump(rt, snap); return cadre.CheckInvariants(snap) }); err != nil {
			rt.Fatalf("at event %d: %v", seq, err)
		}
		return out
	}
	if diff := cmp.Diff(at(p.mem), at(p.disk)); diff != "" {
		rt.Fatalf("memory and disk differ at event %d:\n%s", seq, diff)
	}
}

// dump lists every object under every index.
func dump(rt *rapid.T, s cadre.Snap) []string {
	h := s.Head()
	out := []string{fmt.Sprint(h.Seq, h.Fence, h.Next)}
	for _, i := range slices.Concat(
		[]cadre.Index{"task", "comment", "reference", "member", "message", "ask", "todo", "team"},
		[]cadre.Index{cadre.IndexReady, cadre.IndexOwner, cadre.IndexStatus, cadre.IndexInternal, cadre.IndexParent, cadre.IndexSubject, cadre.IndexKey, cadre.IndexBlocker, cadre.IndexReference, cadre.IndexLeased, cadre.IndexSession, cadre.IndexGuest, cadre.IndexInbox, cadre.IndexUnread, cadre.IndexDead, cadre.IndexSent, cadre.IndexOpenAsk, cadre.IndexTaskAsk, cadre.IndexDeadline},
	) {
		n := 0
		for o, err := range s.Scan(i, "", "") {
			if err != nil {
				rt.Fatal(err)
			}
			n++
			data, err := json.Marshal(o)
			if err != nil {
				rt.Fatal(err)
			}
			out = append(out, string(i)+" "+string(data))
		}
		if c, err := s.Count(i, ""); err != nil || c != n {
			rt.Fatalf("index %s counts %d, %v, and lists %d", i, c, err, n)
		}
	}
	return out
}
