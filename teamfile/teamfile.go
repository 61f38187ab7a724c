// Package teamfile reads team files: a team, its members, their tasks and hooks,
// declared in YAML and kept beside the code. Whatever is wrong in a file is found at
// once, each with its line and column, and nothing in a file is left out silently:
// an unknown key is a mistake.
//
// The types are the format: the reader, the checks and the JSON schema for editors are
// made from them and their tags.
package teamfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cadre"
)

// File is what a team file says.
type File struct {
	Team    Team     `yaml:"team" help:"the team"`
	Members []Member `yaml:"members" help:"who works, by name"`
	Tasks   []Task   `yaml:"tasks" help:"what is to be done, by a key that other tasks name it with"`
	Hooks   Hooks    `yaml:"hooks" help:"commands that may refuse, in the shape of Claude Code's settings.json; exit code 2 refuses"`

	Path   string `yaml:"-"` // of the file, as it was named
	Dir    string `yaml:"-"` // the folder it stands in
	Digest string `yaml:"-"` // of its text

	Renamed bool `yaml:"-"` // the team has another name than the file says

	places map[string]place
}

// Team is the team.
type Team struct {
	Name        string   `yaml:"name" help:"its name: a-z, 0-9 and -; the name of the file without"`
	Description string   `yaml:"description" help:"what it is for"`
	Mode        string   `yaml:"mode" enum:"self-claim,dispatch" help:"how members come to their work: self-claim, each takes what is right for it; dispatch, it is handed out"`
	Approvals   string   `yaml:"approvals" enum:"any,token" help:"with what approvals are taken: any as rights allow, token only with the operator token that the file is run with"`
	Policies    Policies `yaml:"policies" help:"what happens to asks that nobody answers in time; they are denied after 30m without"`
	Limits      Limits   `yaml:"limits" help:"how much at the same time, and for how long"`
}

// Policies say what happens to asks that nobody answers in time, by their kind.
type Policies struct {
	Plan       *Policy `yaml:"plan" help:"for plans that wait for approval"`
	Permission *Policy `yaml:"permission" help:"for permissions that were asked for"`
	Question   *Policy `yaml:"question" help:"for questions"`
}

// Policy is what happens to asks of one kind.
type Policy struct {
	Answer string         `yaml:"answer" enum:"approve,deny,wait" must:"true" help:"approve, deny, or wait for as long as it takes"`
	After  *time.Duration `yaml:"after" help:"how long an ask waits for a person first, as in 5m"`
}

// Limits bound a run.
type Limits struct {
	Members  int            `yaml:"members" help:"members that run at the same time; as many as there are without"`
	Backends map[string]int `yaml:"backends" help:"the same for the members of one backend"`
	Stagger  time.Duration  `yaml:"stagger" help:"how long to wait between the starts of two members"`
	Timeout  time.Duration  `yaml:"timeout" help:"how long a run may take, as in 30m"`
}

// Member is someone who works, or several who are the same but for their names.
type Member struct {
	Name        string `yaml:",key"`
	Backend     string `yaml:"backend" help:"what runs it; shell without"`
	Run         string `yaml:"run" help:"what a member of the backend command runs for each task; its prompt stands where {prompt} does, or is on standard input"`
	Description string `yaml:"description" help:"what it is there for"`
	Prompt      string `yaml:"prompt" help:"its role: what it is told at the start"`
	Model       string `yaml:"model" help:"its model"`
	Mode        string `yaml:"mode" help:"what it may do without asking"`
	AgentType   string `yaml:"agentType" help:"what kind of agent it is"`
	Plan        bool   `yaml:"plan" help:"it may start tasks only with an approved plan"`
	CWD         string `yaml:"cwd" help:"the folder it works in, from the folder of this file; that one without"`
	Isolation   string `yaml:"isolation" enum:"worktree" help:"worktree: each gets a git worktree and a branch of its own"`
	Count       *int   `yaml:"count" help:"how many of it there are: name-1, name-2 and so on"`
}

// Task is something to be done.
type Task struct {
	Key         string   `yaml:",key"`
	Subject     string   `yaml:"subject" help:"what is to be done, in one line; the key without"`
	Description string   `yaml:"description" help:"everything that whoever does it must know"`
	Run         string   `yaml:"run" help:"a command that does it, for shell members"`
	Owner       string   `yaml:"owner" help:"the member who is to do it; anyone without"`
	After       []string `yaml:"after" help:"keys of tasks that must be completed first"`
	Plan        *Plan    `yaml:"plan" help:"it may start only once its plan is approved; of a task with a command that is the plan"`
	Attempts    int      `yaml:"attempts" help:"how often it is tried before it needs a person; 3 without"`
	Priority    string   `yaml:"priority" help:"low, normal, high, urgent or a number"`
	Labels      []string `yaml:"labels" help:"words to find it by"`
	Paths       []string `yaml:"paths" help:"files it will touch"`
}

// Plan is a gate.
type Plan struct {
	Approvers []string `yaml:"approvers" help:"members who may approve it; the lead without"`
}

// Gate is the task's gate, nil where it has none.
func (t *Task) Gate() *cadre.PlanGate {
	if t.Plan == nil {
		return nil
	}
	return &cadre.PlanGate{Approvers: t.Plan.Approvers}
}

// Hooks are commands that may refuse, by event.
type Hooks struct {
	TaskCreated   []HookGroup `yaml:"TaskCreated" help:"before a task is created"`
	TaskCompleted []HookGroup `yaml:"TaskCompleted" help:"before a task is completed"`
	TeammateIdle  []HookGroup `yaml:"TeammateIdle" help:"before a member stops working"`
}

// HookGroup is a list of commands.
type HookGroup struct {
	Hooks []Hook `yaml:"hooks" must:"true" help:"the commands"`
}

// Hook is one command.
type Hook struct {
	Type    string `yaml:"type" enum:"command" help:"always command"`
	Command string `yaml:"command" must:"true" help:"a command line; it reads what happens as JSON"`
	Timeout int    `yaml:"timeout" help:"seconds that it may take; 60 without"`
}

func (h Hooks) groups() map[string][]HookGroup {
	return map[string][]HookGroup{"TaskCreated": h.TaskCreated, "TaskCompleted": h.TaskCompleted, "TeammateIdle": h.TeammateIdle}
}

// ByEvent gives the commands as a team keeps them.
func (h Hooks) ByEvent() map[string][]cadre.Hook {
	out := map[string][]cadre.Hook{}
	for event, groups := range h.groups() {
		for _, g := range groups {
			for _, c := range g.Hooks {
				limit := time.Minute
				if c.Timeout > 0 {
					limit = time.Duration(c.Timeout) * time.Second
				}
				out[event] = append(out[event], cadre.Hook{Command: c.Command, Timeout: limit})
			}
		}
	}
	return out
}

// ByKind gives the policies that the file says something about.
func (p Policies) ByKind() map[cadre.AskKind]*Policy {
	out := map[cadre.AskKind]*Policy{cadre.AskPlan: p.Plan, cadre.AskPermission: p.Permission, cadre.AskQuestion: p.Question}
	for kind, policy := range out {
		if policy == nil {
			delete(out, kind)
		}
	}
	return out
}

// Names are the names of the members that an entry stands for.
func (m *Member) Names() []string {
	if m.Count == nil {
		return []string{m.Name}
	}
	var names []string
	for i := range min(max(*m.Count, 1), maxCount) {
		names = append(names, fmt.Sprintf("%s-%d", m.Name, i+1))
	}
	return names
}

// maxCount is how many members one entry may stand for.
const maxCount = 200

// Spawn is what it takes to spawn a member of this entry.
func (f *File) Spawn(m *Member, name string) *cadre.MemberSpawn {
	folder := m.CWD
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(f.Dir, folder)
	}
	return &cadre.MemberSpawn{
		Name: name, Backend: cadre.Backend(m.Backend), Run: m.Run, Prompt: m.Prompt, CWD: m.CWD, Model: m.Model, Mode: m.Mode,
		AgentType: m.AgentType, Description: m.Description, PlanMode: m.Plan, Isolation: cadre.Isolation(m.Isolation), Folder: folder,
	}
}

// Import gives the tasks as an import creates them, in the order of the file.
func (f *File) Import() *cadre.TaskImport {
	lines := map[string]cadre.LineRef{}
	for i, t := range f.Tasks {
		lines[t.Key] = cadre.LineRef(fmt.Sprintf("@%d", i+1))
	}
	v := &cadre.TaskImport{}
	for _, t := range f.Tasks {
		line := cadre.ImportLine{
			Key: t.Key, Subject: t.Subject, Description: t.Description, Owner: t.Owner, Priority: cadre.Level(t.Priority),
			Labels: t.Labels, Paths: t.Paths, Run: t.Run, MaxAttempts: t.Attempts,
		}
		for _, key := range t.After {
			line.BlockedBy = append(line.BlockedBy, lines[key])
		}
		line.Plan = t.Gate()
		v.Lines = append(v.Lines, line)
	}
	return v
}

// defaultName makes a team's name of the file's, or where that says nothing of the
// folder's.
func defaultName(path, dir string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if slices.Contains([]string{"team", "cadre", ".cadre"}, name) {
		name = filepath.Base(dir)
	}
	name = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
	return name[:min(len(name), 64)]
}
