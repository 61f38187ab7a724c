package cadre

import (
	"errors"
	"maps"
	"time"
)

// WorkMode says how the members that Cadre runs come to their work.
type WorkMode string

const (
	ModeSelfClaim WorkMode = "self-claim" // each takes what is right for it; where nothing else is said
	ModeDispatch  WorkMode = "dispatch"   // the supervisor hands it out
)

// Dispatched says whether the supervisor hands out the work.
func (s TeamSettings) Dispatched() bool { return s.Mode == ModeDispatch }

// TeamMode says how the members that Cadre runs come to their work.
type TeamMode struct {
	Mode WorkMode `json:"mode" arg:"MODE" values:"self-claim,dispatch" help:"self-claim: members take what is ready; dispatch: the supervisor hands it out"`
}

// Decide sets the mode.
func (v *TeamMode) Decide(s Snap, c Command) ([]Event, error) {
	return decideSettings(s, c, "say how work is given out", func(set *TeamSettings) error {
		switch v.Mode {
		case ModeSelfClaim:
			set.Mode = ""
		case ModeDispatch:
			set.Mode = v.Mode
		default:
			return refuse(RuleValue, "work cannot be given out by %q: use self-claim or dispatch", clip(string(v.Mode), 40)).hint("cadre team mode dispatch")
		}
		return nil
	})
}

// Answer shows the team.
func (v *TeamMode) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// TeamLimit says how many members run at the same time.
type TeamLimit struct {
	Most    int     `json:"most" arg:"MOST" help:"so many at the same time; 0 is no limit"`
	Backend Backend `json:"backend,omitempty" values:"shell,command,claude,codex" help:"only members that this runs; all without"`
}

// Decide sets the limit. The supervisor starts no member past it, and ends none.
func (v *TeamLimit) Decide(s Snap, c Command) ([]Event, error) {
	return decideSettings(s, c, "limit how many members run", func(set *TeamSettings) error {
		if v.Most < 0 || v.Most > maxMembers {
			return refuse(RuleLimit, "from 0, which is no limit, to %d members can run", maxMembers).hint("cadre team limit 4")
		}
		if v.Backend != "" && !v.Backend.Supervised() {
			return refuse(RuleValue, "Cadre runs no members whose backend is %q", clip(string(v.Backend), 40)).hint("cadre team limit %d", v.Most)
		}
		limits := maps.Clone(set.Limits)
		if limits == nil {
			limits = map[Backend]int{}
		}
		if limits[v.Backend] = v.Most; v.Most == 0 {
			delete(limits, v.Backend)
		}
		if set.Limits = limits; len(limits) == 0 {
			set.Limits = nil
		}
		return nil
	})
}

// maxMembers is past what one machine runs.
const maxMembers = 10_000

// Answer shows the team.
func (v *TeamLimit) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TeamShow{}).Look(s, c)
}

// decideSettings changes a team's settings, which is the lead's. The same again is no
// change.
func decideSettings(s Snap, c Command, what string, change func(*TeamSettings) error) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	next := TeamSettings{}
	if err := change(&next); err != nil { // what makes no sense is refused first
		return nil, err
	}
	team, _, err := d.teamAndLead()
	if err != nil {
		return nil, err
	}
	if err := d.needLead(what); err != nil {
		return nil, err
	}
	changed := *team
	if err := change(&changed.Settings); err != nil {
		return nil, err
	}
	if !changed.sameSettings(team) {
		d.put(team, &changed)
	}
	return d.finish()
}

// Idler is a member that waits for work.
type Idler struct {
	Name string
	Runs bool // it can do only tasks that have a command to run
}

// TasksDispatch gives each of some members what is right for it, in one commit; the
// first gets the first choice. Only the supervisor uses it, and no door offers it.
type TasksDispatch struct {
	To    []Idler
	Lease time.Duration
}

// Decide chooses for each, as it would for itself.
func (v *TasksDispatch) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := d.expire(); err != nil {
		return nil, err
	}
	for _, to := range v.To {
		m, err := d.Member(to.Name)
		if err != nil {
			return nil, err
		}
		if m == nil || m.State == StateDeparted || m.State == StateDead {
			continue
		}
		d.me = m.Name
		t, err := d.next(to.Runs)
		if err == nil && t != nil {
			err = d.take(t, v.Lease)
		}
		if d.me = c.Actor.Name; err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// take claims and starts what next chose.
func (d *draft) take(t *Task, lease time.Duration) error {
	take := d.start
	if err := d.planApproved(t); errors.Is(err, &Error{Code: CodeBlocked, Rule: RulePlan}) {
		take, lease = d.claim, 0 // so that its plan can be written, however long that waits
	} else if err != nil {
		return err
	}
	_, err := take(t, false, lease)
	return err
}

// Handed is a task and who got it.
type Handed struct {
	To   string
	Task *TaskView
}

// Answer lists who got what.
func (v *TasksDispatch) Answer(s Snap, c Command, _ Receipt) (any, error) {
	d, out := newDraft(s, c), []Handed{}
	for _, to := range v.To {
		d.me = to.Name
		t, err := d.mine(to.Runs)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		view, err := s.viewTask(t.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, Handed{to.Name, view})
	}
	return out, nil
}
