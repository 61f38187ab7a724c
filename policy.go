package cadre

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// DefaultAskDeadline is how long an ask waits before the team's policy answers it.
const DefaultAskDeadline = 30 * time.Minute

// maxAskDeadline is the longest that an ask may be made to wait before that.
const maxAskDeadline = 365 * 24 * time.Hour

// PolicyAnswer is what happens to an ask that nobody answered in time.
type PolicyAnswer string

const (
	PolicyApprove PolicyAnswer = "approve"
	PolicyDeny    PolicyAnswer = "deny" // where nothing else is said
	PolicyWait    PolicyAnswer = "wait" // for as long as it takes
)

// Policy answers asks of one kind for a person who is not there.
type Policy struct {
	Answer PolicyAnswer  `json:"answer"`
	After  time.Duration `json:"after"`  // how long the ask waits first
	By     Actor         `json:"by"`     // who set it
	Digest string        `json:"digest"` // of what set it: a team file, or the setting itself
}

// answers is the actor of a policy's answers.
var answers = Actor{Kind: ActorPolicy, Name: "policy", Proof: ProofInternal}

// policyKinds are the asks that a policy can be made for.
var policyKinds = []AskKind{AskPlan, AskPermission, AskQuestion}

// policy is what the team says about asks of a kind, or what goes without saying.
func (s Snap) policy(kind AskKind) (Policy, error) {
	team, err := s.Team()
	if team != nil {
		if p, ok := team.Settings.Policies[kind]; ok {
			return p, err
		}
	}
	return Policy{Answer: PolicyDeny, After: DefaultAskDeadline}, err
}

// deadline is until when an ask of this kind waits for a person, nil for ever.
func (p Policy) deadline(asked time.Time) *time.Time {
	if p.Answer == PolicyWait {
		return nil
	}
	at := asked.Add(p.After).Truncate(time.Millisecond)
	return &at
}

// TeamPolicy says what happens to asks of one kind that nobody answers in time.
type TeamPolicy struct {
	Kind   AskKind        `json:"kind" arg:"KIND" values:"plan,permission,question" help:"plan, permission or question"`
	Then   PolicyAnswer   `json:"answer" arg:"ANSWER" values:"approve,deny,wait" help:"approve, deny or wait"`
	After  *time.Duration `json:"after,omitempty" help:"how long an ask waits for a person first, as in 5m; 30m without"`
	Digest string         `json:"digest,omitempty" door:"-" help:"of the team file that says so"`
}

// Decide sets the policy, for the asks that wait now too. Only the operator may,
// under its own name: who leads a team does not decide what needs no person there.
func (v *TeamPolicy) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	next, err := v.policy(c)
	if err != nil {
		return nil, err
	}
	team, _, err := d.teamAndLead()
	if err != nil {
		return nil, err
	}
	if err := d.maySetPolicy(team, fmt.Sprintf("team policy %s %s", v.Kind, v.Then)); err != nil {
		return nil, err
	}
	old, set := team.Settings.Policies[v.Kind]
	if set && old.Digest == next.Digest && old.Answer == next.Answer && old.After == next.After {
		return nil, nil
	}
	changed := *team
	changed.Settings.Policies = maps.Clone(team.Settings.Policies)
	if changed.Settings.Policies == nil {
		changed.Settings.Policies = map[AskKind]Policy{}
	}
	changed.Settings.Policies[v.Kind] = next
	d.put(team, &changed)
	open, err := collect(d.OpenAsks())
	if err != nil {
		return nil, err
	}
	for _, a := range open {
		if a.Kind == v.Kind {
			waits := a.Clone()
			waits.Deadline = next.deadline(a.AskedAt)
			d.put(a, waits)
		}
	}
	return d.finish()
}

// policy makes the policy of what was said.
func (v *TeamPolicy) policy(c Command) (Policy, error) {
	p := Policy{Answer: v.Then, After: DefaultAskDeadline, By: c.Actor, Digest: v.Digest}
	if v.After != nil {
		p.After = *v.After
	}
	switch {
	case !slices.Contains(policyKinds, v.Kind):
		return p, refuse(RuleValue, "there is no policy for %q: use plan, permission or question", clip(string(v.Kind), 40))
	case v.Then != PolicyApprove && v.Then != PolicyDeny && v.Then != PolicyWait:
		return p, refuse(RuleValue, "a policy cannot be %q: use approve, deny or wait", clip(string(v.Then), 40))
	case v.Kind == AskQuestion && v.Then == PolicyApprove:
		return p, refuse(RuleValue, "a question has no yes: use deny or wait").hint("cadre team policy question wait")
	case v.Then == PolicyWait && v.After != nil:
		return p, refuse(RuleValue, "what waits for ever does not wait for so long first: leave --after out")
	case p.After < 0 || p.After > maxAskDeadline:
		return p, refuse(RuleLimit, "an ask can wait for up to %s", maxAskDeadline)
	case v.Then == PolicyWait:
		p.After = 0
	}
	if p.Digest == "" {
		p.Digest = Digest(fmt.Sprintf("policy %s %s %s", v.Kind, p.Answer, p.After))
	}
	return p, nil
}

// maySetPolicy: the operator alone, and where the team takes answers only with one
// token, only with that.
func (d *draft) maySetPolicy(team *Team, what string) error {
	a := d.cmd.Actor
	if a.Kind != ActorOperator {
		return refuse(RuleOperator, "only the operator may say what needs no person; this is %s", a).
			hint(`cadre msg send %s "please run: cadre %s"`, LeadName, what)
	}
	return team.takes(a)
}

// takes refuses an actor without the one token that the team takes approvals with.
func (t *Team) takes(a Actor) error {
	if token := t.Settings.ApprovalToken; token != "" && (a.Kind != ActorOperator || a.Token != token) {
		return refuse(RulePerson, "team %s takes this only with the operator token %s", t.Name, token).
			hint("with that token in CADRE_TOKEN: cadre ask list --team %s", t.Name)
	}
	return nil
}

// Answer shows the team.
func (v *TeamPolicy) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// TeamHooks sets the commands that are asked before something happens in a team, by
// event. It is for a team file; no door offers it.
type TeamHooks struct{ Hooks map[string][]Hook }

// Decide sets them. They are run for every caller, so only the operator may.
func (v *TeamHooks) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	team, _, err := d.teamAndLead()
	if err != nil {
		return nil, err
	}
	if c.Actor.Kind != ActorOperator {
		return nil, refuse(RuleOperator, "only the operator may set the hooks of a team; this is %s", c.Actor)
	}
	next := *team
	next.Settings.Hooks = v.Hooks
	if !next.sameSettings(team) {
		d.put(team, &next)
	}
	return d.finish()
}

// Answer shows the team.
func (v *TeamHooks) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// TeamApprovals says with what a team takes approvals.
type TeamApprovals struct {
	Only string `json:"only" arg:"WITH" values:"token,any" help:"token: only with the operator token that you come with; any: as rights allow"`
}

// Decide binds approvals to the caller's token, or frees them, which only the
// holder of that token may. Who poses as the operator at a terminal can issue a
// token, but not this one.
func (v *TeamApprovals) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if v.Only != "token" && v.Only != "any" {
		return nil, refuse(RuleValue, "approvals cannot be taken with %q: use token or any", clip(v.Only, 40)).hint("cadre team approvals token")
	}
	team, _, err := d.teamAndLead()
	if err != nil {
		return nil, err
	}
	if err := d.maySetPolicy(team, "team approvals "+v.Only); err != nil {
		return nil, err
	}
	next := *team
	if next.Settings.ApprovalToken = ""; v.Only == "token" {
		if c.Actor.Token == "" {
			return nil, refuse(RulePerson, "approvals are bound to the operator token that you come with, and this is %s without one", c.Actor).
				hint("cadre token create --role operator, then with it in CADRE_TOKEN: cadre team approvals token")
		}
		next.Settings.ApprovalToken = c.Actor.Token
	}
	if !next.sameSettings(team) {
		d.put(team, &next)
	}
	return d.finish()
}

// Answer shows the team.
func (v *TeamApprovals) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// sameSettings says whether two images of a team have the same rules: what would be
// stored of them is the same.
func (t *Team) sameSettings(other *Team) bool {
	mine, _ := json.Marshal(t.Settings) // settings are always JSON
	theirs, _ := json.Marshal(other.Settings)
	return bytes.Equal(mine, theirs)
}

// AsksExpire has the team's policy answer every ask that waited too long. Whoever
// runs may call it at any time.
type AsksExpire struct{}

// Decide answers them.
func (v *AsksExpire) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := d.expireAsks(d.late(d.now())); err != nil {
		return nil, err
	}
	return d.finish()
}

// Answer lists the asks that were answered.
func (v *AsksExpire) Answer(_ Snap, _ Command, r Receipt) (any, error) {
	ids := []AskID{}
	for _, e := range r.Events {
		if a, ok := e.After.(*Ask); ok {
			ids = append(ids, a.ID)
		}
	}
	return ids, nil
}

// LateAsks says whether an ask waited too long for a person.
func (s Snap) LateAsks(now time.Time) (bool, error) {
	for _, err := range s.late(now) {
		return err == nil, err
	}
	return false, nil
}

// late gives the asks that waited too long, the first to end first.
func (s Snap) late(now time.Time) iter.Seq2[*Ask, error] {
	return func(yield func(*Ask, error) bool) {
		for a, err := range scan[*Ask](s, IndexDeadline, "", "") {
			if err == nil && !a.late(now) || !yield(a, err) {
				return
			}
		}
	}
}

// expireAsks answers those of some asks that waited too long.
func (d *draft) expireAsks(asks iter.Seq2[*Ask, error]) error {
	open, err := collect(asks)
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.late(d.now()) {
			if err := d.expireAsk(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// expireAsk has the policy answer one ask. What it does is the policy's, whoever's
// command noticed.
func (d *draft) expireAsk(a *Ask) error {
	p, err := d.policy(a.Kind)
	if err != nil {
		return err
	}
	next, now := a.Clone(), d.now()
	next.AnsweredBy, next.AnsweredAt, next.Policy = answers.Name, &now, p.Digest
	next.State, next.Answer = AskRejected, "nobody answered in time"
	switch {
	case !slices.Contains([]AskKind{AskPlan, AskPermission}, a.Kind):
		next.State = AskExpired
	case p.Answer == PolicyApprove:
		next.State = AskApproved
	}
	me, first := d.me, len(d.events)
	d.me = answers.Name
	d.put(a, next)
	err = d.answered(next)
	d.me = me
	command := Command{ID: d.cmd.ID + "-policy", Actor: answers, Door: d.cmd.Door, Verb: "ask expire"}
	for i := range d.events[first:] {
		d.events[first+i] = sealedAs(command, d.events[first+i])
	}
	return err
}
