package cadre

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// How much one sender may send, so that two agents that answer each other end up
// with an error and not with a bill.
const (
	rateWindow = time.Minute
	rateLimit  = 300 // messages of one sender in the window
	loopLimit  = 5   // times the same text to the same recipient in the window
)

// post sends a message from the caller, or from who is set on it.
func (d *draft) post(m *Message) error {
	if m.From == "" {
		m.From = d.me
	}
	m.N = d.number()
	m.ID = MessageID("m" + decimal(m.N))
	m.SentAt = d.now()
	from, err := d.Member(m.From)
	if err != nil {
		return err
	}
	if from != nil {
		m.Color = from.Color
	}
	d.put(nil, m)
	return nil
}

// notice is Cadre's own word to a member. Where there is nobody of that name
// there is nobody to tell.
func (d *draft) notice(to string, task TaskID, format string, args ...any) error {
	m, err := d.Member(to)
	if err != nil || m == nil || m.State == StateDeparted {
		return err
	}
	text := fmt.Sprintf(format, args...)
	return d.post(&Message{From: "cadre", To: to, Kind: MessageNotice, Task: task, Text: text, Summary: clip(text, 80)})
}

// MsgSend sends a message to one member.
type MsgSend struct {
	To      string `json:"to" arg:"TO" help:"a member's name"`
	Text    string `json:"text" arg:"TEXT" help:"the message"`
	Summary string `json:"summary,omitempty" help:"a few words for lists; the first line by default"`
}

// Decide sends. A name that nobody has is refused; someone departed gets it as a
// dead letter, and the lead is told.
func (v *MsgSend) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if err := checkMessage(v.Text, v.Summary); err != nil {
		return nil, err
	}
	to, err := d.recipient(v.To)
	if err != nil {
		return nil, err
	}
	if err := d.guardRate(to.Name, v.Text); err != nil {
		return nil, err
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	m := &Message{To: to.Name, Kind: MessagePlain, Text: v.Text, Summary: summarise(v.Summary, v.Text)}
	if to.State == StateDeparted {
		m.Dead = to.Name + " has left the team"
		if d.me != LeadName {
			if err := d.notice(LeadName, "", "a message from %s to %s is a dead letter: %s", d.me, to.Name, m.Dead); err != nil {
				return nil, err
			}
		}
	}
	if err := d.post(m); err != nil {
		return nil, err
	}
	return d.finish()
}

func checkMessage(text, summary string) error {
	if strings.TrimSpace(text) == "" {
		return refuse(RuleValue, "a message needs a text").hint(`cadre msg send NAME "…"`)
	}
	if err := checkText("message", text, MaxMessage); err != nil {
		return err
	}
	return checkText("summary", summary, 1000)
}

// summarise is a message in a few words.
func summarise(summary, text string) string {
	if summary != "" {
		return summary
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clip(line, 80)
}

// recipient finds a member to send to, departed or not.
func (d *draft) recipient(to string) (*Member, error) {
	name, err := d.memberName(to)
	if err != nil {
		return nil, err
	}
	m, err := d.Member(name)
	if err != nil || m != nil {
		return m, err
	}
	members, err := collect(d.Members())
	if err != nil {
		return nil, err
	}
	if len(members) == 0 { // a list without a team may have some, driven by hand
		return nil, refuse(RuleMissing, "nobody in %s is called %s: it has no members", d.Scope(), clip(name, 64)).hint("cadre team create my-team")
	}
	near, err := d.near(name)
	if err != nil {
		return nil, err
	}
	maybe := ""
	if len(near) > 0 {
		maybe = "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return nil, refuse(RuleMissing, "nobody in %s is called %s%s", d.Scope(), clip(name, 64), maybe).hint("cadre member list")
}

// guardRate refuses a sender that sends too much, or the same again and again.
func (d *draft) guardRate(to, text string) error {
	prefix := prefixKey(d.me)
	sent, same := 0, 0
	for m, err := range scan[*Message](d.Snap, IndexSent, prefix, prefix+timeKey(d.now().Add(-rateWindow))) {
		if err != nil {
			return err
		}
		if m.SentAt.After(d.now()) {
			break // written under a clock that ran ahead
		}
		if sent++; sent >= rateLimit {
			return refuse(RuleRate, "%s sent %d messages within a minute, which is the limit", d.me, sent).hint("cadre msg inbox")
		}
		if m.To == to && m.Text == text {
			if same++; same >= loopLimit {
				return refuse(RuleRate, "%s sent the same text to %s %d times within a minute", d.me, to, same).hint("cadre msg inbox %s", d.me)
			}
		}
	}
	return nil
}

// Answer gives the message.
func (v *MsgSend) Answer(s Snap, c Command, r Receipt) (any, error) {
	for _, e := range r.Events {
		if m, ok := e.After.(*Message); ok && m.Kind == MessagePlain {
			return viewMessage(m), nil
		}
	}
	return nil, refuse(RuleMissing, "the message is not in the log")
}

// MsgBroadcast sends a message to every other member.
type MsgBroadcast struct {
	Text    string `json:"text" arg:"TEXT" help:"the message"`
	Summary string `json:"summary,omitempty" help:"a few words for lists; the first line by default"`
}

// Decide sends one message to each.
func (v *MsgBroadcast) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if err := checkMessage(v.Text, v.Summary); err != nil {
		return nil, err
	}
	members, err := collect(d.Members())
	if err != nil {
		return nil, err
	}
	to := make([]string, 0, len(members))
	for _, m := range members {
		if m.Name != d.me && m.State != StateDeparted {
			to = append(to, m.Name)
		}
	}
	if len(to) == 0 {
		return nil, refuse(RuleMissing, "there is nobody else in %s to tell", d.Scope()).hint("cadre member list")
	}
	if err := d.guardRate(to[0], v.Text); err != nil {
		return nil, err
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	for _, name := range to {
		if err := d.post(&Message{To: name, Kind: MessageBroadcast, Text: v.Text, Summary: summarise(v.Summary, v.Text)}); err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// Broadcast is the answer: who will get the message.
type Broadcast struct {
	To       []string    `json:"to"`
	Messages []MessageID `json:"messages"`
}

// Answer lists the recipients.
func (v *MsgBroadcast) Answer(_ Snap, _ Command, r Receipt) (any, error) {
	out := &Broadcast{To: []string{}, Messages: []MessageID{}}
	for _, e := range r.Events {
		if m, ok := e.After.(*Message); ok && m.Kind == MessageBroadcast {
			out.To = append(out.To, m.To)
			out.Messages = append(out.Messages, m.ID)
		}
	}
	return out, nil
}

// MsgAck says that the caller has read its messages.
type MsgAck struct {
	IDs  []MessageID `json:"ids,omitempty" arg:"[ID...]" help:"the messages; all unread ones without"`
	UpTo uint64      `json:"upTo,omitempty" help:"the unread ones up to the message with this number"`
}

// Decide marks the caller's own messages as read.
func (v *MsgAck) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil {
		return nil, err
	}
	if v.UpTo > uint64(s.Head().Seq) { // a number of another list, or made up, says nothing about what was read
		return nil, refuse(RuleValue, "there is no message with the number %d in %s yet", v.UpTo, d.Scope()).hint("cadre msg inbox")
	}
	var messages []*Message
	if len(v.IDs) == 0 {
		if messages, err = collect(d.Unread(d.me)); err != nil {
			return nil, err
		}
		if v.UpTo > 0 {
			messages = slices.DeleteFunc(messages, func(m *Message) bool { return m.N > v.UpTo })
		}
		if err := d.leaveToClient(messages); err != nil {
			return nil, err
		}
	}
	for _, id := range v.IDs {
		if id == digestID {
			continue
		}
		m, err := d.Message(id)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, refuse(RuleMissing, "there is no message %s in %s", clip(string(id), 40), d.Scope()).hint("cadre msg inbox")
		}
		messages = append(messages, m)
	}
	for _, m := range messages {
		if m.To != d.me {
			return nil, refuse(RuleOwner, "message %s is for %s: only %s can say that it was read", m.ID, m.To, m.To).hint("cadre msg inbox")
		}
		if m.ReadAt == nil {
			d.put(m, m.marked(d.now()))
		}
	}
	if err := d.needMember(); err != nil {
		return nil, err
	}
	if len(v.IDs) == 0 || slices.Contains(v.IDs, digestID) {
		if err := d.digested(); err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// leaveToClient keeps the operator from marking all mail of a lead that a client
// plays: its client would not show it any more. What Cadre has to say is for both.
func (d *draft) leaveToClient(messages []*Message) error {
	lead, err := d.Member(d.me)
	if err != nil || lead == nil || lead.Backend != BackendClient || d.cmd.Actor.Kind != ActorOperator {
		return err
	}
	hint := "cadre msg ack ID"
	for _, m := range messages {
		if m.Kind == MessageNotice {
			hint = "cadre msg ack " + string(m.ID)
			break
		}
	}
	return refuse(RuleOwner, "this is the mail of %s, whose client reads it itself and would not see what is marked here", d.me).hint("%s", hint)
}

// marked gives the message as read, and so as delivered.
func (m *Message) marked(now time.Time) *Message {
	next := m.Clone()
	next.ReadAt = &now
	if next.DeliveredAt == nil {
		next.DeliveredAt = &now
	}
	return next
}

// Answer gives the messages that were marked.
func (v *MsgAck) Answer(_ Snap, _ Command, r Receipt) (any, error) {
	out := []*MessageView{}
	for _, e := range r.Events {
		if m, ok := e.After.(*Message); ok {
			out = append(out, viewMessage(m))
		}
	}
	return out, nil
}
