package cli

import (
	"cmp"

	"cadre"
)

func (pg *page) sent(m *cadre.MessageView) {
	pg.printf("%s\n", line(string(m.ID)))
	if m.Dead != "" {
		pg.talk("cadre: it can never arrive: %s", line(m.Dead))
	}
}

func (pg *page) broadcast(b *cadre.Broadcast) {
	if len(b.To) == 0 {
		pg.talk("nobody else is in %s", pg.scope)
		return
	}
	for i, id := range b.Messages {
		pg.printf("%s  to %s\n", line(string(id)), line(b.To[i]))
	}
}

// inbox prints messages as mail: who, when, how far, and the whole text.
func (pg *page) inbox(mail []*cadre.MessageView) {
	if len(mail) == 0 {
		pg.talk("no unread messages; with --all those that were read are shown too")
		return
	}
	for i, m := range mail {
		if i > 0 {
			pg.printf("\n")
		}
		state := messageState(m.State)
		pg.printf("%s  %s  from %s, %s", pg.paint(bold, line(string(m.ID))), pg.paint(state.style, state.text),
			pg.paint(bold, line(m.From)), pg.moment(&m.SentAt))
		if !spoken(m.Kind) {
			pg.printf("  %s", line(string(m.Kind)))
		}
		if m.Task != "" && m.Kind != cadre.MessageAssignment {
			pg.printf("  task %s", line(string(m.Task)))
		}
		if m.Ask != "" {
			pg.printf("  ask %s", line(string(m.Ask)))
		}
		pg.printf("\n")
		pg.block("  ", letter(m.Message))
	}
	if last := mail[len(mail)-1]; last.ReadAt == nil && last.Dead == "" && pg.is(last.To) {
		pg.hint("\nto mark them as read: %s", pg.here("cadre msg ack"))
	}
}

func (pg *page) acknowledged(mail []*cadre.MessageView) {
	if len(mail) == 0 {
		pg.talk("there was nothing to mark")
		return
	}
	for _, m := range mail {
		pg.printf("%s  %s  from %s  %s\n", line(string(m.ID)), pg.paint(green, "✓ read"), line(m.From), pg.fit(pg.gist(m.Message), 40))
	}
}

func (pg *page) deadLetters(mail []*cadre.MessageView) {
	if len(mail) == 0 {
		pg.talk("no dead letters")
		return
	}
	t := newTable("ID", ">AGE", "FROM", "TO", "WHY", "SUMMARY")
	for _, m := range mail {
		t.add(text(string(m.ID)), faint(pg.age(m.SentAt)), text(m.From), text(m.To), cell{line(m.Dead), yellow}, cell{text: pg.gist(m.Message)})
	}
	t.print(pg)
}

func (pg *page) askList(asks []*cadre.Ask) {
	if len(asks) == 0 {
		pg.talk("nothing waits for an answer in %s", pg.scope)
		return
	}
	t := newTable("ID", "STATE", "KIND", "FROM", ">AGE", "TASK", "TEXT")
	for _, a := range asks {
		t.add(text(string(a.ID)), askState(a.State), text(string(a.Kind)), text(a.From), faint(pg.age(a.AskedAt)), text(string(a.Task)), text(pg.brief(a.Text)))
	}
	t.print(pg)
}

// asked says to whom something was put that now waits for an answer.
func (pg *page) asked(a *cadre.Ask) {
	state := askState(a.State)
	pg.printf("%s  %s  %s, to be answered by %s\n", line(string(a.ID)), pg.paint(state.style, state.text), line(string(a.Kind)), cmp.Or(join(a.Approvers), "the operator"))
	pg.hint("to see the answer: %s", pg.here("cadre ask show "+string(a.ID)))
}

// ask prints one ask with what to type to answer it.
func (pg *page) ask(a *cadre.Ask) {
	state := askState(a.State)
	pg.printf("%s  %s  %s asks (%s), %s\n", pg.paint(bold, line(string(a.ID))), pg.paint(state.style, state.text), line(a.From), line(string(a.Kind)), pg.moment(&a.AskedAt))
	var list []property
	for _, r := range [][2]string{
		{"task", string(a.Task)}, {"member", a.Member}, {"who may answer", join(a.Approvers)}, {"deadline", pg.moment(a.Deadline)}, {"digest", a.Digest},
	} {
		list = append(list, property{r[0], text(r[1])})
	}
	pg.properties(list)
	pg.printf("\n")
	pg.block("  ", a.Text)
	if a.AnsweredAt != nil {
		pg.printf("\n%s\n", pg.paint(dim, line(string(a.State))+" by "+line(a.AnsweredBy)+", "+pg.moment(a.AnsweredAt)))
		if a.Answer != "" {
			pg.block("  ", a.Answer)
		}
	}
	if a.State == cadre.AskOpen {
		pg.hint("\n  try: %s", pg.answerTo(a))
	}
}

// answerTo is what to type about an open ask. Whether to end is for the member
// alone to say: everybody else can only see what came of it.
func (pg *page) answerTo(a *cadre.Ask) string {
	yes, no := pg.here("cadre ask approve "+string(a.ID)), pg.here("cadre ask reject "+string(a.ID))
	switch {
	case a.Kind == cadre.AskShutdown && !pg.is(a.Member):
		return pg.here("cadre member list")
	case a.Kind == cadre.AskRefusal:
		name := line(a.Member)
		return yes + " (" + name + " works on), " + no + " (it is asked again), or " + pg.here("cadre member leave "+name)
	case a.Kind == cadre.AskPerson:
		return yes + " (it is tried again), or " + no + " (it is left to you)"
	case a.Kind == cadre.AskQuestion:
		return pg.here("cadre ask answer " + string(a.ID) + ` "…"`)
	}
	return yes + ", or " + no
}

func (pg *page) todo(v *cadre.TodoView) {
	if len(v.Items) == 0 {
		pg.talk("the list of %s is empty", v.Owner)
		return
	}
	t := newTable("", "")
	for _, item := range v.Items {
		said := item.Content
		if item.Status == cadre.InProgress {
			said = item.ActiveForm
		}
		t.add(todoState(item.Status), text(said))
	}
	t.print(pg)
	if v.Warning != "" {
		pg.talk("cadre: %s", v.Warning)
	}
}
