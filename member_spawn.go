package cadre

import (
	"slices"
	"strings"
)

// Settings are what was asked for when a member was spawned. What it really has
// stands in the member itself.
type Settings struct {
	Backend Backend `json:"backend"`
	Model   string  `json:"model,omitempty"`
	Mode    string  `json:"mode,omitempty"`
	CWD     string  `json:"cwd,omitempty"`
	Prompt  string  `json:"prompt,omitempty"`
	Run     string  `json:"run,omitempty"`

	Isolation Isolation `json:"isolation,omitempty"`
}

// Isolation is how a member's files are kept apart from those of others.
type Isolation string

// IsolationWorktree gives it a git worktree and a branch of its own.
const IsolationWorktree Isolation = "worktree"

// MemberSpawn makes a member that Cadre itself runs. It is starting until a
// supervisor has started it.
type MemberSpawn struct {
	Name        string   `json:"name" arg:"NAME" help:"the name it gets"`
	Backend     Backend  `json:"backend,omitempty" values:"shell,command,claude,codex" help:"what runs it" default:"shell"`
	Run         string   `json:"run,omitempty" help:"what a command member runs for each task; its prompt stands where {prompt} does, or is on standard input"`
	Prompt      string   `json:"prompt,omitempty" help:"what it is told at the start"`
	Tasks       []TaskID `json:"tasks,omitempty" help:"tasks that are its own from the start"`
	CWD         string   `json:"cwd,omitempty" help:"the folder it works in; this one without"`
	Model       string   `json:"model,omitempty" help:"its model"`
	Mode        string   `json:"mode,omitempty" help:"what it may do without asking"`
	AgentType   string   `json:"agentType,omitempty" help:"what kind of agent it is"`
	Description string   `json:"description,omitempty" short:"d" help:"what it is there for"`
	PlanMode    bool     `json:"planModeRequired,omitempty" help:"it may start tasks only with an approved plan"`

	Isolation Isolation `json:"isolation,omitempty" values:"worktree" help:"worktree: it gets a git worktree and a branch of its own"`

	Folder   string    `json:"folder,omitempty" door:"-" help:"the folder it really works in"`
	Worktree *Worktree `json:"worktree,omitempty" door:"-" help:"what it got"`
}

// Decide adds the member, and makes the tasks its own, in one commit.
func (v *MemberSpawn) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if err := v.check(); err != nil {
		return nil, err
	}
	if _, _, err := d.teamAndLead(); err != nil {
		return nil, err
	}
	tasks := make([]*Task, 0, len(v.Tasks))
	for _, id := range v.Tasks {
		t, err := d.task(id)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	if err := d.needLead("spawn members"); err != nil {
		return nil, err
	}
	m := &Member{
		Name: v.Name, Role: RoleTeammate, AgentType: v.AgentType, Model: v.Model, Mode: v.Mode, Prompt: v.Prompt, Description: v.Description,
		PlanMode: v.PlanMode, CWD: v.Folder, Backend: v.Backend, Run: v.Run, State: StateStarting, Evidence: "spawned by " + d.me,
		Worktree: v.Worktree, Requested: v.Settings(),
	}
	if err := d.join(m); err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if err := d.give(t, m.Name); err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// Settings are what is asked for.
func (v *MemberSpawn) Settings() *Settings {
	return &Settings{Backend: v.Backend, Model: v.Model, Mode: v.Mode, CWD: v.CWD, Prompt: v.Prompt, Run: v.Run, Isolation: v.Isolation}
}

func (v *MemberSpawn) check() error {
	if !v.Backend.Supervised() {
		return refuse(RuleValue, "nothing runs a member whose backend is %q", clip(string(v.Backend), 40)).hint("cadre team join TEAM --name %s", clip(v.Name, 64))
	}
	if v.Isolation != "" && v.Isolation != IsolationWorktree {
		return refuse(RuleValue, "members are not kept apart by %q: use worktree", clip(string(v.Isolation), 40)).hint("cadre member spawn %s --isolation worktree", clip(v.Name, 64))
	}
	if (v.Isolation == IsolationWorktree) != (v.Worktree != nil) {
		return refuse(RuleValue, "a member in a worktree of its own needs one, and no other has one")
	}
	return firstRefusal(CheckMemberName(v.Name), checkText("prompt", v.Prompt, MaxDescription), checkText("command", v.Run, MaxDescription), checkText("description", v.Description, MaxDescription),
		checkText("agent type", v.AgentType, MaxSubject), checkText("model", v.Model, MaxSubject), checkText("mode", v.Mode, MaxSubject), checkText("folder", v.Folder, 4*MaxSubject))
}

// give makes a task a member's own that nobody else has.
func (d *draft) give(t *Task, to string) error {
	switch {
	case t.Owner == to:
		return nil
	case t.Owner != "":
		return refuse(RuleOwned, "task %s belongs to %s", t.ID, t.Owner).hint("cadre task release %s", t.ID)
	case t.Status != Pending:
		return refuse(RuleMove, "task %s is %s and cannot be given to %s", t.ID, t.Status, to).hint("cadre task show %s", t.ID)
	}
	next := t.Clone()
	next.Owner = to
	if err := d.putTask(t, next); err != nil {
		return err
	}
	return d.assign(next, d.me)
}

// Answer gives the new member.
func (v *MemberSpawn) Answer(s Snap, c Command, r Receipt) (any, error) {
	return s.answerMember(v.Name, c, r)
}

// MemberKill ends a member at once: its open tasks go back in the same commit, and
// whoever runs it ends everything it started.
type MemberKill struct {
	Name string `json:"name" arg:"NAME" help:"the member"`
	Why  string `json:"why,omitempty" help:"the reason, for the record"`
}

// Decide lets the member depart, whatever it does.
func (v *MemberKill) Decide(s Snap, c Command) ([]Event, error) {
	d, m, err := beginSupervised(s, c, v.Name, "end a member")
	if err != nil {
		return nil, err
	}
	if err := checkText("reason", v.Why, MaxSubject); err != nil {
		return nil, err
	}
	why := "killed by " + d.me
	if v.Why != "" {
		why += ": " + v.Why
	}
	if err := d.depart(m.Name, why, d.me == LeadName); err != nil {
		return nil, err
	}
	return d.finish()
}

// beginSupervised begins a verb of the lead about a member that Cadre runs.
func beginSupervised(s Snap, c Command, name, what string) (*draft, *Member, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, nil, err
	}
	m, err := d.recipient(name)
	if err != nil {
		return nil, nil, err
	}
	if !m.Backend.Supervised() {
		return nil, nil, refuse(RuleMove, "%s is not run by Cadre (but by %s)", m.Name, m.Backend).hint("cadre member show %s", m.Name)
	}
	return d, m, d.needLead(what)
}

// Answer gives the member.
func (v *MemberKill) Answer(s Snap, c Command, r Receipt) (any, error) {
	return s.answerMember(v.Name, c, r)
}

// MemberResume starts a member again that ended or died, as it was spawned.
type MemberResume struct {
	Name string `json:"name" arg:"NAME" help:"the member"`
}

// Decide has it started again.
func (v *MemberResume) Decide(s Snap, c Command) ([]Event, error) {
	d, m, err := beginSupervised(s, c, v.Name, "resume a member")
	if err != nil {
		return nil, err
	}
	if m.State == StateStarting {
		return nil, nil
	}
	if m.State != StateDead && m.State != StateDeparted {
		return nil, refuse(RuleMove, "%s is %s: there is nothing to resume", m.Name, m.State).hint("cadre member nudge %s", m.Name)
	}
	next := m.Clone()
	next.State, next.Since, next.Evidence, next.Process = StateStarting, d.now(), "resumed by "+d.me, nil
	d.put(m, next)
	return d.finish()
}

// Answer gives the member.
func (v *MemberResume) Answer(s Snap, c Command, r Receipt) (any, error) {
	return s.answerMember(v.Name, c, r)
}

// MemberNudge has a member look for work again, with a message.
type MemberNudge struct {
	Name string `json:"name" arg:"NAME" help:"the member"`
	Text string `json:"text,omitempty" arg:"[TEXT]" help:"what it is told" default:"please look at your tasks"`
}

// Decide sends the message; to somebody who cannot hear it, it says what to do.
func (v *MemberNudge) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	m, err := d.recipient(v.Name)
	if err != nil {
		return nil, err
	}
	if slices.Contains([]MemberState{StateDead, StateDeparted}, m.State) {
		hint := "cadre team join " + string(d.Scope()) + " --name " + m.Name
		if m.Backend.Supervised() {
			hint = "cadre member resume " + m.Name
		}
		return nil, refuse(RuleMove, "%s is %s and hears nothing", m.Name, m.State).hint("%s", hint)
	}
	text := v.Text
	if strings.TrimSpace(text) == "" {
		text = "please look at your tasks"
	}
	return (&MsgSend{To: m.Name, Text: text}).Decide(s, c)
}

// Answer gives the message.
func (v *MemberNudge) Answer(s Snap, c Command, r Receipt) (any, error) {
	return (&MsgSend{}).Answer(s, c, r)
}
