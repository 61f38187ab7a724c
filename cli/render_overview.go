package cli

import (
	"strings"

	"cadre"
	"cadre/coord"
)

// overview prints the one screen for someone who typed nothing but the name:
// what needs them, who does what, what changed, what else there is, what next.
func (pg *page) overview(v *coord.OverviewView) {
	if v.Fresh {
		pg.welcome()
		return
	}
	if v.Head.Seq == 0 && v.Scope == cadre.DefaultScope {
		pg.printf("This folder works on no team or list yet.\n")
	} else {
		pg.teamHead(v.Team)
	}
	pg.needs(v.Needs)
	pg.atWork(v)
	pg.ready(v.Ready)
	pg.news(v)
	pg.others(v.Others)
	if len(v.Next) > 0 {
		pg.part("next")
		for _, cmd := range v.Next {
			pg.printf("  %s\n", pg.paint(cyan, pg.here(cmd)))
		}
	}
}

// welcome is the screen of a machine where nothing was ever done.
func (pg *page) welcome() {
	pg.printf("Nothing here yet. Cadre keeps task lists, teams and mail for agents and people.\n\n")
	t := newTable("", "")
	t.indent = "  "
	for _, l := range [][2]string{
		{"cadre team create my-team", "make a team, with yourself as its lead"},
		{`cadre task add "what is to be done"`, "give it work"},
		{"cadre task next --claim", "take what is ready"},
		{"cadre --help", "everything else"},
	} {
		t.add(cell{l[0], cyan}, cell{text: l[1]})
	}
	t.print(pg)
}

// part begins a part of the screen.
func (pg *page) part(title string) {
	pg.printf("\n")
	pg.head(title)
}

func (pg *page) needs(needs []coord.Need) {
	if len(needs) == 0 {
		return
	}
	pg.part("needs you")
	t := newTable("", ">", "", "")
	t.indent = "  "
	for _, n := range needs {
		what := pg.brief(n.What)
		if n.Message != nil {
			what = "message from " + line(n.Message.From) + ": " + pg.gist(n.Message)
		}
		t.add(cell{"!", yellow}, faint(pg.age(n.Since)), cell{line(pg.here(n.Command)), cyan}, cell{text: what})
	}
	t.print(pg)
}

// atWork lists the members with what they do, and what runs besides.
func (pg *page) atWork(v *coord.OverviewView) {
	t := newTable("", "", ">", "", "")
	t.indent = "  "
	shown := map[cadre.TaskID]bool{}
	for _, m := range v.Members {
		does := pg.workOf(m.Name, v.Running, shown)
		if does == "" {
			does = line(m.Evidence)
		}
		t.add(text(m.Name), memberState(m.Member.State), faint(pg.age(m.Since)), cell{text: unreadText(m.Unread), style: yellow}, cell{text: does})
	}
	for _, task := range v.Running {
		if !shown[task.ID] {
			t.add(text(task.Owner), taskState(task.State), faint(pg.age(task.UpdatedAt)), cell{}, text(string(task.ID)+" "+task.Subject))
		}
	}
	if len(t.rows) > 0 {
		pg.part("who does what")
		t.print(pg)
	}
	if v.Digest != nil {
		pg.printf("  %s\n", pg.paint(dim, line(v.Digest.Summary)+": "+pg.here("cadre msg inbox")))
	}
}

// workOf names the running tasks of a member.
func (pg *page) workOf(name string, running []*cadre.TaskView, shown map[cadre.TaskID]bool) string {
	var words []string
	for _, t := range running {
		if t.Owner == name {
			shown[t.ID] = true
			words = append(words, line(string(t.ID)+" "+t.Subject))
		}
	}
	return strings.Join(words, "; ")
}

func unreadText(n int) string {
	if n == 0 {
		return ""
	}
	return itoa(n) + " unread"
}

func (pg *page) ready(tasks []*cadre.TaskView) {
	if len(tasks) == 0 {
		return
	}
	pg.part("ready")
	t := newTable(">", "", ">", "")
	t.indent = "  "
	for _, v := range tasks {
		t.add(text(string(v.ID)), text(v.Owner), faint(pg.age(v.UpdatedAt)), text(v.Subject))
	}
	t.print(pg)
}

func (pg *page) news(v *coord.OverviewView) {
	if len(v.Changes) == 0 {
		return
	}
	pg.part("since you last looked")
	if v.More > 0 {
		pg.printf("  %s\n", pg.paint(dim, itoa(v.More)+" earlier: "+pg.here("cadre log --limit "+itoa(v.More+len(v.Changes)))))
	}
	t := newTable(">", "", "", "")
	t.indent = "  "
	for _, e := range v.Changes {
		t.add(faint(pg.age(e.Time)), text(pg.who(e.Actor)), text(pg.objectText(e.Object)), cell{text: pg.describe(e)})
	}
	t.print(pg)
}

func (pg *page) others(lines []*coord.TeamLine) {
	if len(lines) == 0 {
		return
	}
	pg.part("other teams and lists")
	const most = 6
	t := newTable("", "", "")
	t.indent = "  "
	for _, l := range lines[:min(most, len(lines))] {
		note := cell{}
		switch {
		case l.Asks > 0:
			note = cell{count(l.Asks, "ask"), yellow}
		case l.Where != cadre.Live:
			note = cell{"erased: cadre team restore " + line(string(l.Scope)), dim}
		case l.Of != "":
			note = cell{"of the members of " + line(string(l.Of)), dim}
		case l.Team != nil && l.Team.Label != "":
			note = cell{line(l.Team.Label), dim}
		}
		t.add(text(string(l.Scope)), cell{text: openCount(l.Tasks)}, note)
	}
	t.print(pg)
	if len(lines) > most {
		pg.printf("  %s\n", pg.paint(dim, itoa(len(lines)-most)+" more: cadre team list --all"))
	}
}
