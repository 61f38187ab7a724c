package cadre

// TeamShow shows a team with its members and how far its work is.
type TeamShow struct {
	Team string `json:"team,omitempty" arg:"[TEAM]" help:"the team; the current one without"`
}

// TeamView is a team as it is shown.
type TeamView struct {
	Scope Scope `json:"scope"`
	Where Where `json:"where"`
	*Team
	Members []*MemberView  `json:"members"`
	Tasks   map[Status]int `json:"tasks"`
	Asks    int            `json:"asks"`
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
	for _, st := range []Status{Pending, InProgress, Completed, Deleted} {
		if view.Tasks[st], err = s.Count(IndexStatus, prefixKey(string(st))); err != nil {
			return nil, err
		}
	}
	view.Asks, err = s.Count(IndexOpenAsk, "")
	return view, err
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
	return out, nil
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
	return s.viewMember(m)
}
