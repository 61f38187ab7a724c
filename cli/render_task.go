package cli

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"cadre"
)

// added prints the id alone, so that a script can take it as it is.
func (pg *page) added(a *cadre.Added) {
	pg.printf("%s\n", line(string(a.ID)))
	if len(a.Similar) > 0 {
		pg.talk("cadre: open with the same subject: task %s", join(a.Similar))
	}
}

// changedTask says in one line how a task stands after a change.
func (pg *page) changedTask(answer any) {
	switch v := answer.(type) {
	case *cadre.Done:
		pg.taskLine(&v.TaskView)
		if len(v.Freed) > 0 {
			pg.printf("freed: %s\n", join(v.Freed))
		}
		if v.Next != nil {
			who := "you"
			if pg.as != "" {
				who = pg.as
			}
			pg.hint("next for %s: %s %s\n  try: %s", line(who), v.Next.ID, line(v.Next.Subject), line(pg.here("cadre task next --claim")))
		}
	case *cadre.TaskView:
		pg.taskLine(v)
	}
}

func (pg *page) taskLine(v *cadre.TaskView) {
	state := taskState(v.State)
	tail := ""
	if v.Owner != "" {
		tail += "  " + line(v.Owner)
	}
	if len(v.WaitingOn) > 0 {
		tail += "  waits for " + pg.few(v.WaitingOn)
	}
	used := len(v.ID) + len([]rune(state.text)) + len([]rune(tail)) + 4
	pg.printf("%s  %s  %s%s\n", line(string(v.ID)), pg.paint(state.style, state.text), pg.fit(line(v.Subject), used), pg.paint(dim, tail))
}

// task prints everything about one task.
func (pg *page) task(v *cadre.TaskView) {
	state := taskState(v.State)
	pg.printf("%s  %s\n", pg.paint(bold, line(string(v.ID))), pg.paint(bold, line(v.Subject)))
	var list []property
	row := func(name, value string) { list = append(list, property{name, cell{text: value}}) }
	list = append(list, property{"state", cell{state.text + statusNote(v), state.style}})
	row("owner", line(v.Owner))
	row("waits for", join(v.WaitingOn))
	row("blocked by", join(v.BlockedBy))
	row("blocks", join(v.Blocks))
	row("has to do with", join(v.References))
	row("part of", line(string(v.Parent)))
	row("kind", line(string(v.Kind)))
	row("priority", priorityText(v.Priority))
	row("key", line(v.Key))
	row("labels", join(v.Labels))
	row("paths", join(v.Paths))
	row("run", line(v.Run))
	row("active form", line(v.ActiveForm))
	row("plan", planText(v.Plan))
	if v.Attempts > 0 {
		row("attempts", itoa(v.Attempts))
	}
	row("flags", join(v.Flags))
	for _, k := range slices.Sorted(maps.Keys(v.Metadata)) {
		row("metadata "+line(k), line(jsonText(v.Metadata[k])))
	}
	row("author", line(v.Author))
	row("created", pg.moment(&v.CreatedAt))
	row("started", pg.moment(v.StartedAt))
	row("completed", pg.moment(v.CompletedAt))
	row("updated", pg.moment(&v.UpdatedAt))
	row("version", itoa(int(v.Version)))
	pg.properties(list)
	pg.taskTexts(v)
}

// taskTexts prints the longer parts of a task.
func (pg *page) taskTexts(v *cadre.TaskView) {
	if v.Description != "" {
		pg.printf("\n")
		pg.block("  ", v.Description)
	}
	if v.Result != nil {
		pg.printf("\n")
		pg.head("result")
		pg.block("  ", cmp.Or(v.Result.Summary, "(no words)"))
		if len(v.Result.Files) > 0 {
			pg.printf("  files: %s\n", join(v.Result.Files))
		}
		if v.Result.Commit != "" {
			pg.printf("  commit: %s\n", line(v.Result.Commit))
		}
	}
	if len(v.Comments) > 0 {
		pg.printf("\n")
		pg.head("comments")
	}
	for _, c := range v.Comments {
		pg.printf("  %s\n", pg.paint(dim, line(c.Author)+", "+pg.moment(&c.At)))
		pg.block("    ", c.Content)
	}
}

// statusNote adds the stored status where the derived state does not tell it.
func statusNote(v *cadre.TaskView) string {
	switch {
	case v.State == cadre.TaskWaiting:
		return " for a person (" + line(string(v.Status)) + ")"
	case v.State == cadre.TaskStalled:
		return " (" + line(string(v.Status)) + ")"
	}
	return ""
}

func priorityText(n int) string {
	word := priorityWord(n).text
	if word == "" || word == itoa(n) {
		return word
	}
	return word + " (" + itoa(n) + ")"
}

func planText(p *cadre.PlanGate) string {
	switch {
	case p == nil:
		return ""
	case p.ApprovedBy == "":
		return "must be approved before it can start"
	}
	return "approved by " + line(p.ApprovedBy)
}

// jsonText shows a JSON string without its quotes, anything else as it is.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// moment writes when something was, and how long ago.
func (pg *page) moment(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.In(pg.time.Location()).Format(time.DateTime) + " (" + pg.ago(*t) + ")"
}
