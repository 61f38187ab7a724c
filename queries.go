package cadre

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// TaskList lists tasks, completed ones too.
type TaskList struct {
	Open   bool   `json:"open,omitempty" help:"leave out completed tasks"`
	Status string `json:"status,omitempty" help:"only tasks of this status"`
	Owner  string `json:"owner,omitempty" help:"only tasks of this member"`
	Label  string `json:"label,omitempty" help:"only tasks with this label"`
	All    bool   `json:"all,omitempty" help:"removed and internal tasks too"`
	Limit  int    `json:"limit,omitempty" help:"at most so many"`
	After  TaskID `json:"after,omitempty" help:"go on after this id"`
}

// Look lists.
func (v *TaskList) Look(s Snap, c Command) (any, error) {
	d, err := look(s, c)
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
	known := map[TaskID]*TaskView{}
	all := map[TaskID]*Task{}
	for t, err := range tasks {
		if err != nil {
			return nil, err
		}
		all[t.ID] = t
		if !keep(t) {
			continue
		}
		v := newView(t)
		known[t.ID] = v
		if views = append(views, v); limit > 0 && len(views) == limit {
			whole = false
			break
		}
	}
	edges := s.Tasks(TaskQuery{Index: IndexBlocker})
	if whole {
		edges = valuesOf(all)
	}
	around, err := s.around()
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		t := all[v.ID]
		v.State = stateOf(t, around.members[t.Owner], around.asked[t.ID])
		for _, id := range t.BlockedBy {
			b := all[id]
			if b == nil {
				if b, err = s.Task(id); err != nil {
					return nil, err
				}
				all[id] = b
			}
			if b != nil && !b.finished() && b.Status != Deleted {
				v.WaitingOn = append(v.WaitingOn, id)
			}
		}
	}
	return views, s.fillEdges(views, known, edges)
}

func valuesOf(tasks map[TaskID]*Task) iter.Seq2[*Task, error] {
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
func (s Snap) fillEdges(views []*TaskView, known map[TaskID]*TaskView, edges iter.Seq2[*Task, error]) error {
	for t, err := range edges {
		if err != nil {
			return err
		}
		for _, b := range t.BlockedBy {
			if v := known[b]; v != nil && !slices.Contains(v.Blocks, t.ID) {
				v.Blocks = append(v.Blocks, t.ID)
			}
		}
	}
	for c, err := range scan[*Comment](s, Index(KindComment), "", "") {
		if err != nil {
			return err
		}
		if v := known[c.Task]; v != nil {
			v.Comments = append(v.Comments, CommentView{c.Author, c.Content, c.At})
		}
	}
	for r, err := range scan[*Reference](s, Index(KindReference), "", "") {
		if err != nil {
			return err
		}
		for _, id := range []TaskID{r.A, r.B} {
			if v := known[id]; v != nil {
				v.References = append(v.References, r.other(id))
			}
		}
	}
	for _, v := range views {
		slices.SortFunc(v.Blocks, func(a, b TaskID) int { return strings.Compare(a.sortKey(), b.sortKey()) })
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
	d, err := look(s, c)
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
	return s.viewTask(v.ID, c)
}

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

// WhyWait is one unfinished blocker on the way.
type WhyWait struct {
	ID      TaskID    `json:"id"`
	Subject string    `json:"subject"`
	State   TaskState `json:"state"`
	Owner   string    `json:"owner,omitempty"`
	For     TaskID    `json:"for"`
	Depth   int       `json:"depth"`
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
	task, err := s.viewTask(v.ID, c)
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
	for _, w := range waits {
		t := w.Task
		state := stateOf(t, around.members[t.Owner], around.asked[t.ID])
		why.Waits = append(why.Waits, WhyWait{t.ID, t.Subject, state, t.Owner, w.For, w.Depth})
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
	view, err := s.viewTask(id, Command{})
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

// TeamShow shows a team with its members and how far its work is.
type TeamShow struct {
	Team string `json:"team,omitempty" arg:"[TEAM]" help:"the team; the current one without"`
}

// TeamView is a team as it is shown.
type TeamView struct {
	Scope Scope `json:"scope"`
	Where Where `json:"where"`
	*Team
	Members []*MemberView  `json:"members"`
	Tasks   map[Status]int `json:"tasks"`
	Asks    int            `json:"asks"`
}

// ScopeName is the team to show.
func (v *TeamShow) ScopeName() string { return v.Team }

// Look shows it; a list without a team is shown with its tasks.
func (v *TeamShow) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	team, err := s.Team()
	if err != nil {
		return nil, err
	}
	view := &TeamView{Scope: s.Scope(), Where: Live, Team: team, Members: []*MemberView{}, Tasks: map[Status]int{}}
	for m, err := range s.Members() {
		if err != nil {
			return nil, err
		}
		mv, err := s.viewMember(m, c)
		if err != nil {
			return nil, err
		}
		view.Members = append(view.Members, mv)
	}
	for _, st := range []Status{Pending, InProgress, Completed, Deleted} {
		if view.Tasks[st], err = s.Count(IndexStatus, prefixKey(string(st))); err != nil {
			return nil, err
		}
	}
	view.Asks, err = s.Count(IndexOpenAsk, "")
	return view, err
}

// MemberList lists the members of a team.
type MemberList struct {
	All bool `json:"all,omitempty" help:"departed members too"`
}

// Look lists them in the order in which they joined.
func (v *MemberList) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	out := []*MemberView{}
	for m, err := range s.Members() {
		if err != nil {
			return nil, err
		}
		if m.State == StateDeparted && !v.All {
			continue
		}
		view, err := s.viewMember(m, c)
		if err != nil {
			return nil, err
		}
		out = append(out, view)
	}
	return out, nil
}

// MemberShow shows one member.
type MemberShow struct {
	Name string `json:"name" arg:"NAME" help:"the member"`
}

// Look shows it.
func (v *MemberShow) Look(s Snap, c Command) (any, error) {
	d, err := look(s, c)
	if err != nil {
		return nil, err
	}
	m, err := d.recipient(v.Name)
	if err != nil {
		return nil, err
	}
	return s.viewMember(m, c)
}

// MsgInbox lists a member's messages: the unread ones, or all.
type MsgInbox struct {
	Name  string `json:"name,omitempty" arg:"[NAME]" help:"whose inbox; your own without"`
	All   bool   `json:"all,omitempty" help:"messages that were read too"`
	After uint64 `json:"after,omitempty" help:"go on after the message with this number"`
	Limit int    `json:"limit,omitempty" help:"at most so many"`
}

// Look lists them, oldest first. Looking marks nothing: that is what ack is for.
func (v *MsgInbox) Look(s Snap, c Command) (any, error) {
	d, err := look(s, c)
	if err != nil {
		return nil, err
	}
	name := d.me
	if v.Name != "" {
		m, err := d.recipient(v.Name)
		if err != nil {
			return nil, err
		}
		name = m.Name
	}
	out := []*MessageView{}
	for m, err := range d.Inbox(name, v.After) {
		if err != nil {
			return nil, err
		}
		if !v.All && (m.ReadAt != nil || m.Dead != "") {
			continue
		}
		if out = append(out, viewMessage(m)); v.Limit > 0 && len(out) == v.Limit {
			break
		}
	}
	return out, nil
}

// MsgDead lists messages that can never arrive.
type MsgDead struct{}

// Look lists them.
func (v *MsgDead) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	out := []*MessageView{}
	for m, err := range scan[*Message](s, IndexDead, "", "") {
		if err != nil {
			return nil, err
		}
		out = append(out, viewMessage(m))
	}
	return out, nil
}

// AskList lists what waits for an answer.
type AskList struct {
	All bool `json:"all,omitempty" help:"answered ones too"`
}

// Look lists them.
func (v *AskList) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	seq := s.OpenAsks()
	if v.All {
		seq = s.Asks()
	}
	asks, err := collect(seq)
	return orEmpty(asks), err
}

// AskShow shows one ask.
type AskShow struct {
	ID AskID `json:"id" arg:"ID" help:"the ask"`
}

// Look shows it.
func (v *AskShow) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	a, err := s.Ask(v.ID)
	if err == nil && a == nil {
		return nil, refuse(RuleMissing, "there is no ask %s in %s", clip(string(v.ID), 40), s.Scope()).hint("cadre ask list --all")
	}
	return a, err
}
