package cadre

import (
	"fmt"
	"strings"
)

// TeamCreate makes a team of an empty scope, with the caller as its lead.
type TeamCreate struct {
	Name        string `json:"name,omitempty" arg:"[NAME]" help:"a-z, 0-9 and -; one is made up without"`
	Description string `json:"description,omitempty" short:"d" help:"what the team is for"`
	LeadCreates bool   `json:"leadCreates,omitempty" help:"only the lead may create tasks"`
	AgentType   string `json:"agentType,omitempty" door:"-" help:"the lead's agent type"`
	Model       string `json:"model,omitempty" door:"-" help:"the lead's model"`
	CWD         string `json:"cwd,omitempty" door:"-" help:"where the lead works"`
}

// Decide creates the team and its lead, who joins at the moment of creation.
func (v *TeamCreate) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := CheckTeamName(v.Name); err != nil {
		return nil, err
	}
	if err := checkText("description", v.Description, MaxDescription); err != nil {
		return nil, err
	}
	team, err := d.Team()
	if err != nil {
		return nil, err
	}
	if team != nil {
		enter := "join"
		if c.Actor.Kind == ActorOperator && c.Door != "mcp" { // who need be no member to work in it; there is no such tool
			enter = "use"
		}
		return nil, refuse(RuleExists, "a team %s already exists, made by %s", v.Name, team.Creator).
			hint("cadre team %s %s, or another name: cadre team create %s-2", enter, v.Name, v.Name)
	}
	if n, err := d.Count(Index(KindTask), ""); err != nil || n > 0 {
		if err != nil {
			return nil, err
		}
		return nil, refuse(RuleExists, "a task list %s already exists, with %d tasks", v.Name, n).hint("cadre team create %s-2", v.Name)
	}
	if !c.Actor.founds() {
		return nil, refuse(RuleOperator, "%s may not create teams", c.Actor).hint(`cadre msg send %s "please run: cadre team create %s"`, LeadName, v.Name)
	}
	now := d.now()
	d.put(nil, &Team{Name: v.Name, Description: v.Description, CreatedAt: now, Creator: c.Actor, Settings: TeamSettings{LeadCreates: v.LeadCreates}})
	agentType := v.AgentType
	if agentType == "" {
		agentType = LeadName
	}
	backend := BackendHand
	if c.Actor.Kind == ActorSession {
		backend = BackendClient
	}
	d.put(nil, &Member{
		N: d.number(), Name: LeadName, Role: RoleLead, AgentType: agentType, Model: v.Model, CWD: v.CWD, Color: nextColor(0), Backend: backend,
		Session: c.Actor.Session, Lease: d.guestStays(), JoinedAt: now, State: StateIdle, Since: now, Evidence: "created the team",
	})
	return d.finish()
}

// Answer shows the team.
func (v *TeamCreate) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// TeamTake makes the caller the lead of a team that has none any more.
type TeamTake struct {
	Team  string `json:"team,omitempty" arg:"[TEAM]" help:"the team; the current one without"`
	Force bool   `json:"force,omitempty" help:"although its lead is there (operator only)"`
}

// ScopeName is the team to take.
func (v *TeamTake) ScopeName() string { return v.Team }

// Decide takes over a dormant team. The operator may take any, if it says so.
func (v *TeamTake) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	team, lead, err := d.teamAndLead()
	if err != nil {
		return nil, err
	}
	gone := team.NoLead || lead.State == StateDead || lead.State == StateDeparted
	if !gone && team.Creator.Kind == c.Actor.Kind && team.Creator.Session == c.Actor.Session {
		return nil, nil // it is the caller's already
	}
	if !gone && !(v.Force && c.Actor.Kind == ActorOperator) {
		return nil, refuse(RuleAlive, "team %s has a lead, who is %s", team.Name, lead.State).hint(`cadre msg send team-lead "…" --team %s`, team.Name)
	}
	if !c.Actor.founds() {
		return nil, refuse(RuleOperator, "%s may not take over a team", c.Actor)
	}
	taken := *team
	taken.Creator, taken.NoLead = c.Actor, false
	d.put(team, &taken)
	next := lead.Clone()
	next.Session, next.State, next.Since, next.Evidence = c.Actor.Session, StateIdle, d.now(), "took the team over"
	next.Backend, next.Process, next.Lease = BackendHand, nil, d.guestStays()
	if c.Actor.Kind == ActorSession {
		next.Backend = BackendClient
	}
	d.put(lead, next)
	return d.finish()
}

// noTeam refuses what needs a team where there is none: nothing at all, or a list of
// tasks alone. In a place of one's own that is the default list, and a team is next.
func (d *draft) noTeam() error {
	n, err := d.Count(Index(KindTask), "")
	switch {
	case err != nil:
		return err
	case d.Scope() == DefaultScope:
		return refuse(RuleMissing, "%s is a list without a team", d.Scope()).hint("cadre team create my-team")
	case n > 0:
		return refuse(RuleMissing, "%s is a list without a team", d.Scope()).hint("cadre task list --scope %s", d.Scope())
	}
	return refuse(RuleMissing, "there is no team %s", d.Scope()).hint("cadre team list")
}

func (d *draft) teamAndLead() (*Team, *Member, error) {
	team, err := d.Team()
	if err != nil {
		return nil, nil, err
	}
	if team == nil {
		return nil, nil, d.noTeam()
	}
	lead, err := d.Member(LeadName)
	if err == nil && lead == nil {
		err = fmt.Errorf("team %s has no record of a lead", team.Name)
	}
	return team, lead, err
}

// Answer shows the team.
func (v *TeamTake) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// TeamLabel gives a team a name for people.
type TeamLabel struct {
	Label string `json:"label" arg:"LABEL" help:"a name for people; empty removes it"`
}

// Decide sets the label.
func (v *TeamLabel) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if err := checkText("label", v.Label, MaxSubject); err != nil {
		return nil, err
	}
	team, _, err := d.teamAndLead()
	if err != nil {
		return nil, err
	}
	if err := d.needLead("label the team"); err != nil {
		return nil, err
	}
	if team.Label == v.Label {
		return nil, nil
	}
	next := *team
	next.Label = v.Label
	d.put(team, &next)
	return d.finish()
}

// Answer shows the team.
func (v *TeamLabel) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// TeamClose is the first half of deleting a team: it refuses while members are
// alive, or lets them depart. The store then moves the scope away.
type TeamClose struct {
	Force bool `json:"force,omitempty"`
}

// Decide lets the members depart.
func (v *TeamClose) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	team, err := d.Team()
	if err != nil {
		return nil, err
	}
	if team == nil {
		return nil, d.noTeam()
	}
	members, err := collect(d.Members())
	if err != nil {
		return nil, err
	}
	var alive []string // hand-driven members are not: they wait in the archive
	for _, m := range members {
		if m.Alive() {
			alive = append(alive, m.Name)
		}
	}
	mayNot := d.needLead("delete the team")
	if len(alive) > 0 && !v.Force {
		refused := refuse(RuleAlive, "team %s has living members: %s", team.Name, strings.Join(alive, ", "))
		if mayNot == nil {
			refused = refused.hint("cadre team delete %s --force", team.Name)
		}
		return nil, refused
	}
	if mayNot != nil {
		return nil, mayNot
	}
	for _, name := range alive {
		if err := d.depart(name, "left when the team was deleted", d.me == LeadName); err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// Answer shows the team as it is left.
func (v *TeamClose) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}
