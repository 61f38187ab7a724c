package cli

import (
	"cadre"
	"cadre/coord"
	"cadre/internal/termtext"
)

// log prints one line an event.
func (pg *page) log(events []cadre.Event) {
	if len(events) == 0 {
		pg.talk("nothing to show of the log of %s", pg.scope)
		return
	}
	pg.eventTable(events, "").print(pg)
	const usual = 50 // what --limit is without
	if len(events) == usual {
		pg.talk("only the newest %d are shown; with --limit 0 all of them", usual)
	}
}

func (pg *page) eventTable(events []cadre.Event, indent string) *table {
	t := newTable(">#", "TIME", "WHO", "VERB", "OBJECT", "WHAT")
	if indent != "" {
		t = newTable(">", "", "", "", "", "")
		t.indent = indent
	}
	for _, e := range events {
		t.add(faint(eventID(e)), faint(pg.clock(e.Time)), text(pg.who(e.Actor)), text(e.Verb), faint(pg.objectText(e.Object)), cell{text: pg.describe(e)})
	}
	return t
}

// objectText names an object as briefly as it can be told from others: ids of
// messages and asks and the names of members speak for themselves.
func (pg *page) objectText(r cadre.Ref) string {
	switch r.Kind {
	case cadre.KindTeam, cadre.KindLog, cadre.KindTodo, cadre.KindToken:
		return string(r.Kind)
	case cadre.KindMessage:
		const most = 10 // another program's mail has a long id, of which its beginning is enough for the eye
		if pg.cols > 0 && len(r.ID) > most {
			return r.ID[:most-1] + "…"
		}
		return r.ID
	case cadre.KindAsk, cadre.KindMember:
		return r.ID
	}
	return r.String()
}

// is says whether a name is that of the caller.
func (pg *page) is(name string) bool {
	switch {
	case pg.me.By != "":
		return name == pg.me.Name
	case pg.me.Kind == cadre.ActorOperator:
		return name == cadre.LeadName || name == pg.me.Name
	}
	return name == pg.who(pg.me)
}

// who names who acted: whom the operator acted as is marked, and a session has the
// name that it has in the team, where it is in it.
func (pg *page) who(a cadre.Actor) string {
	if a.By == string(cadre.RoleOperator) {
		return a.Name + " (op)"
	}
	if a.Kind == cadre.ActorSession {
		if pg.names == nil {
			pg.names = pg.sessions()
		}
		if name := pg.names[a.Session]; name != "" {
			return name
		}
	}
	return a.String()
}

// eventLine prints one event of a stream: no later line is known, so the columns
// have widths that fit most.
func (pg *page) eventLine(e cadre.Event) {
	if e.Object.Kind == cadre.KindMember {
		pg.names = nil
	}
	seq, when := termtext.Pad(eventID(e), 4, true), pg.clock(e.Time)
	who, verb := termtext.Pad(line(pg.who(e.Actor)), 10, false), termtext.Pad(line(e.Verb), 12, false)
	object := termtext.Pad(line(pg.objectText(e.Object)), 7, false)
	used := termtext.Width(seq+when+who+verb+object) + 5*gutter
	pg.printf("%s  %s  %s  %s  %s  %s\n", pg.paint(dim, seq), pg.paint(dim, when), who, verb, pg.paint(dim, object), pg.fit(pg.describe(e), used))
}

func (pg *page) blame(lines []cadre.BlameLine) {
	t := newTable("FIELD", "WHO", ">AGE", ">#", "VERB", "VALUE")
	for _, l := range lines {
		e := l.Event
		if derived(l) {
			continue
		}
		t.add(text(l.Field), text(pg.who(e.Actor)), faint(pg.age(e.Time)), faint(eventID(e)), text(e.Verb), cell{text: pg.shortValue(l.Value)})
	}
	t.print(pg)
}

// derived says whether a field says nothing that a person would ask about.
func derived(l cadre.BlameLine) bool {
	switch l.Field {
	case "id", "fence", "leased", "openBlockers", "createdAt", "startedAt", "completedAt":
		return true
	}
	return jsonText(l.Value) == ""
}

func (pg *page) diff(d *coord.DiffView) {
	if len(d.Changes) == 0 {
		pg.talk("nothing changed between events %d and %d", d.From, d.To)
		return
	}
	pg.printf("%s\n", pg.paint(dim, "from event "+itoa(int(d.From))+" to "+itoa(int(d.To))))
	t := newTable("", "OBJECT", "WHAT")
	for _, c := range d.Changes {
		mark := cell{"~", yellow}
		switch {
		case c.Before == nil:
			mark = cell{"+", green}
		case isGone(c.After):
			mark = cell{"-", red}
		}
		what := pg.describe(cadre.Event{Object: c.Object, Before: c.Before, After: c.After})
		if what == touched { // changed there and back again
			continue
		}
		t.add(mark, text(pg.objectText(c.Object)), cell{text: what})
	}
	t.print(pg)
}

func isGone(o cadre.Object) bool {
	task, ok := o.(*cadre.Task)
	return o == nil || ok && task.Status == cadre.Deleted
}

func (pg *page) at(v *coord.AtView) {
	pg.printf("%s\n", pg.paint(dim, line(string(v.Scope))+" after event "+itoa(int(v.Seq))))
	if len(v.Tasks) == 0 {
		pg.talk("it had no tasks then")
		return
	}
	pg.taskList(v.Tasks)
}

// undone says what was taken back, and by which events.
func (pg *page) undone(u *coord.Undone) {
	pg.head("taken back")
	pg.eventTable(u.Undone, "  ").print(pg)
	if len(u.Events) == 0 {
		pg.printf("nothing was left of it to change\n")
		return
	}
	pg.head("by")
	pg.eventTable(u.Events, "  ").print(pg)
}

// audit prints what was checked, then every place where something is wrong.
func (pg *page) audit(r *cadre.AuditReport) {
	for _, f := range r.Findings {
		where := line(f.Place)
		if f.Scope != "" {
			where = line(string(f.Scope)) + ", " + where
		}
		pg.printf("%s  %s\n", pg.paint(red, "✗ "+where), line(f.What))
	}
	checked := count(r.Events, "event") + " of " + count(r.Scopes, "list") + ", " + count(r.Objects, "object") + ", " + count(r.Anchors, "anchor")
	if len(r.Findings) == 0 {
		pg.printf("%s  %s\n", pg.paint(green, "✓ the record holds"), checked)
		return
	}
	pg.printf("%s  %s\n", pg.paint(red, count(len(r.Findings), "finding")), checked)
}
