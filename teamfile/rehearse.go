package teamfile

import (
	"maps"
	"slices"
	"strings"

	"cadre"
)

// maxHookTime is how many seconds a hook may take.
const maxHookTime = 24 * 60 * 60

// rehearse has the rule book decide on a team in memory what a run will ask of it, so
// that what would be refused then is found now, where it stands.
func (r *reader) rehearse(runs func(*cadre.Member) []string) {
	f := r.file
	state := &cadre.State{Name: cadre.Scope(f.Team.Name)}
	command := cadre.Command{Actor: cadre.Actor{Kind: cadre.ActorOperator, Name: string(cadre.RoleOperator), Proof: cadre.ProofTerminal}}
	decide := func(path string, v cadre.Change) []cadre.Event {
		events, err := v.Decide(cadre.Snap{Source: state}, command)
		if err != nil {
			r.wrong(path, "%s", strings.TrimPrefix(err.Error(), "line 1: "))
		}
		return events
	}
	team := join("", "team")
	state.Apply(decide(join(team, "description"), &cadre.TeamCreate{Name: f.Team.Name, Description: f.Team.Description})...)
	policies := f.Team.Policies.ByKind()
	for _, kind := range slices.Sorted(maps.Keys(policies)) {
		p := policies[kind]
		decide(join(join(join(team, "policies"), string(kind)), "after"), &cadre.TeamPolicy{Kind: kind, Then: cadre.PolicyAnswer(p.Answer), After: p.After})
	}
	limits := join(team, "limits")
	decide(join(limits, "members"), &cadre.TeamLimit{Most: f.Team.Limits.Members})
	for _, backend := range slices.Sorted(maps.Keys(f.Team.Limits.Backends)) {
		path := join(join(limits, "backends"), backend)
		decide(path, &cadre.TeamLimit{Most: f.Team.Limits.Backends[backend], Backend: cadre.Backend(backend)})
		if runs != nil {
			r.known(path, backend, runs)
		}
	}
	for i := range f.Members {
		m := &f.Members[i]
		v := f.Spawn(m, m.Name)
		if v.Isolation != "" {
			v.Worktree = &cadre.Worktree{}
		}
		decide(join(join("", "members"), m.Name), v)
	}
	for i, line := range f.Import().Lines {
		line.BlockedBy, line.Owner, line.Plan = nil, "", nil // they are about others
		path := join(join("", "tasks"), f.Tasks[i].Key)
		decide(path, &cadre.TaskImport{Lines: []cadre.ImportLine{line}})
		if len(f.Tasks[i].After) > cadre.MaxBlockers {
			r.wrong(join(path, "after"), "a task waits for %d others at most", cadre.MaxBlockers)
		}
	}
	for event, groups := range f.Hooks.groups() {
		for _, g := range groups {
			for _, h := range g.Hooks {
				if h.Timeout < 0 || h.Timeout > maxHookTime {
					r.wrong(join(join("", "hooks"), event), "a hook cannot take %d seconds: use 1 to %d", h.Timeout, maxHookTime)
				}
			}
		}
	}
}

// known refuses a backend that there is not.
func (r *reader) known(path, backend string, runs func(*cadre.Member) []string) {
	for _, no := range runs(&cadre.Member{Backend: cadre.Backend(backend), CWD: r.file.Dir}) {
		if strings.HasPrefix(no, "backend:") {
			r.wrong(path, "%s", no)
		}
	}
}
