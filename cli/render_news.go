package cli

import (
	"cadre/coord"
)

// synced shows what changed for the caller, part by part.
func (pg *page) synced(v *coord.Synced) {
	if v.Empty() {
		pg.talk("nothing changed for %s in %s", line(v.You), pg.scope)
	}
	first := true
	part := func(n int, head string, show func()) {
		if n == 0 {
			return
		}
		if !first {
			pg.printf("\n")
		}
		first = false
		pg.printf("%s\n", pg.paint(bold, head))
		show()
	}
	part(len(v.Tasks), "yours", func() { pg.taskList(v.Tasks) })
	part(len(v.Lost), "no longer yours", func() { pg.printf("task %s\n", join(v.Lost)) })
	part(len(v.Ready), "ready for anyone", func() { pg.taskList(v.Ready) })
	part(len(v.Messages), "messages", func() { pg.inbox(v.Messages) })
	part(len(v.Asks), "waiting for your answer", func() { pg.askList(v.Asks) })
	part(len(v.Answers), "answered", func() { pg.askList(v.Answers) })
	for _, part := range []struct {
		n             int
		what, command string
	}{
		{v.Left.Tasks, "more of your tasks", "cadre task list --open --owner " + line(v.You)},
		{v.Left.Ready, "more that are ready", "cadre task ready"},
		{v.Left.Messages, "more messages", "cadre msg inbox"},
	} {
		if part.n > 0 {
			pg.talk("%d %s: %s", part.n, part.what, pg.here(part.command))
		}
	}
	if v.More && !v.Full {
		pg.talk("there is more; it comes with the cursor of this answer")
	}
	pg.hint("\nfor what changes from here on: %s", pg.here("cadre sync --cursor "+v.Cursor))
}
