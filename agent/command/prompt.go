package command

import (
	"fmt"
	"os"
	"strings"

	"cadre"
	"cadre/agent"
	"cadre/internal/quote"
)

// prompt is what a program is told in one turn: who it is, where it does not know yet;
// its task; its mail.
func prompt(s agent.Spec, t *cadre.TaskView, mail []*cadre.Message, first bool) string {
	var parts []string
	if first {
		parts = append(parts, fmt.Sprintf("You are %s, a member of the team %s, which shares one list of tasks. Its lead is %s.", s.Member.Name, s.Scope, cadre.LeadName))
		if s.Member.Prompt != "" {
			parts = append(parts, s.Member.Prompt)
		}
		self, err := os.Executable()
		if err != nil {
			self = "cadre"
		}
		parts = append(parts, `In your shell the command cadre (`+self+`) knows who you are: "cadre task list", "cadre task show ID", "cadre task comment ID TEXT", `+
			`"cadre task add SUBJECT -d DESCRIPTION", "cadre member list", "cadre msg send NAME TEXT", "cadre ask for question TEXT". "cadre --help" says more.`)
	}
	if t != nil {
		parts = append(parts, taskText(t))
	}
	if len(mail) > 0 {
		lines := []string{"Mail for you:"}
		for _, m := range mail {
			lines = append(lines, fmt.Sprintf("From %s, %s:", m.From, m.SentAt.UTC().Format("15:04")), quoted(m.Text))
		}
		parts = append(parts, strings.Join(lines, "\n"))
	}
	if t == nil {
		parts = append(parts, `You have no task now. What you say last goes to the lead if the lead asked; to answer anybody else, use "cadre msg send NAME TEXT".`)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// quoted marks what others wrote: it is something to read, and no part of the task.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(quote.Text(text)), "\n", "\n> ")
}

func taskText(t *cadre.TaskView) string {
	parts := []string{fmt.Sprintf("Your task is task %s: %s", t.ID, t.Subject)}
	if t.Description != "" {
		parts = append(parts, t.Description)
	}
	if t.Run != "" {
		parts = append(parts, "The command that belongs to it: "+t.Run)
	}
	if len(t.Paths) > 0 {
		parts = append(parts, "The files it is about: "+strings.Join(t.Paths, ", "))
	}
	for _, c := range t.Comments {
		parts = append(parts, fmt.Sprintf("Comment by %s:\n%s", c.Author, quoted(c.Content)))
	}
	if t.Attempts > 0 && t.Result != nil {
		parts = append(parts, fmt.Sprintf("It was tried before, %d times. What came of the last attempt:\n%s", t.Attempts, quoted(t.Result.Summary)))
	}
	if t.Status == cadre.Pending {
		return strings.Join(append(parts, "It may be started only once its plan is approved. Change nothing now. Look at what there is, and say as your last message what you are going to do: that is the plan."), "\n\n")
	}
	return strings.Join(append(parts, "What you say last is kept as the task's result: what you did, what came out of it, which files you changed. "+
		"If it cannot be done, begin with \""+gaveUp+"\" and say why."), "\n\n")
}
