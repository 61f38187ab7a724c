package cadre

import (
	"fmt"
	"strings"
	"time"
)

// MessageDigest is what a lead is told of members that became idle and of mail between
// members. It is no message: it is made when the lead reads its mail anyway, wakes
// nobody, and is over once that mail is marked as read.
const MessageDigest MessageKind = "idle_digest"

// digestID names the digest where the messages have their ids.
const digestID MessageID = "digest"

// Of what a digest tells at most.
const (
	digestLines = 20
	digestSpan  = 2000 // events back from now that it looks at
)

// Mark is a place up to which somebody knows what happened.
type Mark struct {
	N  uint64    `json:"n"`
	At time.Time `json:"at"`
}

// digest is what a lead was not told yet, nil where that is nothing, and for whoever
// leads nobody. A lead that a client plays gets its mail from there.
func (s Snap) digest(lead *Member, now time.Time) (*MessageView, error) {
	if lead.Role != RoleLead || lead.Backend == BackendClient {
		return nil, nil
	}
	known := Mark{}
	if lead.Digested != nil {
		known = *lead.Digested
	}
	idle, err := s.idleSince(known.At)
	if err != nil {
		return nil, err
	}
	mail, err := s.peerMail(known.N)
	if err != nil || len(idle)+len(mail) == 0 {
		return nil, err
	}
	lines := make([]string, 0, digestLines+2)
	for _, part := range [][]string{idle, mail} {
		if left := len(part) - digestLines/2; left > 0 {
			part = append(part[:digestLines/2:digestLines/2], fmt.Sprintf("and %d more", left))
		}
		lines = append(lines, part...)
	}
	return viewMessage(&Message{
		ID: digestID, From: "cadre", To: lead.Name, Kind: MessageDigest, SentAt: now, Text: strings.Join(lines, "\n"),
		Summary: digestSummary(len(idle), len(mail)),
	}), nil
}

// digestSummary counts what there is.
func digestSummary(idle, mail int) string {
	var parts []string
	if idle > 0 {
		parts = append(parts, fmt.Sprintf("%d became idle", idle))
	}
	switch {
	case mail == 1:
		parts = append(parts, "1 message between members")
	case mail > 1:
		parts = append(parts, fmt.Sprintf("%d messages between members", mail))
	}
	return strings.Join(parts, ", ")
}

// idleSince tells of the members that became idle after a time.
func (s Snap) idleSince(at time.Time) (lines []string, err error) {
	for m, err := range s.Members() {
		if err != nil {
			return nil, err
		}
		if m.Role != RoleLead && m.State == StateIdle && m.Since.After(at) && m.Backend != BackendHand {
			lines = append(lines, fmt.Sprintf("%s is idle since %s: %s", m.Name, m.Since.Format(time.TimeOnly), m.Evidence))
		}
	}
	return lines, nil
}

// peerMail tells of the mail that members sent each other after a place, the newest
// first.
func (s Snap) peerMail(after uint64) (lines []string, err error) {
	after = max(after, uint64(max(digestSpan, s.Head().Seq)-digestSpan))
	for m, err := range scan[*Message](s, Index(KindMessage), "", seqKey(after)) {
		if err != nil {
			return nil, err
		}
		said := m.Kind == MessagePlain || m.Kind == MessageBroadcast
		if said && m.N > after && m.From != LeadName && m.To != LeadName {
			lines = append([]string{fmt.Sprintf("%s to %s: %s", m.From, m.To, m.Summary)}, lines...)
		}
	}
	return lines, nil
}

// digested says that the lead knows what happened up to now, if there is anything that
// it did not know.
func (d *draft) digested() error {
	lead, err := d.Member(d.me)
	if err != nil || lead == nil {
		return err
	}
	view, err := d.digest(lead, d.now())
	if err != nil || view == nil {
		return err
	}
	next := lead.Clone()
	next.Digested = &Mark{uint64(d.Head().Seq), d.now()}
	d.put(lead, next)
	return nil
}

// tellIdle writes to a lead that a client plays what that client expects of an idle
// member. All others find it in their digest.
func (d *draft) tellIdle(m *Member, evidence string) error {
	lead, err := d.Member(LeadName)
	if err != nil || lead == nil || lead.Backend != BackendClient || !m.Backend.Supervised() {
		return err
	}
	return d.post(&Message{From: m.Name, To: LeadName, Kind: MessageIdle, Text: evidence, Summary: clip(evidence, 80)})
}
