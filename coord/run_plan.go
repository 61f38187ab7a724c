package coord

import (
	"context"
	"errors"
	"slices"

	"cadre"
	"cadre/teamfile"
)

// RunPlan is what a run would do.
type RunPlan struct {
	Team     string         `json:"team"`
	File     string         `json:"file"`
	Exists   bool           `json:"exists"` // the team is there already
	Members  []string       `json:"members"`
	Waves    [][]string     `json:"waves"`    // keys: each wave waits only for those before it
	Critical []string       `json:"critical"` // the longest chain
	Steps    []*PlannedTask `json:"steps"`
	Done     []string       `json:"done"` // keys of tasks that are completed already
}

// PlannedTask is a task, when it would be done and by whom, if all took the same time.
type PlannedTask struct {
	Step    int      `json:"step"`
	Wave    int      `json:"wave"`
	Who     string   `json:"who"` // empty: nobody can
	Key     string   `json:"key"`
	Subject string   `json:"subject"`
	After   []string `json:"after"`
	Plan    bool     `json:"plan,omitempty"` // it needs an approval first
}

// plan says what a run would do, and writes nothing.
func (v *Run) plan(ctx context.Context, s *Session) (*RunPlan, error) {
	p := &RunPlan{Team: v.File.Team.Name, File: v.File.Path, Members: []string{}, Done: []string{}}
	have, err := s.byKey(ctx)
	if err != nil && !errors.Is(err, cadre.ErrNotFound) {
		return nil, err
	}
	p.Exists = s.known(ctx) == nil
	if v.Resume && !p.Exists {
		return nil, v.mayBegin(ctx, s)
	}
	var open []*cadre.Task // the plan as the rule book knows plans, with keys for ids
	byKey := map[string]*teamfile.Task{}
	for i := range v.File.Tasks {
		t := &v.File.Tasks[i]
		if done := have[t.Key]; done != nil && done.Status == cadre.Completed {
			p.Done = append(p.Done, t.Key)
			continue
		}
		byKey[t.Key] = t
		node := &cadre.Task{ID: cadre.TaskID(t.Key), Status: cadre.Pending, Owner: t.Owner, Run: t.Run}
		node.Priority, _ = cadre.ParsePriority(t.Priority) // the file was checked
		for _, key := range t.After {
			node.BlockedBy = append(node.BlockedBy, cadre.TaskID(key))
		}
		open = append(open, node)
	}
	waves := map[string]int{}
	for i, ids := range cadre.Waves(open) {
		p.Waves = append(p.Waves, keysOf(ids))
		for _, id := range ids {
			waves[string(id)] = i + 1
		}
	}
	p.Critical = keysOf(cadre.CriticalPath(open))
	members := map[string]*teamfile.Member{}
	for i := range v.File.Members {
		for _, name := range v.File.Members[i].Names() {
			p.Members = append(p.Members, name)
			members[name] = &v.File.Members[i]
		}
	}
	for _, s := range schedule(open, p.Members, members, v.File.Team.Limits.Members) {
		t := byKey[s.Key]
		s.Wave, s.Subject, s.After, s.Plan = waves[s.Key], t.Subject, t.After, t.Plan != nil
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

func keysOf(ids []cadre.TaskID) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = string(id)
	}
	return keys
}

// schedule plays the plan with tasks that all take one step: in each step every member
// takes what is right for it.
func schedule(open []*cadre.Task, names []string, members map[string]*teamfile.Member, limit int) (out []*PlannedTask) {
	if limit > 0 && limit < len(names) {
		owns := func(name string) bool {
			return slices.ContainsFunc(open, func(t *cadre.Task) bool { return t.Owner == name })
		}
		idle := slices.DeleteFunc(slices.Clone(names), owns)
		names = append(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !owns(name) }), idle...)[:limit]
	}
	left := slices.Clone(open)
	slices.SortStableFunc(left, func(a, b *cadre.Task) int { return b.Priority - a.Priority })
	undone := map[cadre.TaskID]bool{}
	for _, t := range open {
		undone[t.ID] = true
	}
	waits := func(t *cadre.Task) bool {
		return slices.ContainsFunc(t.BlockedBy, func(id cadre.TaskID) bool { return undone[id] })
	}
	for step := 1; len(left) > 0; step++ {
		var taken []cadre.TaskID
		busy := map[string]bool{}
		for _, own := range []bool{true, false} { // own tasks first
			for _, name := range names {
				if busy[name] {
					continue
				}
				i := slices.IndexFunc(left, func(t *cadre.Task) bool {
					return (own && t.Owner == name || !own && t.Owner == "") && !waits(t) && (t.Run != "" || members[name].Backend != string(cadre.BackendShell))
				})
				if i >= 0 {
					out = append(out, &PlannedTask{Step: step, Who: name, Key: string(left[i].ID)})
					taken, busy[name] = append(taken, left[i].ID), true
					left = slices.Delete(left, i, i+1)
				}
			}
		}
		if len(taken) == 0 { // what is left is for a person, or waits for that
			for _, t := range left {
				out = append(out, &PlannedTask{Step: step, Who: t.Owner, Key: string(t.ID)})
			}
			return out
		}
		for _, id := range taken {
			delete(undone, id)
		}
	}
	return out
}
