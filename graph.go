package cadre

import (
	"slices"
	"strings"
)

// The dependency graph. An edge stands on the blocked task; everything here
// reads it from whichever side it needs.

// cyclePath says how a task already waits for another, directly or through
// others: the path from one to the other along blockedBy, or nil.
func (s Snap) cyclePath(from, to TaskID) ([]TaskID, error) {
	came := map[TaskID]TaskID{from: ""}
	for queue := []TaskID{from}; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if id == to {
			var path []TaskID
			for ; id != ""; id = came[id] {
				path = append(path, id)
			}
			slices.Reverse(path)
			return path, nil
		}
		t, err := s.Task(id)
		if err != nil {
			return nil, err
		}
		if t == nil || t.Status == Deleted {
			continue
		}
		for _, b := range t.BlockedBy {
			if _, seen := came[b]; !seen {
				came[b] = id
				queue = append(queue, b)
			}
		}
	}
	return nil, nil
}

// addEdge makes a task wait for another; it refuses an edge that closes a cycle
// and names the whole of it.
func (d *draft) addEdge(t *Task, by TaskID) error {
	by, err := parseTaskID(by)
	if err != nil {
		return err
	}
	if slices.Contains(t.BlockedBy, by) {
		return nil
	}
	blocker, err := d.task(by)
	if err != nil {
		return err
	}
	if blocker.ID == t.ID {
		return refuse(RuleCycle, "task %s cannot wait for itself", t.ID).hint("cadre task why %s", t.ID)
	}
	if len(t.BlockedBy) >= MaxBlockers {
		return refuse(RuleLimit, "task %s already waits for %d tasks, which is as many as it can", t.ID, MaxBlockers)
	}
	if t.Status == Completed && !blocker.finished() {
		return t.cannotWait()
	}
	var path []TaskID
	if t.Version > 0 { // for a new task nobody can wait yet
		if path, err = d.cyclePath(by, t.ID); err != nil {
			return err
		}
	}
	if path != nil {
		return refuse(RuleCycle, "that would be a cycle: %s", showCycle(append([]TaskID{t.ID}, path...))).
			hint("cadre task unblock %s --by %s", path[0], path[min(1, len(path)-1)])
	}
	t.BlockedBy = append(t.BlockedBy, by)
	return nil
}

// beginWait makes a task wait for another from now on, which a completed one cannot, also
// not for what is completed. An edge that is there already is no change.
func (d *draft) beginWait(t, next *Task, by TaskID) error {
	had := len(next.BlockedBy)
	if err := d.addEdge(next, by); err != nil {
		return err
	}
	if t.Status == Completed && len(next.BlockedBy) > had {
		return t.cannotWait()
	}
	return nil
}

// cannotWait refuses a blocker that a completed task cannot have had.
func (t *Task) cannotWait() error {
	return refuse(RuleMove, "task %s is completed and cannot begin to wait", t.ID).hint("cadre task update %s --status pending", t.ID)
}

// showCycle writes a cycle as "1 waits for 2 waits for 1".
func showCycle(ids []TaskID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, " waits for ")
}

// openBlockers gives the tasks that a task still waits for.
func (s Snap) openBlockers(t *Task) ([]*Task, error) {
	var open []*Task
	for _, id := range t.BlockedBy {
		b, err := s.Task(id)
		if err != nil {
			return nil, err
		}
		if b != nil && !b.finished() && b.Status != Deleted {
			open = append(open, b)
		}
	}
	return open, nil
}

// Blockers gives everything a task still waits for, through all levels, each
// once, nearest first, with its distance.
func (s Snap) Blockers(id TaskID) ([]Waiting, error) {
	t, err := s.Task(id)
	if err != nil || t == nil {
		return nil, err
	}
	var out []Waiting
	seen := map[TaskID]bool{id: true}
	level := []*Task{t}
	for depth := 1; len(level) > 0; depth++ {
		var next []*Task
		for _, w := range level {
			open, err := s.openBlockers(w)
			if err != nil {
				return nil, err
			}
			for _, b := range open {
				if !seen[b.ID] {
					seen[b.ID] = true
					out = append(out, Waiting{Task: b, For: w.ID, Depth: depth})
					next = append(next, b)
				}
			}
		}
		level = next
	}
	return out, nil
}

// Waiting is one unfinished blocker: whom it holds up, and how far away it is.
type Waiting struct {
	Task  *Task
	For   TaskID
	Depth int
}

// CriticalPath is the longest chain of open tasks that must be done one after
// the other, first to last: with any number of workers, the plan takes that many
// steps.
func CriticalPath(tasks []*Task) []TaskID {
	byID := map[TaskID]*Task{}
	for _, t := range tasks {
		if t.Open() {
			byID[t.ID] = t
		}
	}
	length, via := map[TaskID]int{}, map[TaskID]TaskID{}
	order := topological(byID)
	var last TaskID
	for _, t := range order {
		length[t.ID] = 1
		for _, b := range t.BlockedBy {
			if byID[b] != nil && length[b]+1 > length[t.ID] {
				length[t.ID], via[t.ID] = length[b]+1, b
			}
		}
		if last == "" || length[t.ID] > length[last] {
			last = t.ID
		}
	}
	var path []TaskID
	for id := last; id != ""; id = via[id] {
		path = append(path, id)
	}
	slices.Reverse(path)
	return path
}

// Waves groups open tasks by when they could run: wave 0 waits for nothing, wave
// 1 only for tasks of wave 0, and so on.
func Waves(tasks []*Task) [][]TaskID {
	byID := map[TaskID]*Task{}
	for _, t := range tasks {
		if t.Open() {
			byID[t.ID] = t
		}
	}
	wave := map[TaskID]int{}
	var out [][]TaskID
	for _, t := range topological(byID) {
		n := 0
		for _, b := range t.BlockedBy {
			if byID[b] != nil {
				n = max(n, wave[b]+1)
			}
		}
		wave[t.ID] = n
		if n == len(out) {
			out = append(out, nil)
		}
		out[n] = append(out[n], t.ID)
	}
	return out
}

// topological orders tasks so that each comes after what it waits for, by id
// where nothing else decides. A cycle cannot be stored; were there one, its
// tasks would be left out.
func topological(byID map[TaskID]*Task) []*Task {
	waits, blocks := map[TaskID]int{}, map[TaskID][]TaskID{}
	var ready []*Task
	for id, t := range byID {
		for _, b := range t.BlockedBy {
			if byID[b] != nil {
				waits[id]++
				blocks[b] = append(blocks[b], id)
			}
		}
		if waits[id] == 0 {
			ready = append(ready, t)
		}
	}
	byKey := func(a, b *Task) int { return strings.Compare(a.ID.sortKey(), b.ID.sortKey()) }
	slices.SortFunc(ready, byKey)
	out := make([]*Task, 0, len(byID))
	for len(ready) > 0 {
		var next []*Task
		for _, t := range ready {
			out = append(out, t)
			for _, id := range blocks[t.ID] {
				if waits[id]--; waits[id] == 0 {
					next = append(next, byID[id])
				}
			}
		}
		slices.SortFunc(next, byKey)
		ready = next
	}
	return out
}
