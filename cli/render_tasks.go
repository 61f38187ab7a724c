package cli

import (
	"slices"
	"strings"

	"cadre"
)

// taskList prints tasks in a table, each under its parent.
func (pg *page) taskList(tasks []*cadre.TaskView) {
	if len(tasks) == 0 {
		next := pg.here(`cadre task add "what is to be done"`)
		if v, ok := pg.verb.(*cadre.TaskList); !ok || !v.All {
			next = pg.here("cadre task list --all") + ", or " + next
		}
		pg.talk("no tasks to show in %s\n  try: %s", pg.scope, next)
		return
	}
	t := newTable(">ID", "STATE", "OWNER", "PRIO", "WAITS FOR", "FLAGS", ">AGE", "SUBJECT")
	for _, row := range underParents(tasks) {
		v := row.task
		t.add(text(string(v.ID)), taskState(v.State), text(v.Owner), priorityWord(v.Priority), faint(pg.few(v.WaitingOn)),
			cell{join(v.Flags), yellow}, faint(pg.age(v.UpdatedAt)), text(row.indent+v.Subject))
	}
	t.print(pg)
}

// few lists ids: on a terminal the first three, and how many more there are.
func (pg *page) few(ids []cadre.TaskID) string {
	if pg.cols > 0 && len(ids) > 3 {
		return join(ids[:3]) + " +" + itoa(len(ids)-3)
	}
	return join(ids)
}

// listed is a task in a list, and how far in it stands.
type listed struct {
	task   *cadre.TaskView
	indent string
}

// underParents puts every task below its parent, where that is in the list too.
func underParents(tasks []*cadre.TaskView) []listed {
	if !slices.ContainsFunc(tasks, func(t *cadre.TaskView) bool { return t.Parent != "" }) {
		out := make([]listed, len(tasks))
		for i, t := range tasks {
			out[i].task = t
		}
		return out
	}
	known := make(map[cadre.TaskID]bool, len(tasks))
	for _, t := range tasks {
		known[t.ID] = true
	}
	children := map[cadre.TaskID][]*cadre.TaskView{}
	for _, t := range tasks {
		if t.Parent != "" && t.Parent != t.ID && known[t.Parent] {
			children[t.Parent] = append(children[t.Parent], t)
		}
	}
	out := make([]listed, 0, len(tasks))
	done := make(map[cadre.TaskID]bool, len(tasks))
	var add func(t *cadre.TaskView, depth int)
	add = func(t *cadre.TaskView, depth int) {
		if done[t.ID] {
			return
		}
		done[t.ID] = true
		indent := ""
		if depth > 0 {
			indent = strings.Repeat("  ", min(depth, 8)-1) + "└ "
		}
		out = append(out, listed{t, indent})
		for _, c := range children[t.ID] {
			add(c, depth+1)
		}
	}
	for _, t := range tasks {
		if t.Parent == "" || !known[t.Parent] {
			add(t, 0)
		}
	}
	for _, t := range tasks { // parents that form a circle would be left out
		add(t, 0)
	}
	return out
}
