package teamfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cadre"
)

// check looks for what each value alone cannot tell: names that nobody has, cycles,
// tasks that nobody could do.
func (r *reader) check(runs func(*cadre.Member) []string) {
	f := r.file
	if f.Team.Name == "" {
		f.Team.Name = defaultName(f.Path, f.Dir)
	}
	if err := cadre.CheckTeamName(f.Team.Name); err != nil {
		r.wrong(join(join("", "team"), "name"), "%v", err)
	}
	for kind, p := range f.Team.Policies.ByKind() {
		path := join(join(join("", "team"), "policies"), string(kind))
		if kind == cadre.AskQuestion && p.Answer == string(cadre.PolicyApprove) {
			r.wrong(path, "a question has no yes: use deny or wait")
		}
		if p.Answer == string(cadre.PolicyWait) && p.After != nil {
			r.wrong(join(path, "after"), "what waits for ever does not wait for so long first: leave after out")
		}
	}
	names := r.checkMembers(runs)
	limits := join(join("", "team"), "limits")
	r.checkLimit(join(limits, "members"), f.Team.Limits.Members, "")
	for backend, most := range f.Team.Limits.Backends {
		r.checkLimit(join(join(limits, "backends"), backend), most, backend)
	}
	r.checkTasks(names)
	if len(r.problems) == 0 { // else much would only follow from these
		r.rehearse(runs)
	}
}

// checkLimit refuses a limit that leaves no room for members that have work of their own.
func (r *reader) checkLimit(path string, most int, backend string) {
	owners := 0
	for i := range r.file.Members {
		m := &r.file.Members[i]
		for _, name := range m.Names() {
			if (backend == "" || backend == m.Backend) && slices.ContainsFunc(r.file.Tasks, func(t Task) bool { return t.Owner == name }) {
				owners++
			}
		}
	}
	switch {
	case most < 0:
		r.wrong(path, "a limit below zero makes no sense")
	case most > 0 && owners > most:
		r.wrong(path, "%d members have tasks of their own, and only %d may run at the same time", owners, most)
	}
}

// checkMembers gives the names of all members.
func (r *reader) checkMembers(runs func(*cadre.Member) []string) map[string]bool {
	names, folded := map[string]bool{}, map[string]bool{}
	for i := range r.file.Members {
		m := &r.file.Members[i]
		path := join(join("", "members"), m.Name)
		if m.Backend == "" {
			m.Backend = string(cadre.BackendShell)
		}
		if m.Count != nil && (*m.Count < 1 || *m.Count > maxCount) {
			r.wrong(join(path, "count"), "there can be 1 to %d of %s, not %d", maxCount, m.Name, *m.Count)
		}
		for _, name := range m.Names() {
			if same := strings.ToLower(name); folded[same] { // names are told apart by more than that
				r.wrong(path, "there would be two members %s: give one another name", name)
			} else {
				folded[same] = true
			}
			names[name] = true
		}
		if err := cadre.CheckMemberName(m.Name); err != nil {
			r.wrong(path, "%v", err)
		}
		if runs == nil {
			continue
		}
		for _, no := range runs(r.file.member(m)) {
			part, _, _ := strings.Cut(no, ":")
			r.wrong(join(path, part), "%s", no)
		}
	}
	return names
}

// member is what an entry asks for.
func (f *File) member(m *Member) *cadre.Member {
	v := f.Spawn(m, m.Name)
	return &cadre.Member{
		Name: v.Name, Backend: v.Backend, Run: v.Run, Prompt: v.Prompt, Model: v.Model, Mode: v.Mode, AgentType: v.AgentType, PlanMode: v.PlanMode, CWD: v.Folder,
	}
}

func (r *reader) checkTasks(members map[string]bool) {
	tasks := map[string]*Task{}
	for i := range r.file.Tasks {
		tasks[r.file.Tasks[i].Key] = &r.file.Tasks[i]
	}
	thinks := slices.ContainsFunc(r.file.Members, func(m Member) bool { return m.Backend != string(cadre.BackendShell) })
	someone := func(path, name string) {
		if name != "" && !members[name] && name != cadre.LeadName {
			r.wrong(path, "there is no member %s: %s", name, didYouMean(name, members))
		}
	}
	for i := range r.file.Tasks {
		t := &r.file.Tasks[i]
		path := join(join("", "tasks"), t.Key)
		if len(r.problems) >= maxProblems {
			return
		}
		if t.Subject == "" {
			t.Subject = t.Key
		}
		someone(join(path, "owner"), t.Owner)
		for i, key := range t.After {
			switch at := join(join(path, "after"), strconv.Itoa(i)); {
			case key == t.Key:
				r.wrong(at, "%s cannot wait for itself", key)
			case tasks[key] == nil:
				r.wrong(at, "there is no task %s: %s", key, didYouMean(key, tasks))
			}
		}
		if t.Plan != nil {
			for i, name := range t.Plan.Approvers {
				someone(join(join(join(path, "plan"), "approvers"), strconv.Itoa(i)), name)
			}
		}
		if _, err := cadre.ParsePriority(t.Priority); err != nil {
			r.wrong(join(path, "priority"), "%v", err)
		}
		if t.Attempts < 0 || t.Attempts > 100 {
			r.wrong(join(path, "attempts"), "%d is no number of attempts: use 1 to 100", t.Attempts)
		}
		if len(members) > 0 && !thinks && t.Run == "" && t.Owner != cadre.LeadName {
			r.wrong(path, "nobody could do %s: it has no command to run, and every member only runs commands", t.Key)
		}
	}
	if len(members) == 0 && len(tasks) > 0 {
		r.wrong(join("", "tasks"), "there is nobody to do the tasks: add members, as in members: {worker: {backend: shell}}")
	}
	r.checkCycles(tasks)
}

// checkCycles names each cycle once, where its first task of the file waits.
func (r *reader) checkCycles(tasks map[string]*Task) {
	state := map[string]int{} // 1: being looked at, 2: seen to its end
	var path []string
	var visit func(key string)
	visit = func(key string) {
		if state[key] == 1 {
			cycle := append(slices.Clone(path[slices.Index(path, key):]), key)
			i := slices.Index(tasks[key].After, cycle[1])
			r.wrong(join(join(join(join("", "tasks"), key), "after"), strconv.Itoa(i)),
				"this is a cycle: %s; take one of these edges away", strings.Join(cycle, " waits for "))
		}
		if tasks[key] == nil || state[key] != 0 {
			return
		}
		state[key] = 1
		path = append(path, key)
		for _, by := range tasks[key].After {
			if by != key {
				visit(by)
			}
		}
		path = path[:len(path)-1]
		state[key] = 2
	}
	for _, t := range r.file.Tasks {
		visit(t.Key)
	}
}

// didYouMean names the nearest of some names, or all where none is near.
func didYouMean[T any](word string, names map[string]T) string {
	all := slices.Sorted(maps.Keys(names))
	best, least := "", 3
	for _, name := range all {
		if n := cadre.Distance(word, name); n < least && n < len(word) {
			best, least = name, n
		}
	}
	switch {
	case best != "":
		return "did you mean " + best + "?"
	case len(all) == 0:
		return "there is none"
	case len(all) == 1:
		return "there is only " + all[0]
	}
	const most = 20
	if len(all) > most {
		all = append(all[:most:most], "…")
	}
	return "there are " + strings.Join(all, ", ")
}
