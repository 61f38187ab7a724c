package cadre

import (
	"fmt"
	"slices"
	"strings"
)

// TeamJoin makes the caller, or a name, a member.
type TeamJoin struct {
	Team        string `json:"team,omitempty" arg:"[TEAM]" help:"the team; the current one without"`
	Name        string `json:"name,omitempty" help:"the name to join under"`
	AgentType   string `json:"agentType,omitempty" help:"what kind of agent it is"`
	Model       string `json:"model,omitempty" help:"its model"`
	Description string `json:"description,omitempty" short:"d" help:"what it is there for"`
	PlanMode    bool   `json:"planModeRequired,omitempty" help:"it may start tasks only with an approved plan"`
	CWD         string `json:"cwd,omitempty" door:"-" help:"where it works"`
}

// ScopeName is the team to join.
func (v *TeamJoin) ScopeName() string { return v.Team }

// Decide adds the member; a name that is taken gets -2, -3 and so on.
func (v *TeamJoin) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	name := v.Name
	if name == "" {
		name = c.Actor.Name
		if c.Actor.Kind == ActorGuest { // which is its program's: there may be more of them
			if name, err = d.freeName(name); err != nil {
				return nil, err
			}
		}
	}
	name, _, _ = strings.Cut(name, "@")
	if err := CheckMemberName(name); err != nil {
		return nil, err
	}
	if err := checkText("description", v.Description, MaxDescription); err != nil {
		return nil, err
	}
	if err := firstRefusal(checkText("agent type", v.AgentType, MaxSubject), checkText("model", v.Model, MaxSubject)); err != nil {
		return nil, err
	}
	team, err := d.Team()
	if err != nil {
		return nil, err
	}
	if team == nil {
		return nil, d.noTeam()
	}
	if strings.EqualFold(name, team.Creator.Name) && team.Creator.Session != c.Actor.Session {
		return nil, refuse(RuleName, "%s is the name of the team's creator", name).hint("cadre team join %s --name NAME", d.Scope())
	}
	if c.Actor.Kind == ActorSession && d.rights >= works {
		return nil, nil // this session is a member already
	}
	if c.Actor.Kind == ActorGuest && d.rights >= works && d.joins == nil {
		return nil, nil // so is this guest
	}
	if c.Actor.By != "" && d.joins == nil && name == d.me {
		return nil, nil // and so is who is driven by hand
	}
	d.joins = nil // it joins as this call says
	if c.Actor.Kind == ActorReader {
		return nil, d.needMember()
	}
	if c.Actor.Kind == ActorMember && c.Actor.By == "" {
		return nil, refuse(RuleMember, "%s is a member already", c.Actor)
	}
	m := &Member{
		Name: name, Role: RoleTeammate, AgentType: v.AgentType, Model: v.Model, Description: v.Description, PlanMode: v.PlanMode,
		CWD: v.CWD, Session: c.Actor.Session, Lease: d.guestStays(), Backend: BackendHand, State: StateIdle, Evidence: "joined",
	}
	if c.Actor.Kind == ActorSession {
		m.Backend = BackendClient
	}
	if err := d.join(m); err != nil {
		return nil, err
	}
	return d.finish()
}

// Answer gives the new member.
func (v *TeamJoin) Answer(s Snap, c Command, r Receipt) (any, error) { return s.answerMember("", c, r) }

// answerMember gives the member that a receipt is about, or, where nothing had to
// change, the one that was meant: a name, or the caller.
func (s Snap) answerMember(name string, c Command, r Receipt) (any, error) {
	for _, e := range r.Events {
		if m, ok := e.After.(*Member); ok {
			return s.viewMember(m)
		}
	}
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if name, err = d.someone(name); err != nil {
		return nil, err
	}
	m, err := d.recipient(name)
	if err != nil {
		return nil, err
	}
	return s.viewMember(m)
}

// someone is the member that a caller names, or the caller itself.
func (d *draft) someone(name string) (string, error) {
	if name == "" {
		return d.me, nil
	}
	m, err := d.recipient(name)
	if err != nil {
		return "", err
	}
	return m.Name, nil
}

// join adds a member: a free name, the next colour, and the tasks that were kept
// for that name.
func (d *draft) join(m *Member) error {
	all, err := collect(d.Members())
	if err != nil {
		return err
	}
	wanted := m.Name
	taken := func(name string) bool {
		return slices.ContainsFunc(all, func(o *Member) bool { return strings.EqualFold(o.Name, name) })
	}
	var before Object
	for i, o := range all {
		if o.Name == wanted && o.State == StateDeparted && d.comesBack(o) {
			before, all = o, slices.Delete(all, i, i+1)
			m.Color, m.PlanMode = o.Color, m.PlanMode || o.PlanMode
			break
		}
	}
	for n := 2; taken(m.Name); n++ {
		m.Name = fmt.Sprintf("%s-%d", wanted, n)
		before = nil
	}
	if m.Color == "" {
		m.Color = nextColor(len(all))
	}
	m.N, m.JoinedAt, m.Since = d.number(), d.now(), d.now()
	d.put(before, m)
	kept, err := collect(d.Tasks(TaskQuery{Index: IndexOwner, Key: m.Name}))
	if err != nil {
		return err
	}
	for _, t := range kept {
		if _, own := d.place[t.Ref()]; own {
			continue // taken just now, by whoever joins with it
		}
		if err := d.assign(t, t.Author); err != nil {
			return err
		}
	}
	return nil
}

// comesBack says whether the caller may have a name again whose holder has left:
// with it come tasks and mail. The same session may, and whoever leads.
func (d *draft) comesBack(m *Member) bool {
	a := d.cmd.Actor
	return d.rights >= leads || a.operates() || m.Session != "" && m.Session == a.Session
}

// MemberLeave takes a member out of the team: the caller, or, by the lead,
// another. Its unfinished tasks go back in the same commit.
type MemberLeave struct {
	Name string `json:"name,omitempty" arg:"[NAME]" help:"who leaves; yourself without"`
}

// Decide lets the member depart.
func (v *MemberLeave) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	name, err := d.someone(v.Name)
	if err != nil {
		return nil, err
	}
	if name == d.me && d.joins != nil {
		return nil, refuse(RuleMissing, "%s is no member of %s", name, d.Scope()).hint("cadre member list")
	}
	if name == LeadName && !(d.me == LeadName && c.Actor.Kind == ActorGuest) {
		return nil, refuse(RuleMove, "the lead cannot leave its team").hint("cadre team delete")
	}
	if err := d.setNoLead(name, true); err != nil {
		return nil, err
	}
	if name != d.me {
		if err := d.needLead("take a member out of the team"); err != nil {
			return nil, err
		}
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	if err := d.depart(name, "left the team", d.me == LeadName); err != nil {
		return nil, err
	}
	return d.finish()
}

// depart ends a membership and gives the member's unfinished tasks back. The lead is
// told which, unless it knows.
func (d *draft) depart(name, why string, leadKnows bool) error {
	if err := d.setMemberState(name, StateDeparted, why); err != nil {
		return err
	}
	if err := d.voidAsksOf(name); err != nil {
		return err
	}
	own, err := collect(d.Tasks(TaskQuery{Index: IndexOwner, Key: name}))
	if err != nil {
		return err
	}
	var given []string
	for _, t := range own {
		next := t.Clone()
		next.back(d)
		if err := d.putTask(t, next); err != nil {
			return err
		}
		given = append(given, string(t.ID))
	}
	if len(given) == 0 || leadKnows {
		return nil
	}
	return d.notice(LeadName, "", "%s %s; pending again: task %s", name, why, strings.Join(given, ", "))
}

// Answer gives the member as it left.
func (v *MemberLeave) Answer(s Snap, c Command, r Receipt) (any, error) {
	return s.answerMember(v.Name, c, r)
}

// MemberReport says what a member is doing: the member itself, or the lead.
type MemberReport struct {
	State    MemberState `json:"state" arg:"STATE" values:"working,waiting,idle,rate-limited,stalled" help:"working, waiting, idle, rate-limited or stalled"`
	Name     string      `json:"name,omitempty" help:"who; yourself without"`
	Evidence string      `json:"evidence,omitempty" help:"how one can tell"`
}

// Decide records the state; the same again is no change.
func (v *MemberReport) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]MemberState{StateWorking, StateWaiting, StateIdle, StateRateLimited, StateStalled}, v.State) {
		return nil, refuse(RuleValue, "%q is not a state that can be reported: use working, waiting, idle, rate-limited or stalled", clip(string(v.State), 40))
	}
	if err := checkText("evidence", v.Evidence, MaxSubject); err != nil {
		return nil, err
	}
	name, err := d.someone(v.Name)
	if err != nil {
		return nil, err
	}
	m, err := d.recipient(name)
	if err != nil {
		return nil, err
	}
	if m.State == StateDeparted {
		return nil, refuse(RuleMove, "%s has left the team", m.Name).hint("cadre team join %s --name %s", d.Scope(), m.Name)
	}
	if name != d.me {
		if err := d.needLead("say what another member is doing"); err != nil {
			return nil, err
		}
	}
	evidence := v.Evidence
	if evidence == "" {
		evidence = "said so"
	}
	stalls := v.State == StateStalled && m.State != StateStalled && d.me != LeadName
	if err := d.setMemberState(name, v.State, evidence); err != nil {
		return nil, err
	}
	if stalls {
		if err := d.notice(LeadName, "", "%s is stalled: %s", name, evidence); err != nil {
			return nil, err
		}
	}
	if v.State == StateIdle && m.State != StateIdle {
		if err := d.tellIdle(m, evidence); err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// Answer gives the member.
func (v *MemberReport) Answer(s Snap, c Command, r Receipt) (any, error) {
	return s.answerMember(v.Name, c, r)
}
