package cadre

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// AskFor asks for something: that a plan be approved, a permission, an answer.
type AskFor struct {
	Kind      AskKind  `json:"kind" arg:"KIND" values:"plan,permission,question" help:"plan, permission or question"`
	Text      string   `json:"text" arg:"TEXT" help:"the plan, what is to be permitted, or the question"`
	Task      TaskID   `json:"task,omitempty" help:"the task it is about; a plan needs one"`
	Approvers []string `json:"approvers,omitempty" help:"members who may answer; the lead without"`
}

// Decide opens the ask and tells those who may answer. A newer plan for the same
// task takes the place of an older one.
func (v *AskFor) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if v.Kind != AskPlan && v.Kind != AskPermission && v.Kind != AskQuestion {
		return nil, refuse(RuleValue, "%q cannot be asked for: use plan, permission or question", clip(string(v.Kind), 40))
	}
	if err := checkMessage(v.Text, ""); err != nil {
		return nil, err
	}
	if v.Kind == AskPlan && v.Task == "" {
		return nil, refuse(RuleValue, "a plan is for a task").hint("cadre ask for plan TEXT --task ID")
	}
	ask := &Ask{Kind: v.Kind, From: d.me, Text: v.Text, Digest: Digest(v.Text)}
	var about *Task
	if v.Task != "" {
		if about, err = d.task(v.Task); err != nil {
			return nil, err
		}
		ask.Task = about.ID
	}
	if err := v.approvers(d, ask, about); err != nil {
		return nil, err
	}
	if err := d.expireAsks(d.late(d.now())); err != nil {
		return nil, err
	}
	if err := d.guardAsks(d.me); err != nil {
		return nil, err
	}
	if v.Kind == AskPlan {
		if err := d.needOwner(about, "plan"); err != nil {
			return nil, err
		}
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	if err := d.replacePlan(ask); err != nil {
		return nil, err
	}
	policy, err := d.policy(ask.Kind)
	if err != nil {
		return nil, err
	}
	ask.Deadline = policy.deadline(d.now())
	if err := d.tell(d.ask(ask)); err != nil {
		return nil, err
	}
	return d.finish()
}

// approvers says who may answer. For a question the asker chooses; a plan or a
// permission is answered by those whom the task's author named, or by the lead:
// nobody picks its own judge.
func (v *AskFor) approvers(d *draft, ask *Ask, about *Task) error {
	allowed := about.judges()
	names := v.Approvers
	if len(names) == 0 {
		names = allowed
	}
	for _, name := range names {
		m, err := d.recipient(name)
		if err != nil && (len(v.Approvers) > 0 || AsError(err).Rule != RuleMissing) {
			return err
		}
		switch {
		case m == nil || slices.Contains(ask.Approvers, m.Name):
		case m.Name != d.me:
			ask.Approvers = append(ask.Approvers, m.Name)
		case len(v.Approvers) > 0:
			return refuse(RuleSelf, "%s cannot answer what it asks itself", d.me)
		}
		if m != nil && ask.Kind != AskQuestion && d.rights < leads && !slices.Contains(allowed, m.Name) {
			return refuse(RuleLead, "who may answer this is not for %s to say: %s may", d.me, strings.Join(allowed, ", "))
		}
	}
	if len(ask.Approvers) == 0 && d.me == LeadName && d.cmd.Actor.Kind == ActorOperator {
		about := ""
		if ask.Task != "" {
			about = " --task " + string(ask.Task)
		}
		return refuse(RuleSelf, "%s cannot answer what it asks itself: name somebody else", d.me).hint("cadre ask for %s \"…\"%s --approvers NAME", ask.Kind, about)
	}
	return nil
}

// judges are those who decide about a task: whom its author named, or the lead.
func (t *Task) judges() []string {
	if t != nil && t.Plan != nil && len(t.Plan.Approvers) > 0 {
		return t.Plan.Approvers
	}
	return []string{LeadName}
}

// answerers are the members who may answer an ask now, and me if it is one who is about
// to join. Who judges a plan or a permission can have joined, or been named, after it was
// asked for; a question to nobody is the lead's.
func (s Snap) answerers(a *Ask, me string) ([]string, error) {
	names := a.Approvers
	switch {
	case a.State != AskOpen:
		return names, nil
	case a.Kind == AskPlan || a.Kind == AskPermission:
		t, err := s.Task(a.Task)
		if err != nil {
			return nil, err
		}
		if t != nil && t.Plan != nil && len(t.Plan.Approvers) > 0 {
			names = nil // whoever was chosen before
		}
		names = append(slices.Clone(names), t.judges()...)
	case a.Kind == AskQuestion && len(names) == 0:
		names = []string{LeadName}
	default:
		return names, nil
	}
	var out []string
	for _, name := range names {
		m, err := s.Member(name)
		if err != nil {
			return nil, err
		}
		there := m != nil && m.State != StateDeparted || name == me
		if there && name != a.From && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// asNow is an ask with those who may answer it now.
func (s Snap) asNow(a *Ask) (*Ask, error) {
	next := a.Clone()
	var err error
	next.Approvers, err = s.answerers(a, "")
	return next, err
}

// guardAsks keeps one member from flooding those who answer.
func (d *draft) guardAsks(from string) error {
	open := 0
	for a, err := range d.OpenAsks() {
		if err != nil {
			return err
		}
		if a.From == from {
			open++
		}
	}
	if open >= maxOpenAsks {
		return refuse(RuleRate, "%d asks of %s wait for an answer already", open, from).hint("cadre ask list")
	}
	return nil
}

// maxOpenAsks is how many asks of one caller may wait at the same time.
const maxOpenAsks = 50

// tell tells those who may answer.
func (d *draft) tell(ask *Ask) error {
	kinds := map[AskKind]MessageKind{AskPlan: MessagePlanRequest, AskPermission: MessagePermRequest, AskQuestion: MessagePlain, AskShutdown: MessageShutdownRequest}
	for _, name := range ask.Approvers {
		if name == d.me {
			continue
		}
		if err := d.post(&Message{To: name, Kind: kinds[ask.Kind], Text: ask.Text, Task: ask.Task, Ask: ask.ID, Summary: summarise("", ask.Text)}); err != nil {
			return err
		}
	}
	return nil
}

// replacePlan voids an older plan for the same task, approved or not.
func (d *draft) replacePlan(ask *Ask) error {
	if ask.Kind != AskPlan {
		return nil
	}
	t, err := d.Task(ask.Task)
	if err != nil {
		return err
	}
	if t.Plan != nil && t.Plan.ApprovedBy != "" && t.Status == Pending {
		next := t.Clone()
		next.Plan = t.Plan.shut()
		if err := d.putTask(t, next); err != nil {
			return err
		}
	}
	older, err := collect(scan[*Ask](d.Snap, IndexTaskAsk, prefixKey(string(ask.Task)), ""))
	if err != nil {
		return err
	}
	for _, a := range older {
		if a.Kind == AskPlan {
			d.put(a, a.void("a newer plan took its place"))
		}
	}
	return nil
}

// Digest names a text by its content.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Answer gives the ask.
func (v *AskFor) Answer(_ Snap, _ Command, r Receipt) (any, error) { return newAsk(r), nil }

// newAsk is the ask that a receipt opened.
func newAsk(r Receipt) *Ask {
	for _, e := range r.Events {
		if a, ok := e.After.(*Ask); ok && e.Before == nil {
			return a
		}
	}
	return nil
}

// AskAnswer answers an ask. Approve is nil for a plain answer to a question.
type AskAnswer struct {
	ID      AskID  `json:"id" arg:"ID" help:"the ask"`
	Text    string `json:"text,omitempty" arg:"[TEXT]" help:"the answer, or the reason"`
	Approve *bool  `json:"approve,omitempty" door:"-" help:"yes or no"`
	Digest  string `json:"digest,omitempty" help:"refuse unless this is the digest of what was asked"`
}

// Decide records the answer and what follows from it.
func (v *AskAnswer) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if err := checkText("answer", v.Text, MaxMessage); err != nil {
		return nil, err
	}
	a, err := d.Ask(v.ID)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, refuse(RuleMissing, "there is no ask %s in %s", clip(string(v.ID), 40), d.Scope()).hint("cadre ask list")
	}
	if a.State == AskExpired && a.Kind == AskQuestion { // whoever asked may still want to hear it
		return nil, refuse(RuleFinished, "ask %s has expired: nobody answered it in time", a.ID).hint(`cadre msg send %s "the answer"`, a.From)
	}
	if a.State != AskOpen {
		return nil, refuse(RuleFinished, "ask %s is already %s", a.ID, a.State).hint("cadre ask show %s", a.ID)
	}
	if a.late(d.now()) {
		return nil, refuse(RuleFinished, "ask %s waited until %s and is over: the team's policy answers it", a.ID, a.Deadline.Format(time.RFC3339)).hint("cadre ask show %s", a.ID)
	}
	if v.Digest != "" && v.Digest != a.Digest {
		return nil, refuse(RuleVersion, "ask %s is about another text now", a.ID).hint("cadre ask show %s", a.ID)
	}
	if v.Approve == nil && a.Kind != AskQuestion && a.Kind != AskPerson {
		return nil, refuse(RuleValue, "ask %s wants a yes or a no", a.ID).hint("cadre ask approve %s", a.ID)
	}
	next := a.Clone()
	if next.Approvers, err = d.answerers(a, d.me); err != nil {
		return nil, err
	}
	if err := d.mayAnswer(next); err != nil {
		return nil, err
	}
	now := d.now()
	next.Answer, next.AnsweredBy, next.AnsweredAt = v.Text, d.me, &now
	switch {
	case v.Approve == nil:
		next.State = AskAnswered
	case *v.Approve:
		next.State = AskApproved
	default:
		next.State = AskRejected
	}
	d.put(a, next)
	if err := d.answered(next); err != nil {
		return nil, err
	}
	return d.finish()
}

// mayAnswer: never its author; a member only as a named approver; the operator,
// also under another's name, only as a person who is provably there, and for an
// approval with the one token that the team takes, where it takes only that. What
// approves nothing (a question, a shutdown, its refusal) needs no ceremony.
func (d *draft) mayAnswer(a *Ask) error {
	actor := d.cmd.Actor
	if a.From == d.me {
		return refuse(RuleSelf, "%s asked this and cannot answer it", d.me).hint("cadre ask show %s", a.ID)
	}
	named := slices.Contains(a.Approvers, d.me)
	if !actor.operates() && !named {
		who := strings.Join(append(slices.Clone(a.Approvers), "the operator"), ", ")
		return refuse(RuleLead, "ask %s is not for %s to answer: %s may", a.ID, d.me, who).hint("cadre ask show %s", a.ID)
	}
	approves := a.Kind != AskShutdown && a.Kind != AskQuestion && a.Kind != AskRefusal
	team, err := d.Team()
	if err != nil {
		return err
	}
	if team != nil && approves {
		if err := team.takes(actor); err != nil {
			return err
		}
	}
	if actor.operates() && !actor.Person() && (approves || !named) {
		return refuse(RulePerson, "answering as the operator needs a person: a terminal, or an operator token").hint("cadre ask show %s", a.ID)
	}
	return nil
}

// answered does what an answer means, and tells the one who asked.
func (d *draft) answered(a *Ask) error {
	switch {
	case a.Kind == AskPlan && a.State == AskApproved:
		t, err := d.Task(a.Task)
		if err != nil {
			return err
		}
		if t != nil && t.Status != Deleted {
			next := t.Clone()
			next.Plan = &PlanGate{Digest: a.Digest, ApprovedBy: a.AnsweredBy, From: a.From}
			if t.Plan != nil {
				next.Plan.Approvers = t.Plan.Approvers
			}
			if err := d.putTask(t, next); err != nil {
				return err
			}
		}
	case a.Kind == AskShutdown && a.State == AskApproved:
		if err := d.depart(a.Member, "shut down", d.me == LeadName); err != nil {
			return err
		}
	case a.Kind == AskShutdown && a.State == AskRejected:
		if err := d.refusesShutdown(a); err != nil {
			return err
		}
	case a.Kind == AskRefusal && a.State != AskExpired:
		return d.refusalAnswered(a)
	case a.Kind == AskRefusal:
		return nil
	case a.Kind == AskTakeover && a.State == AskApproved:
		t, err := d.Task(a.Task)
		if err != nil || t == nil || !t.Open() {
			return err
		}
		next := t.Clone()
		next.back(d)
		return d.putTask(t, next)
	case a.Kind == AskTakeover:
		return nil
	case a.Kind == AskPerson:
		t, err := d.Task(a.Task)
		if err != nil || t == nil || !t.has(FlagPerson) || a.State == AskRejected {
			return err
		}
		next := t.Clone()
		next.Attempts, next.Refusals = 0, 0
		next.unflag(FlagPerson)
		return d.putTask(t, next)
	}
	kinds := map[AskKind]MessageKind{AskPlan: MessagePlanResponse, AskPermission: MessagePermResponse, AskQuestion: MessagePlain, AskShutdown: MessageShutdownResponse}
	text := string(a.State)
	if a.Answer != "" {
		text += ": " + a.Answer
	}
	to, err := d.Member(a.From)
	if err != nil || to == nil || to.State == StateDeparted || to.Name == d.me {
		return err
	}
	return d.post(&Message{To: a.From, Kind: kinds[a.Kind], Text: text, Summary: clip(text, 80), Task: a.Task, Ask: a.ID})
}

// Answer gives the ask.
func (v *AskAnswer) Answer(s Snap, _ Command, _ Receipt) (any, error) { return s.Ask(v.ID) }

// AskApprove says yes.
type AskApprove struct {
	ID     AskID  `json:"id" arg:"ID" help:"the ask"`
	Text   string `json:"text,omitempty" arg:"[NOTE]" help:"a note that goes with it"`
	Digest string `json:"digest,omitempty" help:"refuse unless this is the digest of what was asked"`
}

// Decide approves.
func (v *AskApprove) Decide(s Snap, c Command) ([]Event, error) {
	yes := true
	return (&AskAnswer{ID: v.ID, Text: v.Text, Approve: &yes, Digest: v.Digest}).Decide(s, c)
}

// Answer gives the ask.
func (v *AskApprove) Answer(s Snap, _ Command, _ Receipt) (any, error) { return s.Ask(v.ID) }

// AskReject says no.
type AskReject struct {
	ID   AskID  `json:"id" arg:"ID" help:"the ask"`
	Text string `json:"text,omitempty" arg:"[REASON]" help:"why, and what would be better"`
}

// Decide rejects.
func (v *AskReject) Decide(s Snap, c Command) ([]Event, error) {
	no := false
	return (&AskAnswer{ID: v.ID, Text: v.Text, Approve: &no}).Decide(s, c)
}

// Answer gives the ask.
func (v *AskReject) Answer(s Snap, _ Command, _ Receipt) (any, error) { return s.Ask(v.ID) }
