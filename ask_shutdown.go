package cadre

// AskShutdownOf asks a member to end; the member itself approves or refuses.
type AskShutdownOf struct {
	Name   string `json:"name" arg:"NAME" help:"the member"`
	Reason string `json:"reason,omitempty" help:"why"`
}

// Decide opens the ask and mails it.
func (v *AskShutdownOf) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if err := checkText("reason", v.Reason, MaxMessage); err != nil {
		return nil, err
	}
	m, err := d.recipient(v.Name)
	if err != nil {
		return nil, err
	}
	if m.Role == RoleLead || m.State == StateDeparted {
		return nil, refuse(RuleMove, "%s cannot be asked to shut down: it is %s", m.Name, m.State).hint("cadre member list")
	}
	if err := d.needLead("ask a member to shut down"); err != nil {
		return nil, err
	}
	if err := d.askShutdown(m.Name, v.Reason); err != nil {
		return nil, err
	}
	return d.finish()
}

// askShutdown asks a member to end, in the place of whatever was asked about that
// before.
func (d *draft) askShutdown(name, why string) error {
	if err := d.voidShutdown(name, "asked again"); err != nil {
		return err
	}
	if why == "" {
		why = "please shut down"
	}
	return d.tell(d.ask(&Ask{Kind: AskShutdown, From: d.me, Member: name, Text: why, Digest: Digest(why), Approvers: []string{name}}))
}

// voidShutdown ends what waits for an answer about a member's end.
func (d *draft) voidShutdown(name, why string) error {
	open, err := collect(d.OpenAsks())
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.Member == name && (a.Kind == AskShutdown || a.Kind == AskRefusal) {
			d.put(a, a.void(why))
		}
	}
	return nil
}

// refusesShutdown puts a refused shutdown before whoever asked for it: what now? The
// refusal itself is mail already.
func (d *draft) refusesShutdown(a *Ask) error {
	text := a.Member + " refuses to shut down"
	if a.Answer != "" {
		text += ": " + a.Answer
	}
	text = clip(text, MaxMessage)
	p, err := d.policy(AskRefusal)
	if err != nil {
		return err
	}
	d.ask(&Ask{Kind: AskRefusal, From: a.Member, Member: a.Member, Text: text, Digest: Digest(text), Approvers: []string{a.From}, Deadline: p.deadline(d.now())})
	return nil
}

// refusalAnswered lets the member work on, or asks it again.
func (d *draft) refusalAnswered(a *Ask) error {
	m, err := d.Member(a.Member)
	if err != nil || m == nil || m.State == StateDeparted {
		return err
	}
	if a.State == AskRejected {
		return d.askShutdown(a.Member, a.Answer)
	}
	text := "work on"
	if a.Answer != "" {
		text += ": " + a.Answer
	}
	return d.post(&Message{To: a.Member, Kind: MessagePlain, Text: text, Summary: summarise("", text), Ask: a.ID})
}

// Answer gives the ask.
func (v *AskShutdownOf) Answer(_ Snap, _ Command, r Receipt) (any, error) { return newAsk(r), nil }
