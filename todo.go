package cadre

import "strings"

// TodoWrite replaces the caller's own small list. When everything in it is
// completed it is emptied.
type TodoWrite struct {
	Items []TodoItem `json:"todos" arg:"[TODO...]" help:"what to do, in order"`
}

// Decide replaces the list.
func (v *TodoWrite) Decide(s Snap, c Command) ([]Event, error) {
	d, err := look(s, c)
	if err != nil {
		return nil, err
	}
	if len(v.Items) > MaxTodos {
		return nil, refuse(RuleLimit, "%d todos were given, %d are allowed", len(v.Items), MaxTodos)
	}
	running, done := 0, 0
	for i, item := range v.Items {
		if strings.TrimSpace(item.Content) == "" || strings.TrimSpace(item.ActiveForm) == "" {
			return nil, refuse(RuleValue, "todo %d needs both a content and an active form", i+1)
		}
		if err := checkText("todo", item.Content+item.ActiveForm, MaxMetadata); err != nil {
			return nil, err
		}
		switch item.Status {
		case Pending:
		case InProgress:
			running++
		case Completed:
			done++
		default:
			return nil, refuse(RuleValue, "%q is not a todo's status: use pending, in_progress or completed", clip(string(item.Status), 40))
		}
	}
	if running > 1 {
		return nil, refuse(RuleValue, "%d todos are in progress: only one may be", running)
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	old, err := d.Todo(d.me)
	if err != nil {
		return nil, err
	}
	items := v.Items
	if done == len(items) {
		items = nil
	}
	var before Object
	if old != nil {
		before = old
	}
	if before == nil && len(items) == 0 {
		return nil, nil
	}
	d.put(before, &Todo{Owner: d.me, Items: items, UpdatedAt: d.now()})
	return d.finish()
}

// TodoView is a todo list, and a word of warning where one is due.
type TodoView struct {
	Owner   string     `json:"owner"`
	Items   []TodoItem `json:"todos"`
	Warning string     `json:"warning,omitempty"`
}

// Answer gives the list.
func (v *TodoWrite) Answer(s Snap, c Command, _ Receipt) (any, error) {
	return (&TodoShow{}).Look(s, c)
}

// TodoShow gives a todo list: the caller's own, or another's.
type TodoShow struct {
	Owner string `json:"owner,omitempty" arg:"[NAME]" help:"whose list; your own without"`
}

// Look reads the list.
func (v *TodoShow) Look(s Snap, c Command) (any, error) {
	d, err := look(s, c)
	if err != nil {
		return nil, err
	}
	owner := v.Owner
	if owner == "" {
		owner = d.me
	}
	todo, err := d.Todo(owner)
	if err != nil {
		return nil, err
	}
	view := &TodoView{Owner: owner, Items: []TodoItem{}}
	if todo == nil {
		return view, nil
	}
	view.Items = append(view.Items, todo.Items...)
	running := false
	for _, item := range todo.Items {
		running = running || item.Status == InProgress
	}
	if len(todo.Items) > 0 && !running {
		view.Warning = "nothing is in progress: while work goes on, exactly one todo should be"
	}
	return view, nil
}
