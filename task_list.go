package cadre

import (
	"iter"
	"slices"
	"strings"
)

// TaskList lists tasks, completed ones too.
type TaskList struct {
	Open   bool   `json:"open,omitempty" help:"leave out completed tasks"`
	Status string `json:"status,omitempty" values:"pending,in_progress,completed,deleted" help:"only tasks of this status"`
	Owner  string `json:"owner,omitempty" help:"only tasks of this member"`
	Label  string `json:"label,omitempty" help:"only tasks with this label"`
	All    bool   `json:"all,omitempty" help:"removed and internal tasks too"`
	Limit  int    `json:"limit,omitempty" help:"at most so many"`
	After  TaskID `json:"after,omitempty" help:"go on after this id"`
}

// Look lists.
func (v *TaskList) Look(s Snap, c Command) (any, error) {
	d, err := lookAtMost(s, c, v.Limit)
	if err != nil {
		return nil, err
	}
	q := TaskQuery{Cursor: v.After}
	if v.Status != "" {
		st, err := ParseStatus(v.Status)
		if err != nil {
			return nil, err
		}
		q.Index, q.Key = IndexStatus, string(st)
	}
	owner := ""
	if v.Owner != "" {
		if owner, err = d.memberName(v.Owner); err != nil {
			return nil, err
		}
	}
	return s.viewTasks(s.Tasks(q), q == TaskQuery{}, v.Limit, func(t *Task) bool {
		switch {
		case t.Status == Deleted && !v.All && v.Status == "", t.Kind == KindInternal && !v.All,
			t.Status == Completed && v.Open, owner != "" && t.Owner != owner:
			return false
		}
		return v.Label == "" || slices.Contains(t.Labels, v.Label)
	})
}

// viewTasks shows many tasks at once, reading what belongs to them in a few
// passes and not once for each. whole says that tasks are all there are, so that
// every edge is among them.
func (s Snap) viewTasks(tasks iter.Seq2[*Task, error], whole bool, limit int, keep func(*Task) bool) ([]*TaskView, error) {
	views := []*TaskView{}
	all, shown := byID[*Task]{id: func(t *Task) TaskID { return t.ID }}, []*Task{}
	for t, err := range tasks {
		if err != nil {
			return nil, err
		}
		all.list = append(all.list, t)
		if !keep(t) {
			continue
		}
		shown = append(shown, t)
		if views = append(views, newView(t)); limit > 0 && len(views) == limit {
			whole = false
			break
		}
	}
	around, err := s.around()
	if err != nil {
		return nil, err
	}
	for i, v := range views {
		t := shown[i]
		v.State = stateOf(t, around.members[t.Owner], around.asked[t.ID])
		for _, id := range t.BlockedBy {
			b := all.get(id)
			if b == nil {
				if b, err = s.Task(id); err != nil {
					return nil, err
				}
				all.found[id] = b
			}
			if b != nil && !b.finished() && b.Status != Deleted {
				v.WaitingOn = append(v.WaitingOn, id)
			}
		}
	}
	if whole {
		return views, s.fillEdges(views, standing(all.list))
	}
	if len(views) > few {
		return views, s.fillEdges(views, s.Tasks(TaskQuery{Index: IndexBlocker}))
	}
	for _, v := range views {
		if err := s.fillOne(v); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// byID finds values by a task's id. What it looks in is made when something is
// first looked for: most lists have few edges, or none.
type byID[T any] struct {
	list  []T
	id    func(T) TaskID
	found map[TaskID]T
}

func (b *byID[T]) get(id TaskID) T {
	if b.found == nil {
		b.found = make(map[TaskID]T, len(b.list))
		for _, v := range b.list {
			b.found[b.id(v)] = v
		}
	}
	return b.found[id]
}

// few is up to how many tasks are looked up one by one, so that a short answer
// costs the same in a long list as in a short one.
const few = 64

// standing gives the tasks that were not removed.
func standing(tasks []*Task) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		for _, t := range tasks {
			if t.Status != Deleted && !yield(t, nil) {
				return
			}
		}
	}
}

// surroundings is what a task's state depends on besides the task.
type surroundings struct {
	members map[string]*Member
	asked   map[TaskID]bool
}

func (s Snap) around() (surroundings, error) {
	a := surroundings{map[string]*Member{}, map[TaskID]bool{}}
	for m, err := range s.Members() {
		if err != nil {
			return a, err
		}
		a.members[m.Name] = m
	}
	for ask, err := range s.OpenAsks() {
		if err != nil {
			return a, err
		}
		a.asked[ask.Task] = true
	}
	return a, nil
}

// fillEdges adds to every view what stands on other objects: the tasks that wait
// for it, its comments and its references.
func (s Snap) fillEdges(views []*TaskView, edges iter.Seq2[*Task, error]) error {
	known := byID[*TaskView]{list: views, id: func(v *TaskView) TaskID { return v.ID }}
	for t, err := range edges {
		if err != nil {
			return err
		}
		for _, b := range t.BlockedBy {
			if v := known.get(b); v != nil {
				v.Blocks = append(v.Blocks, t.ID)
			}
		}
	}
	for c, err := range scan[*Comment](s, Index(KindComment), "", "") {
		if err != nil {
			return err
		}
		if v := known.get(c.Task); v != nil {
			v.Comments = append(v.Comments, CommentView{c.Author, c.Content, c.At})
		}
	}
	for r, err := range scan[*Reference](s, Index(KindReference), "", "") {
		if err != nil {
			return err
		}
		for _, id := range []TaskID{r.A, r.B} {
			if v := known.get(id); v != nil {
				v.References = append(v.References, r.other(id))
			}
		}
	}
	for _, v := range views {
		slices.SortFunc(v.Blocks, func(a, b TaskID) int { return strings.Compare(a.sortKey(), b.sortKey()) })
		v.Blocks = slices.Compact(v.Blocks) // the index names a task once for each of its edges
	}
	return nil
}

// TaskReady lists what could be started now.
type TaskReady struct {
	Limit int `json:"limit,omitempty" help:"at most so many"`
}

// Look lists the ready tasks: those of the caller, then those of nobody, in the
// order in which next would choose.
func (v *TaskReady) Look(s Snap, c Command) (any, error) {
	d, err := lookAtMost(s, c, v.Limit)
	if err != nil {
		return nil, err
	}
	return s.viewTasks(func(yield func(*Task, error) bool) {
		for _, q := range []TaskQuery{{Index: IndexOwner, Key: d.me}, {Index: IndexReady}} {
			for t, err := range s.Tasks(q) {
				if !yield(t, err) {
					return
				}
			}
		}
	}, false, v.Limit, (*Task).Ready)
}

// TaskShow shows one task with everything that belongs to it.
type TaskShow struct {
	ID TaskID `json:"id" arg:"ID" help:"the task"`
}

// Look shows it; a removed task can be looked at too.
func (v *TaskShow) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	return s.viewTask(v.ID)
}
