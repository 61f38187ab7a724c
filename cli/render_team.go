package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cadre"
	"cadre/coord"
)

// teamName prints the name alone, so that a script can take it as it is.
func (pg *page) teamName(v *cadre.TeamView) {
	pg.printf("%s\n", line(string(v.Scope)))
	pg.hint("you lead it, and work on its list from here\n  try: cadre task add \"what is to be done\"")
}

func (pg *page) teamList(lines []*coord.TeamLine) {
	if len(lines) == 0 {
		if n := pg.archived(); n > 0 {
			pg.talk("no team or list is in use; %d in the archive\n  try: cadre team list --all", n)
			return
		}
		pg.talk("there are no teams or lists yet\n  try: cadre team create my-team, or with Claude Code's erased ones: cadre team list --all")
		return
	}
	t := newTable("", "TEAM", "", ">MEMBERS", ">OPEN", ">RUNNING", ">DONE", ">ASKS", "ABOUT")
	for _, l := range lines {
		mark, where, about := cell{}, cell{}, ""
		if l.Current {
			mark = cell{"›", cyan}
		}
		switch {
		case l.Where != cadre.Live:
			where = cell{"· " + line(string(l.Where)), dim}
		case l.Of != "":
			where = cell{"list of the members of " + line(string(l.Of)), dim}
		case l.Team == nil:
			where = cell{"list", dim}
		case l.Team.NoLead:
			where = cell{"! dormant", yellow}
		}
		if l.Team != nil {
			if about = l.Team.Label; about == "" {
				about = l.Team.Description
			}
		}
		open := l.Tasks[cadre.Pending] + l.Tasks[cadre.InProgress]
		t.add(mark, text(string(l.Scope)), where, number(l.Members), number(open), number(l.Tasks[cadre.InProgress]),
			number(l.Tasks[cadre.Completed]), number(l.Asks), text(about))
	}
	t.print(pg)
}

// number is a cell with a count; none is shown faintly.
func number(n int) cell {
	if n == 0 {
		return cell{"0", dim}
	}
	return cell{itoa(n), plain}
}

func (pg *page) team(v *cadre.TeamView) {
	pg.teamHead(v)
	if len(v.Members) > 0 {
		pg.printf("\n")
		pg.memberTable(v.Members)
	}
}

// teamHead says what a team is and how far its work is.
func (pg *page) teamHead(v *cadre.TeamView) {
	title := line(string(v.Scope))
	if v.Team != nil && v.Label != "" {
		title += "  " + line(v.Label)
	}
	pg.head(title)
	if v.Team != nil {
		if v.Description != "" {
			pg.block("  ", v.Description)
		}
		if v.NoLead {
			pg.printf("  %s\n", pg.paint(yellow, "! its lead is gone: cadre team take "+line(string(v.Scope))))
		}
		for _, rule := range settingsText(v.Settings) {
			pg.printf("  %s\n", rule)
		}
	}
	pg.printf("  %s", openCount(v.Tasks))
	if v.Asks > 0 {
		pg.printf(", %s", pg.paint(yellow, count(v.Asks, "ask")+" waiting"))
	}
	if v.Team != nil {
		pg.printf(", made %s", pg.ago(v.CreatedAt))
		if !v.NoLead && v.Creator.Name != "" { // whoever leads it counts as its creator
			pg.printf(", led by %s", line(v.Creator.String()))
		}
	}
	pg.printf("\n")
	if v.Active != nil && v.Active.Active {
		pg.printf("  %s\n", pg.paint(dim, "at work: "+line(strings.Join(v.Active.Evidence, "; "))))
	} else if v.Active != nil && len(v.Active.Evidence) > 0 {
		pg.printf("  %s\n", pg.paint(yellow, "! nobody seems to be at work: "+line(strings.Join(v.Active.Evidence, "; "))))
	}
	if v.Second != "" {
		pg.printf("  %s\n", pg.paint(dim, "its members' clients keep their tasks in a second list: cadre task list --team "+line(string(v.Second))))
	}
	if v.Of != "" {
		pg.printf("  %s\n", pg.paint(dim, "the list in which the members of "+line(string(v.Of))+" keep their tasks: cadre team show "+line(string(v.Of))))
	}
	if v.Rebuilt && len(v.Gaps) == 0 {
		pg.printf("  %s\n", pg.paint(dim, "brought back from Claude Code's transcripts; nothing in them says that anything is missing"))
	}
	for _, gap := range v.Gaps {
		pg.printf("  %s\n", pg.paint(yellow, "! not known: "+line(gap)))
	}
}

// settingsText says the rules that a team chose.
func settingsText(s cadre.TeamSettings) []string {
	var rules []string
	if s.LeadCreates {
		rules = append(rules, "only the lead creates tasks")
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Policies)) {
		p := s.Policies[kind]
		then := map[cadre.PolicyAnswer]string{cadre.PolicyApprove: "is approved", cadre.PolicyDeny: "is denied"}[p.Answer]
		if kind == cadre.AskQuestion {
			then = "is over"
		}
		if p.Answer == cadre.PolicyWait {
			rules = append(rules, "a "+line(string(kind))+" waits for an answer for as long as it takes")
		} else {
			rules = append(rules, "a "+line(string(kind))+" that nobody answers "+then+" after "+shortDuration(p.After))
		}
	}
	if s.Dispatched() {
		rules = append(rules, "the supervisor hands out work")
	}
	for _, backend := range slices.Sorted(maps.Keys(s.Limits)) {
		of := "members run"
		if backend != "" {
			of = line(string(backend)) + " members run"
		}
		rules = append(rules, "at most "+itoa(s.Limits[backend])+" "+of+" at the same time")
	}
	for _, event := range slices.Sorted(maps.Keys(s.Hooks)) {
		for _, h := range s.Hooks[event] {
			rules = append(rules, "a "+line(event)+" hook may refuse: "+line(h.Command))
		}
	}
	if s.ApprovalToken != "" {
		rules = append(rules, "approvals count only with the operator token "+line(s.ApprovalToken))
	}
	return rules
}

func (pg *page) teamDeleted(v *coord.Deleted) {
	if v.Where == cadre.Gone {
		pg.printf("%s was erased\n", line(string(v.Scope)))
		return
	}
	pg.printf("%s was archived\n", line(string(v.Scope)))
	pg.hint("to bring it back: cadre team restore %s", v.Scope)
}

func (pg *page) memberList(members []*cadre.MemberView) {
	if len(members) == 0 {
		pg.talk("%s has no members\n  try: cadre team create my-team", pg.scope)
		return
	}
	pg.memberTable(members)
}

func (pg *page) memberTable(members []*cadre.MemberView) {
	t := newTable("MEMBER", "ROLE", "STATE", ">AGE", "TASKS", ">UNREAD", "EVIDENCE")
	for _, m := range members {
		unread := cell{}
		if m.Unread > 0 {
			unread = cell{itoa(m.Unread), yellow}
		}
		t.add(text(m.Name), faint(string(m.Role)), memberState(m.Member.State), faint(pg.age(m.Since)), text(join(m.Tasks)), unread, faint(m.Evidence))
	}
	t.print(pg)
}

// joined shows a new member, and its token, which nobody can show again.
func (pg *page) joined(j *coord.Joined) {
	pg.memberLine(j.MemberView)
	if j.Token != "" {
		pg.printf("CADRE_TOKEN=%s\n", j.Token)
		pg.hint("it is shown only this once; give it to nobody but %s", line(j.Name))
	}
}

func (pg *page) memberLine(m *cadre.MemberView) {
	state := memberState(m.Member.State)
	pg.printf("%s  %s  %s\n", line(m.AgentID), pg.paint(state.style, state.text), line(string(m.Role)))
}

func (pg *page) member(m *cadre.MemberView) {
	pg.head(line(m.AgentID))
	state := memberState(m.Member.State)
	list := []property{{"state", state}}
	tree := cadre.Worktree{}
	if m.Worktree != nil {
		tree = *m.Worktree
	}
	for _, r := range [][2]string{
		{"because", m.Evidence},
		{"since", pg.moment(&m.Since)},
		{"role", string(m.Role)},
		{"about", m.Description},
		{"agent type", m.AgentType},
		{"model", m.Model},
		{"mode", m.Mode},
		{"runs by", string(m.Backend)},
		{"command", m.Run},
		{"host", m.Host},
		{"folder", m.CWD},
		{"worktree", tree.Path},
		{"branch", tree.Branch},
		{"begun at", tree.Base},
		{"asked for", asked(m.Requested)},
		{"process", process(m.Process)},
		{"session", m.Session},
		{"colour", m.Color},
		{"tasks", join(m.Tasks)},
		{"joined", pg.moment(&m.JoinedAt)},
	} {
		list = append(list, property{r[0], text(r[1])})
	}
	if m.PlanMode {
		list = append(list, property{"plan", text("starts tasks only with an approved plan")})
	}
	if m.Unread > 0 {
		list = append(list, property{"unread", cell{count(m.Unread, "message"), yellow}})
	}
	if m.Spent != nil {
		spent := fmt.Sprintf("%d in, %d out, %d read from and %d written to the cache", m.Spent.Input, m.Spent.Output, m.Spent.CacheRead, m.Spent.CacheWrite)
		list = append(list, property{"tokens", text(spent)})
	}
	pg.properties(list)
	if m.Prompt != "" {
		pg.printf("\n")
		pg.block("  ", m.Prompt)
	}
}

// asked are the settings that a member was spawned with, as they were given.
func asked(r *cadre.Settings) string {
	if r == nil {
		return ""
	}
	var parts []string
	for _, s := range [][2]string{{"backend", string(r.Backend)}, {"model", r.Model}, {"mode", r.Mode}, {"command", r.Run}, {"folder", r.CWD}, {"isolation", string(r.Isolation)}} {
		if s[1] != "" {
			parts = append(parts, s[0]+" "+s[1])
		}
	}
	return strings.Join(parts, ", ")
}

func process(p *cadre.Process) string {
	if p == nil {
		return ""
	}
	return itoa(p.PID)
}
