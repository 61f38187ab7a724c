package cadre

import "time"

// TeamRebuild makes a scope of a team that its client erased, from what is left of
// it: nobody works in it any more, its mail was read, and what was in progress is
// pending again. Of a session's own list only the tasks are made: it had no team.
type TeamRebuild struct {
	Name        string
	Solo        bool // a session's own list
	Description string
	CreatedAt   time.Time
	Members     []*Member
	Tasks       []*Task
	Messages    []*Message
	Gaps        []string // what is not known, in words
}

// Decide rebuilds the team in an empty scope, with the caller as its lead.
func (v *TeamRebuild) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if c.Actor.Kind != ActorOperator {
		return nil, refuse(RuleOperator, "only the operator may bring back a team that its client erased")
	}
	if team, err := d.Team(); err != nil || team != nil {
		if err != nil {
			return nil, err
		}
		return nil, refuse(RuleExists, "there is a team %s already", d.Scope()).hint("cadre team show %s", d.Scope())
	}
	if n, err := d.Count(Index(KindTask), ""); err != nil || n > 0 {
		if err != nil {
			return nil, err
		}
		return nil, refuse(RuleExists, "there is a list %s already, with %d tasks", d.Scope(), n).hint("cadre task list --scope %s", d.Scope())
	}
	now := d.now()
	if v.Solo {
		if err := d.rebuildTasks(v.Tasks); err != nil {
			return nil, err
		}
		return d.finish()
	}
	d.put(nil, &Team{Name: v.Name, Description: v.Description, CreatedAt: v.CreatedAt.UTC(), Creator: c.Actor})
	d.put(nil, &Member{
		N: d.number(), Name: LeadName, Role: RoleLead, AgentType: LeadName, Color: nextColor(0), Backend: BackendHand,
		JoinedAt: v.CreatedAt.UTC(), State: StateIdle, Since: now, Evidence: "brought the team back",
	})
	for _, m := range v.Members {
		if m.Name == LeadName {
			continue
		}
		next := m.Clone()
		next.N, next.Role, next.State, next.Since, next.Evidence = d.number(), RoleTeammate, StateDeparted, now, "its client ended"
		d.put(nil, next)
	}
	if err := d.rebuildTasks(v.Tasks); err != nil {
		return nil, err
	}
	for _, m := range v.Messages {
		next := m.taken(now)
		next.N = d.number()
		next.ID = MessageID("m" + decimal(next.N))
		d.put(nil, next)
	}
	return d.finish()
}

// rebuildTasks puts the tasks with those edges that still make sense.
func (d *draft) rebuildTasks(tasks []*Task) error {
	for _, t := range tasks {
		next := t.Clone()
		next.BlockedBy, next.Leased, next.Flags = nil, false, nil
		if next.Status == InProgress {
			next.Status, next.Owner, next.StartedAt = Pending, "", nil
		}
		created, updated := t.CreatedAt, t.UpdatedAt
		if err := d.putTask(nil, next); err != nil {
			return err
		}
		next.CreatedAt, next.UpdatedAt = created, updated
	}
	for _, t := range tasks {
		now, err := d.Task(t.ID)
		if err != nil {
			return err
		}
		next := now.Clone()
		for _, by := range t.BlockedBy {
			if err := (&intake{draft: d}).foreignEdge(next, by); err != nil && AsError(err).Code == CodeInternal {
				return err
			}
		}
		if len(next.BlockedBy) == 0 {
			continue
		}
		if open, err := d.countOpen(next.BlockedBy); err != nil {
			return err
		} else if open > 0 && next.Status == Completed {
			next.flag(FlagUnaccepted)
		}
		if err := d.putTask(now, next); err != nil {
			return err
		}
	}
	return nil
}

// Answer shows the team, and how far what was left of it went.
func (v *TeamRebuild) Answer(s Snap, c Command, _ Receipt) (any, error) {
	shown, err := (&TeamShow{}).Look(s, c)
	if err != nil {
		return nil, err
	}
	view := shown.(*TeamView)
	view.Rebuilt, view.Gaps = true, v.Gaps
	return view, nil
}
