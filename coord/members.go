package coord

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"cadre"
	"cadre/teamfile"
)

// Runtime runs members. A door that can offers one.
type Runtime interface {
	// Check lists the settings of a member that cannot be honoured.
	Check(*cadre.Member) []string
	// Wake sees to it that a supervisor runs for the session's team, for as long as
	// the context lasts.
	Wake(context.Context, *Session) error
	// Serve is the supervisor of the session's team, until the context ends.
	Serve(context.Context, *Session, *Up) error

	// Isolate makes a worktree for a member that is to be spawned, and says so there.
	Isolate(context.Context, *Session, *cadre.MemberSpawn) error
	// Restore makes a worktree again, if it was taken away.
	Restore(context.Context, *cadre.Worktree) error
	// Discard takes a worktree away, unless there is something in it to lose.
	Discard(ctx context.Context, path string) error
	// Clear ends what runs of a team that is gone, and takes away the worktrees of its
	// members that have nothing in them to lose, and, of one that was erased, all that
	// was kept of what its members printed.
	Clear(ctx context.Context, s *Session, erased bool) error
	// Recover notes that the members of the session's team wait for a supervisor, where
	// the one that ran them was killed and nothing of them runs any more; it says whether
	// that was so.
	Recover(context.Context, *Session) (bool, error)
	// Leftovers finds what crashes left of any team's members.
	Leftovers(context.Context, *Session) ([]Leftover, error)
}

// Leftover is something that nobody needs any more.
type Leftover struct {
	GCLine
	Remove func(context.Context) error // nil for what is only told
}

// patience is how long a command waits for a supervisor to do what the log says.
const patience = 20 * time.Second

func (s *Session) runtime() (Runtime, error) {
	if s.Runtime == nil {
		return nil, cadre.Refuse(cadre.RuleValue, "", "members cannot be run through this door")
	}
	return s.Runtime, nil
}

// cannot refuses what a backend cannot honour, and says what it could: the shortest
// command that has nothing of it.
func (v *MemberSpawn) cannot(no []string) error {
	hint := "cadre member spawn " + v.Name + " --backend " + string(v.Backend)
	if v.Backend == cadre.BackendCommand {
		hint += " --run 'PROGRAM {prompt}'"
	}
	for _, reason := range no {
		switch field, _, _ := strings.Cut(reason, ":"); field {
		case "backend":
			hint = "cadre member spawn --help"
		case "cwd":
			hint += " --cwd FOLDER"
		}
	}
	return cadre.Refuse(cadre.RuleValue, hint, "%s cannot be spawned (%s)", v.Name, strings.Join(no, "; "))
}

// MemberSpawn makes a member that Cadre runs, and waits until it does.
type MemberSpawn struct{ cadre.MemberSpawn }

// Run spawns. What the backend cannot honour is refused before anything is written,
// and a member that could not be started is none.
func (v *MemberSpawn) Run(ctx context.Context, s *Session) (any, error) {
	runtime, err := s.runtime()
	if err != nil {
		return nil, err
	}
	if v.Folder = v.CWD; !filepath.IsAbs(v.CWD) {
		v.Folder = filepath.Join(s.CWD, v.CWD)
	}
	wanted := &cadre.Member{
		Name: v.Name, Backend: v.Backend, Run: v.MemberSpawn.Run, Prompt: v.Prompt, Model: v.Model, Mode: v.Mode, AgentType: v.AgentType, PlanMode: v.PlanMode, CWD: v.Folder,
	}
	if no := runtime.Check(wanted); len(no) > 0 {
		return nil, v.cannot(no)
	}
	if err := v.isolate(ctx, s, runtime); err != nil {
		return nil, err
	}
	_, answer, err := s.change(ctx, "member spawn", &v.MemberSpawn)
	if err != nil {
		return nil, errors.Join(err, v.discard(ctx, runtime))
	}
	name := answer.(*cadre.MemberView).Name
	m, err := s.started(ctx, runtime, name)
	if err == nil {
		return m, nil
	}
	if shown, serr := s.Do(ctx, "member show", &cadre.MemberShow{Name: name}); serr == nil && shown.(*cadre.MemberView).Member.State == cadre.StateDeparted {
		err = errors.Join(err, v.discard(ctx, runtime))
	}
	return nil, err
}

// isolate makes a worktree for the member, where one is asked for and nothing else is
// in the way.
func (v *MemberSpawn) isolate(ctx context.Context, s *Session, runtime Runtime) error {
	if v.Isolation == "" {
		return nil
	}
	v.Worktree = &cadre.Worktree{} // only to ask whether it could be spawned
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		_, err := v.Decide(snap, s.command("member spawn"))
		return err
	})
	if err != nil {
		return err
	}
	return runtime.Isolate(ctx, s, &v.MemberSpawn)
}

// discard takes the worktree of a member away that did not come to be.
func (v *MemberSpawn) discard(ctx context.Context, runtime Runtime) error {
	if v.Worktree == nil {
		return nil
	}
	return runtime.Discard(context.WithoutCancel(ctx), v.Worktree.Path)
}

// started wakes a supervisor and waits until a member runs.
func (s *Session) started(ctx context.Context, runtime Runtime, name string) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := runtime.Wake(ctx, s); err != nil {
		return nil, errors.Join(err, s.notStarted(ctx, name, err))
	}
	if full, err := s.full(ctx, name); err != nil || full {
		if err != nil {
			return nil, err
		}
		s.warn("%s is started when there is room: the team has as many members as may run at the same time", name)
		return s.Do(ctx, "member show", &cadre.MemberShow{Name: name})
	}
	m, err := s.settled(ctx, name, "was not started", func(m *cadre.Member) bool { return m.State != cadre.StateStarting })
	if err == nil && (m.State == cadre.StateDeparted || m.State == cadre.StateDead) {
		return nil, cadre.Fault(nil, "cadre log", "%s %s", name, m.Evidence)
	}
	return m, err
}

// full says whether a member has to wait until others have ended.
func (s *Session) full(ctx context.Context, name string) (full bool, err error) {
	err = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		team, err := snap.Team()
		if err != nil || team == nil || len(team.Settings.Limits) == 0 {
			return err
		}
		waits, err := snap.Member(name)
		if err != nil || waits == nil || waits.State != cadre.StateStarting {
			return err
		}
		run := map[cadre.Backend]int{}
		for m, err := range snap.Members() {
			if err != nil {
				return err
			}
			if m.Process != nil {
				run[m.Backend]++
				run[""]++
			}
		}
		for _, of := range []cadre.Backend{"", waits.Backend} {
			full = full || team.Settings.Limits[of] > 0 && run[of] >= team.Settings.Limits[of]
		}
		return nil
	})
	return full, err
}

// notStarted says that a member could not be started.
func (s *Session) notStarted(ctx context.Context, name string, why error) error {
	gone := *s
	gone.Actor = cadre.Self
	_, _, err := gone.change(context.WithoutCancel(ctx), "member gone", &cadre.MemberGone{Name: name, Why: why.Error()})
	return err
}

// settled waits until something is so of a member.
func (s *Session) settled(ctx context.Context, name, not string, so func(*cadre.Member) bool) (*cadre.MemberView, error) {
	waits := &cadre.Error{Code: cadre.CodeBlocked, Rule: cadre.RuleWaits}
	answer, err := s.retry(ctx, patience, func(ctx context.Context) (any, error) {
		answer, err := s.Do(ctx, "member show", &cadre.MemberShow{Name: name})
		if m, ok := answer.(*cadre.MemberView); err == nil && ok && !so(m.Member) {
			return nil, cadre.Refuse(cadre.RuleWaits, "cadre member show "+name, "%s is %s (%s)", name, m.Member.State, m.Evidence)
		}
		return answer, err
	}, waits, name+" "+not)
	if err != nil {
		return nil, err
	}
	return answer.(*cadre.MemberView), nil
}

// MemberResume starts a member again, and waits until it runs.
type MemberResume struct{ cadre.MemberResume }

// Run resumes.
func (v *MemberResume) Run(ctx context.Context, s *Session) (any, error) {
	runtime, err := s.runtime()
	if err != nil {
		return nil, err
	}
	s.listen(ctx) // it may be at work only as far as the record knows
	_, answer, err := s.change(ctx, "member resume", &v.MemberResume)
	if err != nil {
		return nil, err
	}
	if m := answer.(*cadre.MemberView).Member; m.Worktree != nil {
		if err := runtime.Restore(ctx, m.Worktree); err != nil {
			return nil, errors.Join(err, s.notStarted(ctx, m.Name, err))
		}
	}
	return s.started(ctx, runtime, answer.(*cadre.MemberView).Name)
}

// MemberKill ends a member, and waits until nothing of it is left.
type MemberKill struct{ cadre.MemberKill }

// Run kills. Where no supervisor runs one is started, which ends what the one before
// it left.
func (v *MemberKill) Run(ctx context.Context, s *Session) (any, error) {
	runtime, err := s.runtime()
	if err != nil {
		return nil, err
	}
	_, answer, err := s.change(ctx, "member kill", &v.MemberKill)
	if err != nil {
		return nil, err
	}
	m := answer.(*cadre.MemberView)
	if m.Process == nil {
		return m, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := runtime.Wake(ctx, s); err != nil {
		return nil, err
	}
	return s.settled(ctx, m.Name, "still has a process", func(m *cadre.Member) bool { return m.Process == nil })
}

// Up runs the members of a team for as long as it runs itself.
type Up struct {
	Limit   int           `json:"limit,omitempty" help:"members that run at the same time; as many as there are without"`
	Stagger time.Duration `json:"stagger,omitempty" help:"how long to wait between the starts of two members"`
	Leave   bool          `json:"leave,omitempty" help:"end when there is no member any more"`

	Heartbeat time.Duration `json:"heartbeat,omitempty" help:"how often a member shows that it is alive" default:"10s"`
	Lease     time.Duration `json:"lease,omitempty" help:"how long a silent member keeps its task" default:"30s"`
	Stall     time.Duration `json:"stall,omitempty" help:"how long a member may do nothing to be seen before it counts as stalled" default:"10m"`
	Deadline  time.Duration `json:"deadline,omitempty" help:"how long a member may take to end when it is asked to" default:"30s"`

	File  *teamfile.File `json:"-" door:"-"` // what the team is to be, nil: as it is
	Ready func()         `json:"-" door:"-"` // called when members can be started
}

// ScopeName is the team of the file, where there is one.
func (v *Up) ScopeName() string {
	if v.File == nil {
		return ""
	}
	return v.File.Team.Name
}

// Supervised is the answer when it is over.
type Supervised struct {
	Scope cadre.Scope `json:"scope"`
}

// Run supervises.
func (v *Up) Run(ctx context.Context, s *Session) (any, error) {
	runtime, err := s.runtime()
	if err != nil {
		return nil, err
	}
	if v.Limit < 0 || min(v.Stagger, v.Heartbeat, v.Lease, v.Stall, v.Deadline) < 0 {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre up --help", "a limit or a time below zero makes no sense")
	}
	if v.Lease > 0 && v.Lease < 2*v.Heartbeat {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre up --lease 30s --heartbeat 10s", "a lease of %s would end between two heartbeats, which are %s apart", v.Lease, v.Heartbeat)
	}
	if v.File != nil {
		if err := apply(ctx, s, v.File); err != nil {
			return nil, err
		}
		if err := applyMembers(ctx, s, v.File); err != nil {
			return nil, err
		}
	}
	return &Supervised{s.Scope}, runtime.Serve(ctx, s, v)
}
