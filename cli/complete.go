package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
	"cadre/internal/termtext"
)

// completeArgs offers what an argument could be: one of a few words, ids of tasks,
// messages and asks, names of members and teams. Whatever goes wrong, nothing is offered.
func (p *program) completeArgs(c *command) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		places, _ := split(c.fields)
		if len(places) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		i := min(len(args), len(places)-1)
		if len(args) > i && !places[i].rest {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		place := places[i].place
		if place == "FILE" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if place == "DIR" {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		if known := places[i].known; known != nil {
			return known, cobra.ShellCompDirectiveNoFileComp
		}
		noun, _, _ := strings.Cut(c.verb.Name, " ")
		return p.offers(cmd.Context(), noun, place), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag offers what a flag can be, where that is known.
func completeFlag(cmd *cobra.Command, name string, known []string) {
	if known == nil {
		return
	}
	if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // it has that flag, and only once
	}
}

// completeNamed offers what there is of what a flag names: tasks, members or teams.
func (p *program) completeNamed(cmd *cobra.Command, flag, place string) {
	if place == "" {
		return
	}
	offer := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return p.offers(cmd.Context(), "", place), cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err) // it has that flag, and only once
	}
}

// names says what a flag names, as the place of an argument does; empty for nothing
// that there is a list of.
func (f field) names() string {
	switch f.value.Interface().(type) {
	case cadre.TaskID, []cadre.TaskID:
		return "ID"
	}
	if f.name == "owner" || f.name == "by" {
		return "NAME"
	}
	return ""
}

// offers lists values with a word about each.
func (p *program) offers(ctx context.Context, noun, place string) []string {
	var name string
	var verb any
	switch {
	case place == "TEAM":
		name, verb = "team list", &coord.TeamList{All: true}
	case place == "NAME" || place == "TO":
		name, verb = "member list", &cadre.MemberList{}
	case place == "ID" && noun == "msg":
		name, verb = "msg inbox", &cadre.MsgInbox{}
	case place == "ID" && noun == "ask":
		name, verb = "ask list", &cadre.AskList{}
	case place == "ID":
		name, verb = "task list", &cadre.TaskList{Open: true, Limit: 200}
	default:
		return nil
	}
	s, err := p.session(ctx, verb)
	if err != nil {
		return nil
	}
	answer, err := s.Do(ctx, name, verb)
	if err != nil {
		return nil
	}
	return offersOf(answer)
}

func offersOf(answer any) []string {
	offer := func(id, about string) string { return line(id) + "\t" + termtext.Cut(line(about), 60) }
	switch v := answer.(type) {
	case []*coord.TeamLine:
		return each(v, func(l *coord.TeamLine) string { return offer(string(l.Scope), openCount(l.Tasks)) })
	case []*cadre.MemberView:
		return each(v, func(m *cadre.MemberView) string { return offer(m.Name, string(m.Role)) })
	case []*cadre.MessageView:
		return each(v, func(m *cadre.MessageView) string { return offer(string(m.ID), m.From+": "+m.Summary) })
	case []*cadre.Ask:
		return each(v, func(a *cadre.Ask) string { return offer(string(a.ID), a.Text) })
	case []*cadre.TaskView:
		return each(v, func(t *cadre.TaskView) string { return offer(string(t.ID), t.Subject) })
	}
	return nil
}
