package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
)

// ran shows what came of a run, or what would.
func (pg *page) ran(answer any) {
	switch v := answer.(type) {
	case *coord.RunReport:
		pg.runReport(v)
	case *coord.RunPlan:
		pg.runPlan(v)
	case json.RawMessage:
		pg.out.Write(v)
	}
}

// runReport shows who did what, and what is left.
func (pg *page) runReport(r *coord.RunReport) {
	t := newTable("TASK", "STATE", "BY", ">TRIES", ">TOOK", "RESULT")
	for _, task := range r.Tasks {
		tries, took := "", ""
		if n := len(task.Tries); n > 0 {
			tries, took = itoa(n), seconds(task.Took())
		}
		t.add(text(taskName(task.TaskView)), taskState(task.State), text(lastBy(task)), text(tries), text(took), text(resultLine(task.TaskView)))
	}
	t.print(pg)
	pg.printf("\n%s\n", outcomeLine(pg, r))
	if r.Next != "" {
		pg.talk("  try: %s", r.Next)
	}
}

// outcomeLine is the report in one line.
func outcomeLine(pg *page, r *coord.RunReport) string {
	done := 0
	for _, t := range r.Tasks {
		if t.State == cadre.TaskDoneState {
			done++
		}
	}
	words, look := map[coord.Outcome]string{
		coord.RunCompleted: "✓ completed", coord.RunFailed: "✗ failed", coord.RunNeedsPerson: "! needs a person",
		coord.RunTimeout: "✗ out of time", coord.RunInterrupted: "✗ interrupted",
	}[r.Outcome], red
	switch r.Outcome {
	case coord.RunCompleted:
		look = green
	case coord.RunNeedsPerson:
		look = yellow
	}
	return pg.paint(look, words) + ": " + itoa(done) + " of " + count(len(r.Tasks), "task") + " done by " +
		count(workers(r), "member") + " in " + seconds(r.Ended.Sub(r.Began)) + ", team " + line(string(r.Team))
}

// workers is how many members did something.
func workers(r *coord.RunReport) (n int) {
	for _, m := range r.Members {
		if m.Done+m.Failed > 0 {
			n++
		}
	}
	return n
}

func lastBy(t *coord.RunTask) string {
	if len(t.Tries) == 0 {
		return t.Owner
	}
	return t.Tries[len(t.Tries)-1].By
}

// taskName is what people call a task of a file: its key.
func taskName(t *cadre.TaskView) string {
	if t.Key != "" {
		return t.Key
	}
	return string(t.ID)
}

// resultLine is the last line of what a task left: for a command that is what it
// printed last.
func resultLine(t *cadre.TaskView) string {
	if t.Result == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(t.Result.Summary), "\n")
	return lines[len(lines)-1]
}

// runPlan shows what a run would do.
func (pg *page) runPlan(p *coord.RunPlan) {
	t := newTable(">STEP", "", "WHO", "TASK", "AFTER", "SUBJECT")
	step := 0
	for _, s := range p.Steps {
		mark, number := cell{}, ""
		if slices.Contains(p.Critical, s.Key) {
			mark = cell{"*", yellow}
		}
		if s.Step != step {
			step, number = s.Step, itoa(s.Step)
		}
		after, subject := "", line(s.Subject)
		if len(s.After) > 0 {
			after = "← " + join(s.After)
		}
		if s.Plan {
			subject += " (needs an approval first)"
		}
		who := text(s.Who)
		if s.Who == "" {
			who = cell{"nobody", red}
		}
		t.add(text(number), mark, who, text(s.Key), faint(after), cell{text: subject})
	}
	t.print(pg)
	if len(p.Critical) > 1 {
		pg.printf("%s longest chain, %s: %s\n", pg.paint(yellow, "*"), count(len(p.Critical), "step"), strings.Join(each(p.Critical, line), " → "))
	}
	for i, wave := range p.Waves {
		pg.printf("%s %s\n", pg.paint(dim, "wave "+itoa(i+1)+":"), join(wave))
	}
	if len(p.Done) > 0 {
		pg.printf("done before: %s\n", join(p.Done))
	}
	words := "would be made"
	if p.Exists {
		words = "is there already"
	}
	pg.printf("team %s %s; %s, %s, %s if each task takes one\n", line(p.Team), words, count(len(p.Members), "member"), count(len(p.Steps), "task"), count(step, "step"))
	pg.hint("nothing was done; to do it: cadre run %s", p.File)
}

// plainTime is a time of a report.
func plainTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
