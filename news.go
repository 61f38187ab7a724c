package cadre

import "slices"

// Due says how much waits for the caller, for a word about it on every answer.
type Due struct {
	After uint64 // messages up to this number were shown already
}

// DueView is how much that is.
type DueView struct {
	Unread int `json:"unread"`
	Asks   int `json:"asks"`
}

// Look counts.
func (v *Due) Look(s Snap, c Command) (any, error) {
	d, err := look(s, c)
	if err != nil {
		return nil, err
	}
	out := &DueView{}
	prefix := prefixKey(d.me)
	for _, err := range scan[*Message](s, IndexUnread, prefix, prefix+seqKey(v.After)) {
		if err != nil {
			return nil, err
		}
		out.Unread++
	}
	for a, err := range s.OpenAsks() {
		if err != nil {
			return nil, err
		}
		awaited, err := d.awaited(a)
		if err != nil {
			return nil, err
		}
		if awaited {
			out.Asks++
		}
	}
	return out, nil
}

// awaited says whether an open ask waits for the caller.
func (d *draft) awaited(a *Ask) (bool, error) {
	if a.State != AskOpen || d.rights >= leads && a.ForPerson() {
		return a.State == AskOpen, nil
	}
	may, err := d.answerers(a, "")
	return slices.Contains(may, d.me), err
}

// News is what concerns the caller: all of it, or what some events changed.
type News struct {
	Since  []Event // what happened, for a caller that saw everything before
	All    bool
	Most   int    // of each kind
	Unseen uint64 // messages up to this number were shown already
}

// NewsView is what concerns a caller.
type NewsView struct {
	You      string         `json:"you"`
	Leads    bool           `json:"leads,omitempty"`
	Scope    Scope          `json:"scope"`
	Tasks    []*TaskView    `json:"tasks"` // the caller's own
	Lost     []TaskID       `json:"lost"`  // tasks that were the caller's and are not any more
	Ready    []*TaskView    `json:"ready"` // tasks of nobody that could be started
	Messages []*MessageView `json:"messages"`
	Asks     []*Ask         `json:"asks"`    // what waits for the caller's answer
	Answers  []*Ask         `json:"answers"` // what the caller asked and was answered
	More     bool           `json:"more"`    // there is more of some kind
	Left     Left           `json:"left"`    // of all that concerns it, how much there was no room for
	Head     Head           `json:"-"`
	Until    Seq            `json:"-"` // of the events, the last whose change is told; what is after it is not
}

// Left is how much of each kind there was no room for.
type Left struct {
	Tasks    int `json:"tasks,omitempty"`
	Ready    int `json:"ready,omitempty"`
	Messages int `json:"messages,omitempty"`
}

// Empty says that nothing happened.
func (v *NewsView) Empty() bool {
	return len(v.Tasks)+len(v.Lost)+len(v.Ready)+len(v.Messages)+len(v.Asks)+len(v.Answers) == 0
}

// Look gathers it. What the caller did itself is no news to it, but for mail that it got
// by that: nothing unread is passed over. Of events the oldest come first, up to where
// there is no more room, so that the next call can go on there.
func (v *News) Look(s Snap, c Command) (any, error) {
	d, err := look(s, c)
	if err != nil {
		return nil, err
	}
	out := &NewsView{You: d.me, Leads: d.rights >= leads, Scope: s.Scope(), Head: s.Head()}
	out.Tasks, out.Lost, out.Ready = []*TaskView{}, []TaskID{}, []*TaskView{}
	out.Messages, out.Asks, out.Answers = []*MessageView{}, []*Ask{}, []*Ask{}
	if v.All {
		return out, v.all(d, out)
	}
	for _, e := range v.Since {
		if _, mail := e.After.(*Message); mail || e.Actor != c.Actor {
			if err := v.note(d, out, e); err != nil {
				return nil, err
			}
		}
		if out.More {
			break
		}
		out.Until = e.Seq
	}
	return out, nil
}

// all gathers everything that concerns the caller now.
func (v *News) all(d *draft, out *NewsView) error {
	for t, err := range d.Tasks(TaskQuery{Index: IndexOwner, Key: d.me}) {
		if err != nil {
			return err
		}
		if t.Kind == KindInternal {
			continue
		}
		if len(out.Tasks) == v.Most {
			out.Left.Tasks++
		} else if err := v.add(d, out, &out.Tasks, t.ID); err != nil {
			return err
		}
	}
	for t, err := range d.Tasks(TaskQuery{Index: IndexReady}) {
		if err != nil {
			return err
		}
		if len(out.Ready) == v.Most {
			break
		}
		if err := v.add(d, out, &out.Ready, t.ID); err != nil {
			return err
		}
	}
	for m, err := range d.Unread(d.me) {
		if err != nil {
			return err
		}
		if len(out.Messages) == v.Most {
			break
		}
		out.Messages = append(out.Messages, viewMessage(m))
	}
	for a, err := range d.OpenAsks() {
		if err != nil {
			return err
		}
		awaited, err := d.awaited(a)
		if err != nil {
			return err
		}
		if awaited {
			out.Asks = append(out.Asks, a)
		}
	}
	ready, err := d.Count(IndexReady, "")
	if err != nil {
		return err
	}
	unread, err := d.Count(IndexUnread, prefixKey(d.me))
	out.Left.Ready, out.Left.Messages = ready-len(out.Ready), unread-len(out.Messages)
	out.More = out.Left != Left{}
	return err
}

// note adds what one event means for the caller.
func (v *News) note(d *draft, out *NewsView, e Event) error {
	switch after := e.After.(type) {
	case *Task:
		before, _ := e.Before.(*Task)
		return v.task(d, out, before, after)
	case *Message:
		m, err := d.Message(after.ID)
		if err == nil && m != nil && m.To == d.me && m.ReadAt == nil && m.Dead == "" && m.N > v.Unseen {
			tell(v, out, &out.Messages, viewMessage(m), func(o *MessageView) bool { return o.ID == m.ID })
		}
		return err
	case *Ask:
		a, err := d.Ask(after.ID)
		if err != nil || a == nil {
			return err
		}
		awaited, err := d.awaited(a)
		same := func(o *Ask) bool { return o.ID == after.ID }
		switch {
		case err != nil:
			return err
		case awaited:
			tell(v, out, &out.Asks, a, same)
		case a.From == d.me && a.State != AskOpen:
			tell(v, out, &out.Answers, a, same)
		}
	case *Comment:
		t, err := d.Task(after.Task)
		if err == nil && t != nil && t.Owner == d.me {
			err = v.add(d, out, &out.Tasks, t.ID)
		}
		return err
	}
	return nil
}

// task adds a task that is the caller's, was, or could be.
func (v *News) task(d *draft, out *NewsView, before, after *Task) error {
	now, err := d.Task(after.ID)
	if err != nil || now == nil || now.Kind == KindInternal {
		return err
	}
	switch {
	case now.Owner == d.me && now.Status != Deleted:
		return v.add(d, out, &out.Tasks, now.ID)
	case now.Owner == "" && now.Ready():
		return v.add(d, out, &out.Ready, now.ID)
	case before != nil && before.Owner == d.me:
		tell(v, out, &out.Lost, now.ID, func(id TaskID) bool { return id == now.ID })
	}
	return nil
}

// tell adds something to a list of the answer, once, if there is room.
func tell[T any](v *News, out *NewsView, list *[]T, item T, same func(T) bool) {
	switch {
	case slices.ContainsFunc(*list, same):
	case len(*list) == v.Most:
		out.More = true
	default:
		*list = append(*list, item)
	}
}

// add adds a task to a list of the answer, once, if there is room.
func (v *News) add(d *draft, out *NewsView, list *[]*TaskView, id TaskID) error {
	view, err := d.viewTask(id)
	if err == nil {
		tell(v, out, list, view, func(t *TaskView) bool { return t.ID == id })
	}
	return err
}
