package coord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cadre"
	"cadre/teamfile"
)

// apply makes a team what a file says, but for its members. What is so already stays
// as it is.
func apply(ctx context.Context, s *Session, f *teamfile.File) error {
	if err := s.makeTeam(ctx, f); err != nil {
		return err
	}
	if err := s.applyRules(ctx, f); err != nil {
		return err
	}
	return s.applyTasks(ctx, f)
}

// applyMembers spawns the members of a file. What is theirs waits for them.
func applyMembers(ctx context.Context, s *Session, f *teamfile.File) error {
	runtime, err := s.runtime()
	if err != nil {
		return err
	}
	for _, owns := range []bool{true, false} { // where there is not room for all, those with work of their own come first
		for i := range f.Members {
			for _, name := range f.Members[i].Names() {
				if owns != slices.ContainsFunc(f.Tasks, func(t teamfile.Task) bool { return t.Owner == name }) {
					continue
				}
				if err := s.applyMember(ctx, runtime, f.Spawn(&f.Members[i], name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// makeTeam creates the team, unless it is there. One whose tasks have nothing to do with
// the file is another that only has the same name.
func (s *Session) makeTeam(ctx context.Context, f *teamfile.File) error {
	var team *cadre.Team
	tasks, known := 0, false
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) (err error) {
		if team, err = snap.Team(); err != nil {
			return err
		}
		for t, err := range snap.Tasks(cadre.TaskQuery{}) {
			if err != nil {
				return err
			}
			tasks++
			known = known || slices.ContainsFunc(f.Tasks, func(o teamfile.Task) bool { return o.Key == t.Key })
		}
		return nil
	})
	if err != nil && !errors.Is(err, cadre.ErrNotFound) {
		return err
	}
	switch {
	case team == nil:
		_, err = s.Do(ctx, "team create", &TeamCreate{cadre.TeamCreate{Name: f.Team.Name, Description: f.Team.Description}})
		return err
	case tasks > 0 && !known && len(f.Tasks) > 0:
		return cadre.Refuse(cadre.RuleExists, fmt.Sprintf("cadre run %s --team %s-2", f.Path, f.Team.Name),
			"there is a team %s already, and none of its tasks is in %s", f.Team.Name, f.Path)
	}
	return nil
}

// applyRules sets what the team does without a person. Only the operator says that; for
// anybody else the gates stay as they are.
func (s *Session) applyRules(ctx context.Context, f *teamfile.File) error {
	for _, set := range teamSettings(f) {
		if _, err := s.Do(ctx, set.name, set.verb); err != nil {
			return err
		}
	}
	operator := s.Actor.Kind == cadre.ActorOperator
	policies := f.Team.Policies.ByKind()
	if !operator && len(policies) > 0 {
		s.warn("what needs no person is the operator's to say: the policies of %s are left out, and asks that nobody answers are denied", f.Path)
		policies = nil
	}
	for _, kind := range slices.Sorted(maps.Keys(policies)) {
		p := policies[kind]
		if _, err := s.Do(ctx, "team policy", &cadre.TeamPolicy{Kind: kind, Then: cadre.PolicyAnswer(p.Answer), After: p.After, Digest: f.Digest}); err != nil {
			return err
		}
	}
	if f.Team.Approvals != "" {
		if _, err := s.Do(ctx, "team approvals", &cadre.TeamApprovals{Only: f.Team.Approvals}); err != nil {
			return err
		}
	}
	hooks := f.Hooks.ByEvent()
	if !operator && len(hooks) == 0 {
		return nil
	}
	_, err := s.Do(ctx, "team hooks", &cadre.TeamHooks{Hooks: hooks})
	return err
}

// setting is one verb that makes a team what a file says.
type setting struct {
	name string
	verb cadre.Change
}

// teamSettings are what whoever leads the team may say.
func teamSettings(f *teamfile.File) (out []setting) {
	if mode := f.Team.Mode; mode != "" {
		out = append(out, setting{"team mode", &cadre.TeamMode{Mode: cadre.WorkMode(mode)}})
	}
	if most := f.Team.Limits.Members; most > 0 {
		out = append(out, setting{"team limit", &cadre.TeamLimit{Most: most}})
	}
	for _, backend := range slices.Sorted(maps.Keys(f.Team.Limits.Backends)) {
		out = append(out, setting{"team limit", &cadre.TeamLimit{Most: f.Team.Limits.Backends[backend], Backend: cadre.Backend(backend)}})
	}
	return out
}

// applyMember spawns a member, unless there is one that was spawned so; one that has
// ended is started again, with what it had.
func (s *Session) applyMember(ctx context.Context, runtime Runtime, v *cadre.MemberSpawn) error {
	var m *cadre.Member
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) (err error) {
		m, err = snap.Member(v.Name)
		return err
	})
	if err != nil {
		return err
	}
	if m != nil && !m.Backend.Supervised() && m.State != cadre.StateDeparted {
		return cadre.Refuse(cadre.RuleExists, "cadre member leave "+m.Name, "%s is a member of %s that Cadre does not run", m.Name, s.Scope)
	}
	if m != nil && reflect.DeepEqual(m.Requested, v.Settings()) && (m.Worktree != nil || m.CWD == v.Folder) {
		if m.Alive() {
			return nil
		}
		if m.Worktree != nil {
			if err := runtime.Restore(ctx, m.Worktree); err != nil {
				return err
			}
		}
		_, err := s.Do(ctx, "member resume", &cadre.MemberResume{Name: m.Name})
		return err
	}
	if m != nil && m.State != cadre.StateDeparted {
		if _, err := s.Do(ctx, "member leave", &cadre.MemberLeave{Name: m.Name}); err != nil {
			return err
		}
	}
	spawn := &MemberSpawn{*v}
	if err := spawn.isolate(ctx, s, runtime); err != nil {
		return err
	}
	if _, err = s.Do(ctx, "member spawn", &spawn.MemberSpawn); err != nil {
		return errors.Join(err, spawn.discard(ctx, runtime))
	}
	return nil
}

// applyTasks creates the tasks that are missing, and changes open ones that the file has
// changed.
func (s *Session) applyTasks(ctx context.Context, f *teamfile.File) error {
	if len(f.Tasks) == 0 {
		return nil
	}
	before, err := s.byKey(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Do(ctx, "import", f.Import()); err != nil {
		return err
	}
	now, err := s.byKey(ctx)
	if err != nil {
		return err
	}
	for i := range f.Tasks {
		t := before[f.Tasks[i].Key]
		if t == nil || !t.Open() {
			continue
		}
		if err := s.applyTask(ctx, &f.Tasks[i], t, now); err != nil {
			return err
		}
	}
	return nil
}

// byKey gives the tasks that have keys.
func (s *Session) byKey(ctx context.Context) (map[string]*cadre.Task, error) {
	out := map[string]*cadre.Task{}
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		for t, err := range snap.Tasks(cadre.TaskQuery{Index: cadre.IndexKey}) {
			if err != nil {
				return err
			}
			out[t.Key] = t
		}
		return nil
	})
	return out, err
}

// applyTask changes an open task where the file says something else.
func (s *Session) applyTask(ctx context.Context, want *teamfile.Task, t *cadre.Task, all map[string]*cadre.Task) error {
	v, changed := &cadre.TaskUpdate{ID: t.ID}, false
	differs := func(set **string, want, have string) {
		if want != have {
			*set, changed = &want, true
		}
	}
	differs(&v.Subject, want.Subject, t.Subject)
	differs(&v.Description, want.Description, t.Description)
	differs(&v.Run, want.Run, t.Run)
	if want.Owner != "" && want.Owner != t.Owner && t.Status == cadre.Pending {
		v.Owner, changed = &want.Owner, true
	}
	if p, err := cadre.ParsePriority(want.Priority); err == nil && p != t.Priority {
		level := cadre.Level(want.Priority)
		v.Priority, changed = &level, true
	}
	if want.Attempts != t.MaxAttempts {
		v.MaxAttempts, changed = &want.Attempts, true
	}
	if !slices.Equal(want.Labels, t.Labels) {
		v.Labels, changed = &want.Labels, true
	}
	if !slices.Equal(want.Paths, t.Paths) {
		v.Paths, changed = &want.Paths, true
	}
	var gone []cadre.TaskID
	for _, key := range want.After {
		if id := all[key].ID; !slices.Contains(t.BlockedBy, id) {
			v.AddBlocked, changed = append(v.AddBlocked, id), true
		}
	}
	for key, other := range all { // an edge that the file had and has no more
		if slices.Contains(t.BlockedBy, other.ID) && !slices.Contains(want.After, key) {
			gone = append(gone, other.ID)
		}
	}
	for _, id := range gone {
		if _, err := s.Do(ctx, "task unblock", &cadre.TaskUnblock{ID: t.ID, By: []cadre.TaskID{id}}); err != nil {
			return err
		}
	}
	if changed {
		if _, err := s.Do(ctx, "task update", v); err != nil {
			return err
		}
	}
	if want.Plan == nil && t.Plan == nil {
		return nil
	}
	_, err := s.Do(ctx, "task gate", &cadre.TaskGate{ID: t.ID, Gate: want.Gate()})
	return err
}

// tryAgain lets the tasks of a file be tried again that used up their attempts, where a
// person runs it: to run it again is to say so.
func (s *Session) tryAgain(ctx context.Context, f *teamfile.File) error {
	if s.Actor.Kind != cadre.ActorOperator || !s.Actor.Person() {
		return nil
	}
	var asks []cadre.AskID
	err := s.view(ctx, func(snap cadre.Snap) error {
		for a, err := range snap.OpenAsks() {
			if err != nil {
				return err
			}
			if a.Kind != cadre.AskPerson {
				continue
			}
			t, err := snap.Task(a.Task)
			if err != nil {
				return err
			}
			if t != nil && slices.ContainsFunc(f.Tasks, func(o teamfile.Task) bool { return o.Key == t.Key }) {
				asks = append(asks, a.ID)
			}
		}
		return nil
	})
	for _, id := range asks {
		if err == nil {
			_, err = s.Do(ctx, "ask approve", &cadre.AskApprove{ID: id, Text: f.Path + " was run again"})
		}
	}
	return err
}
