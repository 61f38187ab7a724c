package coord

import (
	"context"
	"slices"
	"time"

	"cadre"
)

// RunReport is what came of a run: what was done by whom, how long it took, and what is
// left. It is about all runs of the file together.
type RunReport struct {
	Team    cadre.Scope  `json:"team"`
	File    string       `json:"file"`
	Outcome Outcome      `json:"outcome"`
	Began   time.Time    `json:"began"` // this run
	Ended   time.Time    `json:"ended"`
	Tasks   []*RunTask   `json:"tasks"`
	Members []*RunMember `json:"members"`
	Asks    []*cadre.Ask `json:"asks"` // those that wait
	Next    string       `json:"next,omitempty"`
	Head    cadre.Head   `json:"head"` // where the record stood
}

// RunTask is a task of the plan and every attempt at it.
type RunTask struct {
	*cadre.TaskView
	Tries []*Try `json:"tries"`
}

// Took is how long the last attempt took.
func (t *RunTask) Took() time.Duration {
	if len(t.Tries) == 0 {
		return 0
	}
	return t.Tries[len(t.Tries)-1].Took()
}

// Try is one attempt at a task.
type Try struct {
	By    string    `json:"by"`
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`
	How   string    `json:"how"` // done, failed, given back, or running
	Why   string    `json:"why,omitempty"`
}

// Took is how long it took.
func (t *Try) Took() time.Duration {
	if t.Ended.IsZero() {
		return 0
	}
	return t.Ended.Sub(t.Began)
}

// RunMember is a member and what it did.
type RunMember struct {
	Name     string            `json:"name"`
	Backend  cadre.Backend     `json:"backend"`
	State    cadre.MemberState `json:"state"`
	Evidence string            `json:"evidence,omitempty"`
	Worktree *cadre.Worktree   `json:"worktree,omitempty"`
	Done     int               `json:"done"`
	Failed   int               `json:"failed"`
	Busy     time.Duration     `json:"busy"`
}

// report tells what came of the run.
func (r *running) report(ctx context.Context, outcome Outcome) (*RunReport, error) {
	rep := &RunReport{
		Team: r.s.Scope, File: r.File.Path, Outcome: outcome, Began: r.began, Ended: r.s.Now().Wall, Tasks: []*RunTask{}, Members: []*RunMember{}, Asks: []*cadre.Ask{},
	}
	rep.Asks = append(rep.Asks, r.waiting...)
	err := r.s.view(ctx, func(snap cadre.Snap) error {
		rep.Head, rep.Tasks = snap.Head(), rep.Tasks[:0]
		answer, err := (&cadre.TaskList{}).Look(snap, r.s.command("run"))
		if err != nil {
			return err
		}
		for _, t := range answer.([]*cadre.TaskView) {
			if t.Kind != cadre.KindPlan {
				continue
			}
			tries, err := triesOf(snap, t.ID)
			if err != nil {
				return err
			}
			rep.Tasks = append(rep.Tasks, &RunTask{t, tries})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, m := range r.last.Members {
		rep.Members = append(rep.Members, rep.member(m))
	}
	rep.Next = r.next(rep)
	return rep, nil
}

// triesOf finds the attempts at a task in its history.
func triesOf(snap cadre.Snap, id cadre.TaskID) ([]*Try, error) {
	var history []cadre.Event
	for e, err := range snap.History(cadre.Ref{Kind: cadre.KindTask, ID: string(id)}) {
		if err != nil {
			return nil, err
		}
		history = append(history, e)
	}
	tries := []*Try{}
	for _, e := range slices.Backward(history) {
		before, _ := e.Before.(*cadre.Task)
		after, ok := e.After.(*cadre.Task)
		if !ok {
			continue
		}
		was := before != nil && before.Status == cadre.InProgress
		switch {
		case !was && after.Status == cadre.InProgress:
			tries = append(tries, &Try{By: after.Owner, Began: e.Time, How: "running"})
		case was && after.Status != cadre.InProgress && len(tries) > 0:
			last := tries[len(tries)-1]
			last.Ended, last.How = e.Time, "given back"
			switch {
			case after.Status == cadre.Completed:
				last.How = "done"
			case after.Attempts > before.Attempts:
				last.How = "failed"
				if after.Result != nil && e.Verb == "task fail" {
					last.Why = after.Result.Summary
				} else {
					last.Why = last.By + " was lost"
				}
			}
		case !was && after.Status == cadre.Completed && (before == nil || before.Status != cadre.Completed):
			tries = append(tries, &Try{By: after.Owner, Began: e.Time, Ended: e.Time, How: "done"})
		}
	}
	return tries, nil
}

// member sums up what a member did.
func (rep *RunReport) member(m *cadre.Member) *RunMember {
	out := &RunMember{Name: m.Name, Backend: m.Backend, State: m.State, Evidence: m.Evidence, Worktree: m.Worktree}
	for _, t := range rep.Tasks {
		for _, try := range t.Tries {
			if try.By != m.Name {
				continue
			}
			out.Busy += try.Took()
			switch try.How {
			case "done":
				out.Done++
			case "failed":
				out.Failed++
			}
		}
	}
	return out
}

// next is the command to type.
func (r *running) next(rep *RunReport) string {
	again := "cadre run --resume " + r.File.Path
	if r.File.Renamed {
		again += " --team " + string(rep.Team)
	}
	switch rep.Outcome {
	case RunCompleted:
		return ""
	case RunNeedsPerson:
		for _, a := range r.last.Asks { // those that did not end with the members
			return "cadre ask show " + string(a.ID) + " --team " + string(rep.Team) + ", and after an answer: " + again
		}
		return "at a terminal, where you can answer: " + again
	case RunFailed:
		for _, t := range rep.Tasks {
			if slices.Contains(t.Flags, cadre.FlagPerson) {
				return "cadre task show " + string(t.ID) + " --team " + string(rep.Team) + ", mend it, then at a terminal or with an operator token: " + again
			}
		}
	}
	return again
}
