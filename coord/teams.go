package coord

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cadre"
)

// TeamCreate makes a team and switches its creator to it at once.
type TeamCreate struct{ cadre.TeamCreate }

// Run creates the team in the scope of its name; without a name one is made up.
func (v *TeamCreate) Run(ctx context.Context, s *Session) (any, error) {
	madeUp := v.Name == ""
	v.CWD = s.CWD
	for {
		if madeUp {
			v.Name = madeUpName()
		}
		if err := cadre.CheckTeamName(v.Name); err != nil {
			return nil, err
		}
		team := s.on(cadre.Scope(v.Name))
		_, answer, err := team.change(ctx, "team create", &v.TeamCreate)
		if errors.Is(err, cadre.ErrNotFound) { // archived
			err = cadre.Refuse(cadre.RuleExists, fmt.Sprintf("cadre team restore %s, or another name: cadre team create %[1]s-2", v.Name), "a team %s was archived and keeps its name", v.Name)
		}
		if madeUp && errors.Is(err, &cadre.Error{Code: cadre.CodeConflict, Rule: cadre.RuleExists}) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return answer, team.bind(ctx, team.Scope, false)
	}
}

// madeUpName is an adjective, a verb and an animal.
func madeUpName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return cadre.MadeUpName(binary.LittleEndian.Uint64(b[:]))
}

// TeamJoin makes the caller a member and switches it to the team.
type TeamJoin struct {
	cadre.TeamJoin
	Token bool `json:"token,omitempty" help:"issue a token that a program proves to be this member with, shown once"`
}

// Joined is the answer to joining. The token is shown this once; only its hash is
// kept.
type Joined struct {
	*cadre.MemberView
	Token string `json:"token,omitempty"`
}

// Run joins. An agent without a session of its own gets a token, because it has
// nothing else to be recognised by.
func (v *TeamJoin) Run(ctx context.Context, s *Session) (any, error) {
	v.CWD = s.CWD
	asOperator := s.Actor.Kind == cadre.ActorOperator || s.Actor.By == string(cadre.RoleOperator)
	if v.Token && asOperator && !s.Actor.Person() {
		return nil, cadre.Refuse(cadre.RulePerson, "", "issuing a token as the operator needs a person: a terminal, or an operator token")
	}
	if v.Token && s.Actor.Kind == cadre.ActorSession {
		return nil, cadre.Refuse(cadre.RuleOperator, askOperator("team join --token"), "a session is recognised by its shell and may not issue tokens")
	}
	receipt, answer, err := s.change(ctx, "team join", &v.TeamJoin)
	if err != nil {
		return nil, err
	}
	joined := &Joined{MemberView: answer.(*cadre.MemberView)}
	if isNew := len(receipt.Events) > 0; isNew && (v.Token || s.Actor.Kind == cadre.ActorGuest && s.Actor.Session == "") {
		issued, err := s.issue(ctx, "team join", &cadre.TokenIssue{Token: tokenOf(s.Scope, joined.Member), Joins: true})
		if err != nil {
			return nil, err
		}
		joined.Token = issued.Token
	}
	if s.Actor.Kind != cadre.ActorSession {
		return joined, nil
	}
	return joined, s.bind(ctx, s.Scope, false)
}

// TeamTake makes the caller the lead of a dormant team and switches it there.
type TeamTake struct{ cadre.TeamTake }

// Run takes over.
func (v *TeamTake) Run(ctx context.Context, s *Session) (any, error) {
	_, answer, err := s.change(ctx, "team take", &v.TeamTake)
	if err != nil {
		return nil, err
	}
	return answer, s.bind(ctx, s.Scope, false)
}

// TeamUse switches the caller to a list.
type TeamUse struct {
	Team string `json:"team" arg:"TEAM" help:"the team or list to work on from here"`
}

// Run binds this folder, or this session, to the list.
func (v *TeamUse) Run(ctx context.Context, s *Session) (any, error) {
	scope, err := cadre.ParseScope(v.Team)
	if err != nil {
		return nil, err
	}
	if s.Actor.Kind != cadre.ActorOperator && s.Actor.Kind != cadre.ActorSession {
		return nil, cadre.Refuse(cadre.RuleOperator, "export CADRE_SCOPE="+string(scope), "%s belongs to no folder or session that could be switched", s.Actor)
	}
	s = s.on(scope)
	if err := s.known(ctx); err != nil {
		return nil, err
	}
	if err := s.bind(ctx, scope, false); err != nil {
		return nil, err
	}
	return s.Do(ctx, "team show", &cadre.TeamShow{})
}

// askOperator is what an agent does that may not do something itself. Not every
// list has a lead to write to.
func askOperator(what string) string { return "ask the operator to run: cadre " + what }

// known refuses a scope that nothing was ever written to.
func (s *Session) known(ctx context.Context) error {
	return s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		if snap.Head().Seq == 0 {
			return cadre.Refuse(cadre.RuleMissing, "cadre team list --all", "there is no team or list %s%s", s.Scope, s.maybe(ctx))
		}
		return nil
	})
}

// DoubtName warns of a list that somebody named and that is empty, where there is one of
// nearly that name: what is written to it would hardly be found again.
func (s *Session) DoubtName(ctx context.Context) {
	_ = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error { // what goes wrong is told by the verb
		if snap.Head().Seq == 0 {
			if maybe := s.maybe(ctx); maybe != "" {
				s.warn("nothing was written to %s before%s", s.Scope, maybe)
			}
		}
		return nil
	})
}

// maybe asks whether a list was meant whose name is nearly the session's; it says nothing
// where there is none. Names that differ in their numbers are of different things. Only
// the operator may know of every list.
func (s *Session) maybe(ctx context.Context) string {
	if s.Actor.Kind != cadre.ActorOperator {
		return ""
	}
	words := func(scope cadre.Scope) string { return strings.Trim(strings.ToLower(string(scope)), "-0123456789") }
	near, least := cadre.Scope(""), 3
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil || info.Scope == s.Scope { // it is there: a client made it
			return ""
		}
		far := cadre.Distance(strings.ToLower(string(s.Scope)), strings.ToLower(string(info.Scope)))
		if info.Scope != cadre.Host && far < least && far <= max(1, len(s.Scope)/3) && (far == 0 || words(s.Scope) != words(info.Scope)) {
			near, least = info.Scope, far
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", near)
}

// TeamDelete ends a team. It is archived and can be restored, unless purged.
type TeamDelete struct {
	Team  string `json:"team,omitempty" arg:"[TEAM]" help:"the team; the current one without"`
	Force bool   `json:"force,omitempty" help:"although members are alive"`
	Purge bool   `json:"purge,omitempty" help:"erase it for good: nothing can bring it back"`
}

// ScopeName is the team to delete.
func (v *TeamDelete) ScopeName() string { return v.Team }

// Deleted is the answer to a deletion.
type Deleted struct {
	Scope cadre.Scope `json:"scope"`
	Where cadre.Where `json:"where"`
}

// Run lets the members depart, moves the scope away and switches its lead back.
func (v *TeamDelete) Run(ctx context.Context, s *Session) (any, error) {
	if v.Purge {
		archived, err := s.archived(ctx)
		if err != nil {
			return nil, err
		}
		if archived {
			return &Deleted{s.Scope, cadre.Gone}, errors.Join(s.erase(ctx, "team delete"), s.clear(ctx, true))
		}
	}
	if _, _, err := s.change(ctx, "team delete", &cadre.TeamClose{Force: v.Force}); err != nil {
		return nil, err
	}
	where := cadre.Archive
	var err error
	if v.Purge {
		where, err = cadre.Gone, s.erase(ctx, "team delete")
	} else {
		_, err = s.Store.Move(ctx, s.Scope, s.command("team delete"), cadre.Dest{Where: where})
	}
	if err != nil {
		return nil, err
	}
	return &Deleted{s.Scope, where}, errors.Join(s.bind(ctx, s.Scope, true), s.clear(ctx, v.Purge))
}

// clear takes away what is left of the members of a team that is gone.
func (s *Session) clear(ctx context.Context, erased bool) error {
	if s.Runtime == nil {
		return nil
	}
	return s.Runtime.Clear(ctx, s, erased)
}

// erase takes the scope away for good. That it was there, how far its log went
// and who erased it is all that is kept.
func (s *Session) erase(ctx context.Context, verb string) error {
	receipt, err := s.Store.Move(ctx, s.Scope, s.command(verb), cadre.Dest{Where: cadre.Gone})
	if err != nil {
		return err
	}
	_, _, err = s.on(cadre.Host).change(ctx, verb, &cadre.Erase{Scope: s.Scope, Head: receipt.Head})
	return err
}

// TeamRestore brings an archived team back.
type TeamRestore struct {
	Team string `json:"team" arg:"TEAM" help:"the team"`
}

// ScopeName is the team to restore.
func (v *TeamRestore) ScopeName() string { return v.Team }

// Run restores. An agent may restore only what it made itself.
func (v *TeamRestore) Run(ctx context.Context, s *Session) (any, error) {
	if s.known(ctx) == nil {
		return s.Do(ctx, "team show", &cadre.TeamShow{})
	}
	archived, err := s.archived(ctx)
	if err != nil {
		return nil, err
	}
	if !archived {
		if answer, found, err := s.restoreErased(ctx); found || err != nil {
			return answer, err
		}
		return nil, cadre.Refuse(cadre.RuleMissing, "cadre team list --all", "there is no archived team %s", s.Scope)
	}
	if _, err := s.Store.Move(ctx, s.Scope, s.command("team restore"), cadre.Dest{Where: cadre.Live}); err != nil {
		return nil, err
	}
	if err := s.bind(ctx, s.Scope, false); err != nil {
		return nil, err
	}
	return s.Do(ctx, "team show", &cadre.TeamShow{})
}

// archived says whether the scope is in the archive. It refuses callers to whom
// an archived team is nothing: all but the operator and the team's creator.
func (s *Session) archived(ctx context.Context) (bool, error) {
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return false, err
		}
		if info.Scope == s.Scope && info.Where == cadre.Archive {
			return true, s.mayRestore(ctx, info.Head.Seq)
		}
	}
	return false, nil
}

func (s *Session) mayRestore(ctx context.Context, seq cadre.Seq) error {
	if s.Actor.Kind == cadre.ActorOperator {
		return nil
	}
	return s.Store.At(ctx, s.Scope, seq, func(snap cadre.Snap) error {
		team, err := snap.Team()
		if err != nil {
			return err
		}
		if team != nil && s.Actor.Session != "" && team.Creator.Session == s.Actor.Session {
			return nil
		}
		return cadre.Refuse(cadre.RuleOperator, askOperator("team restore "+string(s.Scope)), "only the operator or its creator may bring %s back or erase it", s.Scope)
	})
}

// TeamList lists teams and lists.
type TeamList struct {
	All bool `json:"all,omitempty" help:"archived teams, those that only Claude Code's transcripts tell of, and empty lists too"`
}

// TeamLine is one team or list.
type TeamLine struct {
	Scope     cadre.Scope          `json:"scope"`
	Where     cadre.Where          `json:"where"`
	Team      *cadre.Team          `json:"team,omitempty"`
	Of        cadre.Scope          `json:"of,omitempty"` // the team whose members' list this is
	Members   int                  `json:"members"`
	Tasks     map[cadre.Status]int `json:"tasks"`
	Asks      int                  `json:"asks"`
	UpdatedAt string               `json:"updatedAt,omitempty"`
	Current   bool                 `json:"current"`
	Gaps      []string             `json:"gaps,omitempty"` // of one that only transcripts tell of: what they do not
}

// Run lists what this caller may see.
func (v *TeamList) Run(ctx context.Context, s *Session) (any, error) {
	out := []*TeamLine{}
	known := map[cadre.Scope]bool{}
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return nil, err
		}
		known[info.Scope] = true
		if info.Scope == cadre.Host || info.Where != cadre.Live && !v.All {
			continue
		}
		line, err := s.teamLine(ctx, info)
		if err != nil {
			return nil, err
		}
		if line != nil && (v.All || line.Team != nil || line.open()+line.Tasks[cadre.Completed] > 0) {
			out = append(out, line)
		}
	}
	for _, l := range out {
		if l.Team != nil {
			continue
		}
		if i := slices.IndexFunc(out, func(t *TeamLine) bool { return second(t.Team, t.Scope) == l.Scope }); i >= 0 {
			l.Of = out[i].Scope
		}
	}
	if !v.All || s.Actor.Kind != cadre.ActorOperator {
		return out, nil
	}
	erased, err := s.erased(ctx, known)
	for _, t := range erased {
		out = append(out, t.line())
	}
	return out, err
}

// second is the list in which the clients of a team's members keep their tasks, where
// that is not the team's own: see cadre.TeamOf.
func second(team *cadre.Team, scope cadre.Scope) cadre.Scope {
	if team == nil {
		return ""
	}
	list, err := cadre.ParseScope(team.Name)
	if err != nil || list == scope || cadre.TeamOf(list) != scope {
		return ""
	}
	return list
}

func (l *TeamLine) open() int { return l.Tasks[cadre.Pending] + l.Tasks[cadre.InProgress] }

// teamLine looks at one scope; nil where the caller may not.
func (s *Session) teamLine(ctx context.Context, info cadre.ScopeInfo) (*TeamLine, error) {
	line := &TeamLine{Scope: info.Scope, Where: info.Where, Current: info.Scope == s.Scope, Tasks: map[cadre.Status]int{}}
	look := func(snap cadre.Snap) error {
		shown, err := (&cadre.TeamShow{}).Look(snap, s.command("team list"))
		if err != nil {
			return err
		}
		view := shown.(*cadre.TeamView)
		line.Team, line.Tasks, line.Asks = view.Team, view.Tasks, view.Asks
		for _, m := range view.Members {
			if m.Member.State != cadre.StateDeparted {
				line.Members++
			}
		}
		return nil
	}
	var err error
	if info.Where == cadre.Live {
		err = s.on(info.Scope).view(ctx, look)
	} else {
		err = s.Store.At(ctx, info.Scope, info.Head.Seq, look)
	}
	if errors.Is(err, cadre.ErrForbidden) {
		return nil, nil
	}
	return line, err
}
