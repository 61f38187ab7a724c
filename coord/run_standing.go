package coord

import (
	"context"
	"slices"
	"time"

	"cadre"
)

// Standing is how a run stands.
type Standing struct {
	Total   int                        // tasks of the plan
	Done    int                        // of these
	Members []*cadre.Member            // but for the lead, in the order in which they joined
	Works   map[string]*cadre.TaskView // what each works on
	Open    []*cadre.TaskView          // tasks that are not done
	Asks    []*cadre.Ask               // what waits for an answer of a person's
	Outcome Outcome                    // empty while it goes on

	look   time.Duration         // when to look again, whatever happens
	limits map[cadre.Backend]int // of the team
}

// standing looks how a run stands. Whether it can go on depends on whether somebody is
// there to answer.
func (s *Session) standing(ctx context.Context, attended bool) (*Standing, error) {
	now := &Standing{Works: map[string]*cadre.TaskView{}, look: time.Hour}
	err := s.view(ctx, func(snap cadre.Snap) error {
		now.Total, now.Done, now.Open, now.Members, now.Asks = 0, 0, nil, nil, nil
		answer, err := (&cadre.TaskList{}).Look(snap, s.command("run"))
		if err != nil {
			return err
		}
		for _, t := range answer.([]*cadre.TaskView) {
			if t.Kind != cadre.KindPlan {
				continue
			}
			now.Total++
			if t.State == cadre.TaskDoneState {
				now.Done++
				continue
			}
			now.Open = append(now.Open, t)
			if t.Status == cadre.InProgress && t.Owner != "" {
				now.Works[t.Owner] = t
			}
		}
		team, err := snap.Team()
		if err != nil {
			return err
		}
		if team != nil {
			now.limits = team.Settings.Limits
		}
		for m, err := range snap.Members() {
			if err != nil {
				return err
			}
			if m.Role != cadre.RoleLead {
				now.Members = append(now.Members, m)
			}
		}
		for a, err := range snap.OpenAsks() {
			if err != nil {
				return err
			}
			if a.ForPerson() {
				now.Asks = append(now.Asks, a)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now.Outcome = now.outcome(s.Now().Wall, attended)
	return now, nil
}

// outcome says how the run ended, or nothing while something can still happen.
func (n *Standing) outcome(wall time.Time, attended bool) Outcome {
	if len(n.Open) == 0 {
		return RunCompleted
	}
	end := RunFailed
	for _, a := range n.Asks {
		if a.Deadline != nil { // the team's policy answers then, at the latest
			n.look = min(n.look, max(0, a.Deadline.Sub(wall))+time.Millisecond)
		}
		if a.Deadline != nil || attended {
			return ""
		}
		if a.Kind != cadre.AskPerson {
			end = RunNeedsPerson
		}
	}
	for _, t := range n.Open {
		if t.Status == cadre.InProgress || t.State == cadre.TaskReadyState && n.someoneFor(t) {
			return ""
		}
		if t.Owner == cadre.LeadName || n.gated(t) {
			end = RunNeedsPerson
		}
	}
	for _, t := range n.Open { // what really failed says more than what waits
		if slices.Contains(t.Flags, cadre.FlagPerson) && !n.gated(t) {
			return RunFailed
		}
	}
	return end
}

// gated says whether a task stopped at a gate: its plan was not approved, or a hook
// refused it.
func (n *Standing) gated(t *cadre.TaskView) bool {
	return slices.Contains(t.Flags, cadre.FlagPerson) && (t.Plan != nil && t.Plan.ApprovedBy == "" || t.Refusals > 0)
}

// someoneFor says whether there is a member that can do a task.
func (n *Standing) someoneFor(t *cadre.TaskView) bool {
	return slices.ContainsFunc(n.Members, func(m *cadre.Member) bool {
		return m.Alive() && canDo(m, t) && (m.State != cadre.StateStarting || n.room(m.Backend))
	})
}

// room says whether one more member of a backend may run.
func (n *Standing) room(b cadre.Backend) bool {
	all, same := 0, 0
	for _, m := range n.Members {
		if m.Process != nil {
			all++
			if m.Backend == b {
				same++
			}
		}
	}
	fits := func(most, run int) bool { return most <= 0 || run < most }
	return fits(n.limits[""], all) && fits(n.limits[b], same)
}

// wants says whether there is something that a member could do.
func (n *Standing) wants(m *cadre.Member) bool {
	return slices.ContainsFunc(n.Open, func(t *cadre.TaskView) bool { return t.State == cadre.TaskReadyState && canDo(m, t) })
}

// canDo says whether a task is one for a member.
func canDo(m *cadre.Member, t *cadre.TaskView) bool {
	return m.Backend.Supervised() && (t.Owner == "" || t.Owner == m.Name) && (t.Run != "" || m.Backend != cadre.BackendShell)
}
