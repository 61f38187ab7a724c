package coord

import (
	"context"
	"errors"
	"time"

	"cadre"
)

// Transcripts is what clients keep about themselves. Both methods read what was
// written since they were last called; when the context ends they answer with what
// was read by then.
type Transcripts interface {
	// Erased gives the teams that transcripts tell of, also those that exist.
	Erased(context.Context) ([]*Erased, error)
	// Spent gives what each member of a scope used, by name.
	Spent(context.Context, cadre.Scope) (map[string]cadre.Spent, error)
}

// Erased is a team, or a session's own list, as transcripts tell of it.
type Erased struct {
	cadre.TeamRebuild
	Scope   cadre.Scope
	Deleted time.Time
	Last    time.Time // when something was last said about it
}

// inErased is where a team is that only transcripts tell of.
const inErased cadre.Where = "erased"

// erased gives the teams that are in transcripts and nowhere else.
func (c *Coord) erased(ctx context.Context, known map[cadre.Scope]bool) ([]*Erased, error) {
	if c.Transcripts == nil {
		return nil, nil
	}
	all, err := c.Transcripts.Erased(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	var out []*Erased
	for _, t := range all {
		if !known[t.Scope] && !(t.Solo && known[cadre.SessionTeam(string(t.Scope))]) {
			out = append(out, t)
		}
	}
	return out, nil
}

// line shows an erased team among the others.
func (t *Erased) line() *TeamLine {
	l := &TeamLine{
		Scope: t.Scope, Where: inErased, Members: len(t.Members), Tasks: map[cadre.Status]int{}, UpdatedAt: t.Last.UTC().Format(time.RFC3339), Gaps: t.Gaps,
		Team: &cadre.Team{Name: t.Name, Description: t.Description, CreatedAt: t.CreatedAt},
	}
	if t.Solo {
		l.Team = nil
	}
	for _, task := range t.Tasks {
		l.Tasks[task.Status]++
	}
	return l
}

// erasedHere gives what transcripts tell of the team or list that is called like this
// scope, the newest of that name; nil where they tell of none.
func (s *Session) erasedHere(ctx context.Context) (last *Erased, err error) {
	all, err := s.erased(ctx, nil)
	for _, t := range all {
		if t.Scope == s.Scope {
			last = t
		}
	}
	return last, err
}

// restoreErased makes a team of what transcripts tell of it.
func (s *Session) restoreErased(ctx context.Context) (answer any, found bool, err error) {
	last, err := s.erasedHere(ctx)
	if err != nil || last == nil {
		return nil, false, err
	}
	if _, answer, err = s.change(ctx, "team restore", &last.TeamRebuild); err != nil {
		return nil, true, err
	}
	return answer, true, s.bind(ctx, s.Scope, false)
}

// TeamShow shows a team, and whether anyone in it is still at work.
type TeamShow struct{ cadre.TeamShow }

// quiet is how long a client may say nothing and still be taken to be at work.
const quiet = time.Minute

// Run shows it. What transcripts tell is added: what was spent, and who said
// something a moment ago.
func (v *TeamShow) Run(ctx context.Context, s *Session) (any, error) {
	s.listen(ctx)
	answer, err := s.Do(ctx, "team show", &v.TeamShow)
	view, ok := answer.(*cadre.TeamView)
	if err != nil || !ok {
		return answer, err
	}
	if err := s.bothLists(ctx, view); err != nil {
		return nil, err
	}
	if view.Team == nil {
		return s.withoutTeam(ctx, view, v.Team != "")
	}
	spent, err := s.spent(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range view.Members {
		sp, ok := spent[m.Name]
		if !ok || m.State == cadre.StateDeparted {
			continue
		}
		m.Spent = &sp
		if age := s.Now().Wall.Sub(sp.Last); age < quiet {
			view.Active.Note("%s wrote to its transcript %s ago", m.Name, age.Round(time.Second))
		}
	}
	return view, nil
}

// bothLists says what belongs together where clients spell a team's name in two ways.
func (s *Session) bothLists(ctx context.Context, view *cadre.TeamView) error {
	other := second(view.Team, view.Scope)
	if view.Team == nil {
		other = cadre.TeamOf(view.Scope)
	}
	if other == "" || other == view.Scope {
		return nil
	}
	return s.on(other).view(ctx, func(snap cadre.Snap) error {
		team, err := snap.Team()
		switch {
		case view.Team != nil && snap.Head().Seq > 0:
			view.Second = other
		case view.Team == nil && second(team, other) == view.Scope:
			view.Of = other
		}
		return err
	})
}

// withoutTeam shows a list that has no team. Where nothing was ever written it may
// be a team that its client erased, and whoever named it is told when it is not.
func (s *Session) withoutTeam(ctx context.Context, view *cadre.TeamView, named bool) (any, error) {
	missing := s.known(ctx)
	if missing == nil || !named {
		return view, nil
	}
	if s.Actor.Kind != cadre.ActorOperator {
		return nil, missing
	}
	t, err := s.erasedHere(ctx)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, missing
	}
	s.warn("%s was erased by its client, and is shown as transcripts tell of it; to bring it back: cadre team restore %[1]s", s.Scope)
	l := t.line()
	view.Where, view.Team, view.Tasks, view.Gaps = l.Where, l.Team, l.Tasks, l.Gaps
	for _, m := range t.Members {
		m = m.Clone()
		m.State, m.Evidence = cadre.StateDeparted, "its client ended"
		view.Members = append(view.Members, &cadre.MemberView{Member: m, AgentID: m.Name + "@" + string(s.Scope), Tasks: []cadre.TaskID{}})
	}
	return view, nil
}

// MemberShow shows a member, and what it spent.
type MemberShow struct{ cadre.MemberShow }

// Run shows it.
func (v *MemberShow) Run(ctx context.Context, s *Session) (any, error) {
	s.listen(ctx)
	answer, err := s.Do(ctx, "member show", &v.MemberShow)
	if view, ok := answer.(*cadre.MemberView); ok && err == nil {
		spent, err := s.spent(ctx)
		if err != nil {
			return nil, err
		}
		if sp, ok := spent[view.Name]; ok {
			view.Spent = &sp
		}
	}
	return answer, err
}

// MemberList lists the members of a team.
type MemberList struct{ cadre.MemberList }

// Run lists them.
func (v *MemberList) Run(ctx context.Context, s *Session) (any, error) {
	s.listen(ctx)
	return s.Do(ctx, "member list", &v.MemberList)
}

// Listener is a store that can tell when those who work with its files last said
// something and what they were shown, and notes who fell silent and which mail was lost.
type Listener interface {
	Listen(context.Context, cadre.Scope) error
}

// listen has it noted who fell silent, and whom nobody runs any more since the machine
// or a supervisor ended at once, before members are shown. Where that cannot be written
// one can still look. Of an archived team there is nothing to note. It says whether
// members were found to be stranded.
func (s *Session) listen(ctx context.Context) (stranded bool) {
	var err error
	if l, ok := cadre.StoreAs[Listener](s.Store); ok {
		err = l.Listen(ctx, s.Scope)
	}
	if err == nil && s.Runtime != nil && s.Actor.Kind == cadre.ActorOperator {
		stranded, err = s.Runtime.Recover(ctx, s)
	}
	if err != nil && !errors.Is(err, cadre.ErrNotFound) {
		s.warn("who fell silent, or lost mail, is not known: %v", err)
	}
	return stranded
}

func (s *Session) spent(ctx context.Context) (map[string]cadre.Spent, error) {
	if s.Transcripts == nil {
		return nil, nil
	}
	spent, err := s.Transcripts.Spent(ctx, s.Scope)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return spent, err
}
