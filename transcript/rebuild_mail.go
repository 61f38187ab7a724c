package transcript

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"cadre"
)

// post puts together what was sent and what was shown: a message is in the
// transcript of its sender, of its reader, or of both.
type post struct {
	all     []*cadre.Message
	waiting map[[2]string][]letter // by sender and reader: sent, and not shown yet
}

// letter is a message with the request that it is about.
type letter struct {
	*cadre.Message
	request string
}

// add keeps a message. Old clients give none an id; then the call or the line does.
func (p *post) add(e *Event, from, to string, at time.Time) *cadre.Message {
	l, id := e.Letter, e.Call+"-"+to
	if e.Kind == Mail {
		id = e.UUID + "-" + e.Call
	}
	m := &cadre.Message{
		ID: cadre.MessageID(cmp.Or(l.ID, id)), From: from, To: to, Kind: cadre.MessageKind(l.Kind),
		Text: l.Text, Summary: l.Summary, Color: l.Color, Task: l.Task, SentAt: at,
	}
	p.all = append(p.all, m)
	return m
}

// send keeps a message for each of its readers.
func (p *post) send(e *Event) {
	if p.waiting == nil {
		p.waiting = map[[2]string][]letter{}
	}
	for _, to := range e.Letter.To {
		way := [2]string{e.Who, to}
		p.waiting[way] = append(p.waiting[way], letter{p.add(e, e.Who, to, e.Done), e.Letter.Request})
	}
}

// show marks a message as delivered. One that no transcript shows being sent, such
// as a client's own notices, is known from here on.
func (p *post) show(e *Event, prompt bool) {
	l, at := e.Letter, e.At
	way := [2]string{l.From, e.Who}
	i := slices.IndexFunc(p.waiting[way], func(m letter) bool {
		if l.Request != "" {
			return m.request == l.Request && answers(string(m.Kind)) == answers(l.Kind)
		}
		return m.Text == l.Text
	})
	switch {
	case i >= 0:
		m := p.waiting[way][i]
		m.DeliveredAt, m.Text = &at, l.Text
		if !l.Sent.IsZero() {
			m.SentAt = l.Sent
		}
		p.waiting[way] = slices.Delete(p.waiting[way], i, i+1)
	case prompt:
	case l.Sent.IsZero():
		p.add(e, l.From, e.Who, at).DeliveredAt = &at
	default:
		p.add(e, l.From, e.Who, l.Sent).DeliveredAt = &at
	}
}

// sorted is everything in the order in which it was sent.
func (p *post) sorted() []*cadre.Message {
	slices.SortStableFunc(p.all, func(a, b *cadre.Message) int { return a.SentAt.Compare(b.SentAt) })
	for i, m := range p.all {
		m.N = uint64(i + 1)
	}
	return p.all
}

// answers tells requests from their answers: approved and rejected are what the
// reader of a response sees.
func answers(kind string) bool {
	return strings.HasSuffix(kind, "_response") || strings.HasSuffix(kind, "_approved") || strings.HasSuffix(kind, "_rejected")
}
