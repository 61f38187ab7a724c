package cadre

// MsgInbox lists a member's messages: the unread ones, or all.
type MsgInbox struct {
	Name  string `json:"name,omitempty" arg:"[NAME]" help:"whose inbox; your own without"`
	All   bool   `json:"all,omitempty" help:"messages that were read too"`
	After uint64 `json:"after,omitempty" help:"go on after the message with this number"`
	Limit int    `json:"limit,omitempty" help:"at most so many"`

	Mail bool `json:"mail,omitempty" door:"-" help:"without the digest"`
}

// Look lists them, oldest first, and after them, for a lead, the digest. Looking marks nothing: that is what ack is for.
func (v *MsgInbox) Look(s Snap, c Command) (any, error) {
	d, err := lookAtMost(s, c, v.Limit)
	if err != nil {
		return nil, err
	}
	name, err := d.someone(v.Name)
	if err != nil {
		return nil, err
	}
	out := []*MessageView{}
	messages := d.Unread(name)
	if v.All {
		messages = d.Inbox(name, v.After)
	}
	for m, err := range messages {
		if err != nil {
			return nil, err
		}
		if m.N <= v.After {
			continue
		}
		if out = append(out, viewMessage(m)); v.Limit > 0 && len(out) == v.Limit {
			break
		}
	}
	lead, err := d.Member(name)
	if err != nil || lead == nil || v.Mail || v.All || v.After > 0 {
		return out, err
	}
	digest, err := s.digest(lead, d.now())
	if digest != nil {
		out = append(out, digest)
	}
	return out, err
}

// MsgDead lists messages that can never arrive.
type MsgDead struct{}

// Look lists them.
func (v *MsgDead) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	out := []*MessageView{}
	for m, err := range scan[*Message](s, IndexDead, "", "") {
		if err != nil {
			return nil, err
		}
		out = append(out, viewMessage(m))
	}
	return out, nil
}

// AskList lists what waits for an answer.
type AskList struct {
	All bool `json:"all,omitempty" help:"answered ones too"`
}

// Look lists them.
func (v *AskList) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	seq := s.OpenAsks()
	if v.All {
		seq = s.Asks()
	}
	out := []*Ask{}
	for a, err := range seq {
		if err == nil {
			a, err = s.asNow(a)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// AskShow shows one ask.
type AskShow struct {
	ID AskID `json:"id" arg:"ID" help:"the ask"`
}

// Look shows it.
func (v *AskShow) Look(s Snap, c Command) (any, error) {
	if _, err := look(s, c); err != nil {
		return nil, err
	}
	a, err := s.Ask(v.ID)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, refuse(RuleMissing, "there is no ask %s in %s", clip(string(v.ID), 40), s.Scope()).hint("cadre ask list --all")
	}
	return s.asNow(a)
}
