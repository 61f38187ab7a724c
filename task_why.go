package cadre

import (
	"fmt"
)

// TaskWhy explains what a task waits for, through all levels, and who could free it.
type TaskWhy struct {
	ID TaskID `json:"id" arg:"ID" help:"the task"`
}

// Why is the explanation. Free holds what stands at the beginning: the tasks that
// wait for nothing themselves, and who could do them.
type Why struct {
	Task  *TaskView `json:"task"`
	Waits []WhyWait `json:"waits"`
	Free  []WhyFree `json:"free"`
}

// WhyWait is one unfinished blocker on the way. It is there once, for the first task
// that it holds up; WaitingOn has every edge.
type WhyWait struct {
	ID        TaskID    `json:"id"`
	Subject   string    `json:"subject"`
	State     TaskState `json:"state"`
	Owner     string    `json:"owner,omitempty"`
	For       TaskID    `json:"for"`
	Depth     int       `json:"depth"`
	WaitingOn []TaskID  `json:"waitingOn,omitempty"`
}

// WhyFree is one task that would have to be done first, and by whom.
type WhyFree struct {
	ID   TaskID `json:"id"`
	Who  string `json:"who"`
	Next string `json:"next"` // the command that moves it
}

// Look explains.
func (v *TaskWhy) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	task, err := s.viewTask(v.ID)
	if err != nil {
		return nil, err
	}
	why := &Why{Task: task, Waits: []WhyWait{}, Free: []WhyFree{}}
	waits, err := s.Blockers(task.ID)
	if err != nil {
		return nil, err
	}
	around, err := s.around()
	if err != nil {
		return nil, err
	}
	unfinished := map[TaskID]bool{}
	for _, w := range waits {
		unfinished[w.Task.ID] = true
	}
	for _, w := range waits {
		t := w.Task
		state := stateOf(t, around.members[t.Owner], around.asked[t.ID])
		var on []TaskID
		for _, id := range t.BlockedBy {
			if unfinished[id] && t.Status != Completed {
				on = append(on, id)
			}
		}
		why.Waits = append(why.Waits, WhyWait{t.ID, t.Subject, state, t.Owner, w.For, w.Depth, on})
		if t.OpenBlockers == 0 || t.Status == Completed {
			why.Free = append(why.Free, freeBy(t, state))
		}
	}
	return why, nil
}

// freeBy says who could move a task that waits for nothing.
func freeBy(t *Task, state TaskState) WhyFree {
	switch {
	case t.Status == Completed:
		return WhyFree{t.ID, "the lead, who has to accept it", fmt.Sprintf("cadre task accept %s", t.ID)}
	case state == TaskWaiting:
		return WhyFree{t.ID, "a person", "cadre ask list"}
	case t.Owner != "":
		return WhyFree{t.ID, t.Owner, fmt.Sprintf(`cadre msg send %s "…"`, t.Owner)}
	}
	return WhyFree{t.ID, "anyone", fmt.Sprintf("cadre task start %s", t.ID)}
}

// TaskGraph gives the dependencies of the open tasks.
type TaskGraph struct {
	All     bool   `json:"all,omitempty" help:"completed tasks too"`
	Mermaid bool   `json:"mermaid,omitempty" help:"as a Mermaid diagram"`
	ID      TaskID `json:"id,omitempty" arg:"[ID]" help:"only what this task waits for and what waits for it"`
}

// Graph is the plan as a picture: tasks in waves, and the longest chain.
type Graph struct {
	Tasks    []*TaskView `json:"tasks"`
	Waves    [][]TaskID  `json:"waves"`
	Critical []TaskID    `json:"criticalPath"`
	Mermaid  bool        `json:"-"`
}

// Look collects the graph.
func (v *TaskGraph) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	only, err := s.related(v.ID)
	if err != nil {
		return nil, err
	}
	var tasks []*Task
	views, err := s.viewTasks(s.Tasks(TaskQuery{}), true, 0, func(t *Task) bool {
		if t.Status == Deleted || t.Kind == KindInternal || (t.Status == Completed && !v.All) || (only != nil && !only[t.ID]) {
			return false
		}
		tasks = append(tasks, t)
		return true
	})
	if err != nil {
		return nil, err
	}
	return &Graph{Tasks: views, Waves: orEmpty(Waves(tasks)), Critical: orEmpty(CriticalPath(tasks)), Mermaid: v.Mermaid}, nil
}

// related gives a task with everything before and after it; nil means everything.
func (s Snap) related(id TaskID) (map[TaskID]bool, error) {
	if id == "" {
		return nil, nil
	}
	view, err := s.viewTask(id)
	if err != nil {
		return nil, err
	}
	out := map[TaskID]bool{view.ID: true}
	for _, forward := range []bool{false, true} {
		seen := map[TaskID]bool{view.ID: true}
		for queue := []TaskID{view.ID}; len(queue) > 0; queue = queue[1:] {
			next, err := s.neighbours(queue[0], forward)
			if err != nil {
				return nil, err
			}
			for _, n := range next {
				if !seen[n] {
					seen[n], out[n] = true, true
					queue = append(queue, n)
				}
			}
		}
	}
	return out, nil
}

// neighbours gives the tasks one edge away: those that wait, or those waited for.
func (s Snap) neighbours(id TaskID, forward bool) ([]TaskID, error) {
	if forward {
		var out []TaskID
		for t, err := range s.Blocks(id) {
			if err != nil {
				return nil, err
			}
			out = append(out, t.ID)
		}
		return out, nil
	}
	t, err := s.Task(id)
	if err != nil || t == nil {
		return nil, err
	}
	return t.BlockedBy, nil
}
