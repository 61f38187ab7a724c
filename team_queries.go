package cadre

import "fmt"

// TeamShow shows a team with its members and how far its work is.
type TeamShow struct {
	Team string `json:"team,omitempty" arg:"[TEAM]" help:"the team; the current one without"`
}

// TeamView is a team as it is shown.
type TeamView struct {
	Scope Scope `json:"scope"`
	Where Where `json:"where"`
	*Team
	Of      Scope          `json:"of,omitempty"`     // the team whose members' list this is
	Second  Scope          `json:"second,omitempty"` // the list in which its members' clients keep their tasks
	Members []*MemberView  `json:"members"`
	Tasks   map[Status]int `json:"tasks"`
	Asks    int            `json:"asks"`
	Active  *Activity      `json:"active,omitempty"`
	Rebuilt bool           `json:"rebuilt,omitempty"` // this answer brought it back, from transcripts
	Gaps    []string       `json:"gaps,omitempty"`    // what they do not tell
}

// Activity says whether anyone in a team is still at work, and how one can tell.
type Activity struct {
	Active   bool     `json:"active"`
	Evidence []string `json:"evidence"`
}

// Note adds a sign of life.
func (a *Activity) Note(format string, args ...any) {
	a.Active = true
	a.Evidence = append(a.Evidence, fmt.Sprintf(format, args...))
}

// judge says who is at work, by the signs of life that the log has: the members'
// states. Who is stalled is not, nor is one that a supervisor has yet to start.
func (v *TeamView) judge() {
	v.Active = &Activity{Evidence: []string{}}
	for _, m := range v.Members {
		says := fmt.Sprintf("%s is %s: %s", m.Name, m.State, m.Evidence)
		switch {
		case m.State == StateStalled, m.State == StateStarting && m.Backend.Supervised() && m.Process == nil: // and may be for ever
			v.Active.Evidence = append(v.Active.Evidence, says)
		case m.State == StateStarting, m.State == StateWorking, m.State == StateWaiting, m.State == StateRateLimited:
			v.Active.Note("%s", says)
		}
	}
}

// ScopeName is the team to show.
func (v *TeamShow) ScopeName() string { return v.Team }

// Look shows it; a list without a team is shown with its tasks.
func (v *TeamShow) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	team, err := s.Team()
	if err != nil {
		return nil, err
	}
	view := &TeamView{Scope: s.Scope(), Where: Live, Team: team, Members: []*MemberView{}, Tasks: map[Status]int{}}
	for m, err := range s.Members() {
		if err != nil {
			return nil, err
		}
		mv, err := s.viewMember(m)
		if err != nil {
			return nil, err
		}
		view.Members = append(view.Members, mv)
	}
	if view.Where, err = s.archived(view.Members...); err != nil {
		return nil, err
	}
	for _, st := range []Status{Pending, InProgress, Completed, Deleted} {
		if view.Tasks[st], err = countTasks(s, st); err != nil {
			return nil, err
		}
	}
	if team != nil {
		view.judge()
	}
	view.Asks, err = s.Count(IndexOpenAsk, "")
	return view, err
}

// countTasks says how many tasks of a status a list shows: a client's own records
// are no work of anybody's.
func countTasks(s Snap, st Status) (int, error) {
	all, err := s.Count(IndexStatus, prefixKey(string(st)))
	if err != nil {
		return 0, err
	}
	internal, err := s.Count(IndexInternal, prefixKey(string(st)))
	return all - internal, err
}

// MemberList lists the members of a team.
type MemberList struct {
	All bool `json:"all,omitempty" help:"departed members too"`
}

// Look lists them in the order in which they joined.
func (v *MemberList) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	out := []*MemberView{}
	for m, err := range s.Members() {
		if err != nil {
			return nil, err
		}
		if m.State == StateDeparted && !v.All {
			continue
		}
		view, err := s.viewMember(m)
		if err != nil {
			return nil, err
		}
		out = append(out, view)
	}
	_, err := s.archived(out...)
	return out, err
}

// MemberShow shows one member.
type MemberShow struct {
	Name string `json:"name" arg:"NAME" help:"the member"`
}

// Look shows it.
func (v *MemberShow) Look(s Snap, c Command) (any, error) {
	d, err := look(s, c)
	if err != nil {
		return nil, err
	}
	m, err := d.recipient(v.Name)
	if err != nil {
		return nil, err
	}
	view, err := s.viewMember(m)
	if err != nil {
		return nil, err
	}
	_, err = s.archived(view)
	return view, err
}
