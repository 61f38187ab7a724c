package cli

import (
	"slices"
	"strings"

	"cadre"
	"cadre/internal/termtext"
)

// why explains what a task waits for: the chain, then who could move it.
func (pg *page) why(w *cadre.Why) {
	pg.taskLine(w.Task)
	if len(w.Waits) == 0 {
		pg.printf("%s\n", pg.whyNot(w.Task))
		return
	}
	pg.printf("\n")
	pg.head("it waits for")
	newWhyTree(w).print(pg, w.Task.ID, 1)
	pg.printf("\n")
	pg.head("to move it")
	t := newTable("", "", "")
	t.indent = "  "
	for _, f := range w.Free {
		t.add(text(string(f.ID)), text("by "+f.Who), cell{line(pg.here(f.Next)), cyan})
	}
	t.print(pg)
}

// whyTree is what holds a task up: each unfinished blocker below the first that it
// holds up, and the same in the other direction.
type whyTree struct {
	below map[cadre.TaskID][]cadre.WhyWait
	above map[cadre.TaskID]cadre.TaskID
}

func newWhyTree(w *cadre.Why) whyTree {
	tree := whyTree{map[cadre.TaskID][]cadre.WhyWait{}, map[cadre.TaskID]cadre.TaskID{}}
	for _, x := range w.Waits {
		tree.below[x.For] = append(tree.below[x.For], x)
		tree.above[x.ID] = x.For
	}
	return tree
}

// print shows what stands below a task. What else a blocker waits for, and stands
// below another one, is said in words.
func (w whyTree) print(pg *page, of cadre.TaskID, depth int) {
	for _, x := range w.below[of] {
		state := taskState(x.State)
		state.text = termtext.Pad(state.text, len("* blocked"), false)
		indent := strings.Repeat("  ", depth)
		tail := ""
		if x.Owner != "" {
			tail = "  " + line(x.Owner)
		}
		if also := slices.DeleteFunc(slices.Clone(x.WaitingOn), func(id cadre.TaskID) bool { return w.above[id] == x.ID }); len(also) > 0 {
			tail += "  waits for " + pg.few(also)
		}
		used := len(indent) + len(x.ID) + termtext.Width(state.text+tail) + 4
		pg.printf("%s%s  %s  %s%s\n", indent, line(string(x.ID)), pg.paint(state.style, state.text), pg.fit(line(x.Subject), used), pg.paint(dim, tail))
		w.print(pg, x.ID, depth+1)
	}
}

// whyNot says how a task stands that waits for no other.
func (pg *page) whyNot(t *cadre.TaskView) string {
	switch t.State {
	case cadre.TaskDoneState:
		return "it is done"
	case cadre.TaskGone:
		return "it was removed; to bring it back: " + pg.here("cadre task restore "+line(string(t.ID)))
	case cadre.TaskRunning:
		return "it waits for nothing: " + line(t.Owner) + " works on it"
	case cadre.TaskWaiting:
		return "it waits for a person: " + pg.here("cadre ask list") + ", or do it yourself: " + pg.here("cadre task start "+line(string(t.ID)))
	case cadre.TaskStalled:
		return line(t.Owner) + " works on it but was not heard of; to take it back: " + pg.here("cadre task release "+line(string(t.ID)))
	}
	if t.Owner != "" {
		return "it waits for nothing but " + line(t.Owner) + " to start it"
	}
	return "it waits for nothing: " + pg.here("cadre task start "+line(string(t.ID)))
}

// graph prints the plan in waves, or as a Mermaid diagram.
func (pg *page) graph(g *cadre.Graph) {
	if g.Mermaid {
		pg.mermaid(g)
		return
	}
	if len(g.Tasks) == 0 {
		if v, ok := pg.verb.(*cadre.TaskGraph); ok && v.All {
			pg.talk("no tasks in %s\n  try: %s", pg.scope, pg.here(`cadre task add "what is to be done"`))
			return
		}
		pg.talk("no open tasks in %s\n  try: %s", pg.scope, pg.here("cadre task graph --all"))
		return
	}
	byID := map[cadre.TaskID]*cadre.TaskView{}
	waved := map[cadre.TaskID]bool{}
	for _, t := range g.Tasks {
		byID[t.ID] = t
	}
	t := newTable("WAVE", "", ">ID", "STATE", "OWNER", "AFTER", "SUBJECT")
	row := func(wave string, v *cadre.TaskView) {
		mark := cell{}
		if slices.Contains(g.Critical, v.ID) {
			mark = cell{"*", yellow}
		}
		shown := slices.DeleteFunc(slices.Clone(v.BlockedBy), func(id cadre.TaskID) bool { return byID[id] == nil })
		after := ""
		if len(shown) > 0 {
			after = "← " + join(shown)
		}
		t.add(text(wave), mark, text(string(v.ID)), taskState(v.State), text(v.Owner), faint(after), text(v.Subject))
	}
	for i, wave := range g.Waves {
		name := itoa(i + 1)
		for _, id := range wave {
			waved[id] = true
			row(name, byID[id])
			name = ""
		}
	}
	for _, v := range g.Tasks {
		if !waved[v.ID] {
			row("", v)
		}
	}
	t.print(pg)
	if len(g.Critical) > 1 {
		ids := each(g.Critical, func(id cadre.TaskID) string { return line(string(id)) })
		pg.printf("%s longest chain, %s: %s\n", pg.paint(yellow, "*"), count(len(ids), "step"), strings.Join(ids, " → "))
	}
}

// mermaid prints the plan in the language of the Mermaid diagrams.
func (pg *page) mermaid(g *cadre.Graph) {
	names := map[cadre.TaskID]string{}
	pg.printf("flowchart LR\n")
	for i, t := range g.Tasks {
		names[t.ID] = "t" + itoa(i+1)
		if t.ID.Numeric() {
			names[t.ID] = "task" + string(t.ID)
		}
		pg.printf("  %s[\"%s\"]\n", names[t.ID], mermaidText(string(t.ID)+" "+t.Subject))
	}
	for _, t := range g.Tasks {
		for _, by := range t.BlockedBy {
			if names[by] != "" {
				pg.printf("  %s --> %s\n", names[by], names[t.ID])
			}
		}
	}
	if len(g.Critical) > 1 {
		ids := each(g.Critical, func(id cadre.TaskID) string { return names[id] })
		pg.printf("  classDef critical stroke-width:3px\n  class %s critical\n", strings.Join(ids, ","))
	}
}

// mermaidText writes text inside a quoted label. What could end the label or
// mean markup stands as a character number.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range line(s) {
		switch r {
		case '"', '#', '<', '>', '&', '`', '\\', '*', '_', '[', ']', '{', '}', '|', ';':
			b.WriteString("#" + itoa(int(r)) + ";")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
