package claudedir

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/claudefile"
)

// foreignMail reads the inbox that has a name: entries that nobody knows and, where
// it is the one that we write to, what became of those that the log has.
func (p *pass) foreignMail(in *intake, v *cadre.Foreign, name string, entries []claudefile.Entry, written bool) error {
	to, err := reader(in.Snap, name)
	if err != nil {
		return err
	}
	there := map[cadre.MessageID]bool{}
	var waits uint64 // the first message that its reader has not taken and would have
	for _, e := range entries {
		if e.From == "" && e.Text == "" {
			continue
		}
		id, m, err := messageOf(in, name, e)
		if err != nil {
			return err
		}
		there[id] = true
		switch {
		case m == nil:
			v.Mail = append(v.Mail, mailOf(id, to, e))
		case e.Read:
			v.Taken = append(v.Taken, id)
		case m.ReadAt == nil && m.Dead == "" && m.Kind != cadre.MessageShutdownRequest && (waits == 0 || m.N < waits):
			waits = m.N
		}
	}
	if !written {
		return nil
	}
	for m, err := range in.Unread(to) {
		if err != nil {
			return err
		}
		// Clients take all that is unread, but for requests to shut down. One that came
		// after another that still waits was left out by somebody who wrote an old copy.
		leftOut := waits != 0 && m.N > waits && m.Kind != cadre.MessageShutdownRequest
		if !there[m.ID] && uint64(p.mem.has(inboxKey(name))) >= m.N && !p.full && !leftOut {
			v.Taken = append(v.Taken, m.ID)
		}
	}
	return nil
}

// reader is whose inbox has a name: clients replace what they do not want in a file's
// name.
func reader(s cadre.Snap, inbox string) (string, error) {
	if m, err := s.Member(inbox); err != nil || m != nil {
		return inbox, err
	}
	for m, err := range s.Members() {
		if err != nil {
			return "", err
		}
		if claudefile.ListFolder(m.Name) == inbox {
			return m.Name, nil
		}
	}
	return inbox, nil
}

// ownPrefix begins the id of an entry that Cadre wrote.
const ownPrefix = "cadre-"

// tag names a message in an inbox. Its number alone would not: a log that was
// restored from a backup gives numbers a second time.
func tag(m *cadre.Message) string {
	if strings.HasPrefix(string(m.ID), foreignPrefix) {
		return string(m.ID)
	}
	return fmt.Sprintf("%s-%s", m.ID, cadre.Digest(fmt.Sprint(m.SentAt.UnixMilli(), m.From, m.Text))[:8])
}

// foreignPrefix begins the id of a message that another program wrote.
const foreignPrefix = "f"

func foreignID(inbox string, e claudefile.Entry) cadre.MessageID {
	return cadre.MessageID(foreignPrefix + cadre.Digest(inbox + "\x00" + e.Key())[:24])
}

// messageOf finds the message that an entry of an inbox is; nil where the log has
// none. One that Cadre wrote and the log does not have is as good as foreign.
func messageOf(in *intake, inbox string, e claudefile.Entry) (cadre.MessageID, *cadre.Message, error) {
	if own, ok := strings.CutPrefix(e.MsgID, ownPrefix); ok {
		id, _, _ := strings.Cut(own, "-")
		m, err := in.Message(cadre.MessageID(id))
		if err != nil || m != nil && tag(m) == own {
			return cadre.MessageID(id), m, err
		}
	}
	id := foreignID(inbox, e)
	m, err := in.Message(id)
	return id, m, err
}

// kinds are the control messages that Cadre has a name of its own for.
var kinds = map[string]cadre.MessageKind{
	"shutdown_approved": cadre.MessageShutdownResponse, "shutdown_rejected": cadre.MessageShutdownResponse,
}

// mailOf reads one entry. Text that looks like a control message is one only in a
// client's own inbox file; the text itself is kept as it came.
func mailOf(id cadre.MessageID, to string, e claudefile.Entry) cadre.ForeignMail {
	m := cadre.ForeignMail{
		ID: id, From: e.From, To: to, Kind: cadre.MessagePlain, Text: strings.ToValidUTF8(e.Text, "\uFFFD"), Summary: e.Summary, Color: e.Color, Read: e.Read, By: cadre.External,
	}
	if at, err := time.Parse(time.RFC3339, e.Timestamp); err == nil {
		m.SentAt = at
	}
	t := claudefile.ReadTyped(e.Text)
	if t == nil {
		return m
	}
	m.Kind, m.Raw = cadre.MessageKind(t.Type), json.RawMessage(t.Raw)
	if kind, ok := kinds[t.Type]; ok {
		m.Kind = kind
	}
	m.Request, m.Approved, m.Reason, m.Task = t.RequestID, t.Approved, t.Reason, cadre.TaskID(t.TaskID)
	switch m.Kind {
	case cadre.MessageIdle:
		m.Reason = strings.TrimSpace(t.IdleReason + " " + t.FailureReason)
	case cadre.MessagePlanRequest:
		m.Text = t.PlanContent
	case cadre.MessagePermRequest:
		m.Text = strings.TrimSpace(fmt.Sprintf("%s: %s %s", t.ToolName, t.Description, t.Input))
	}
	return m
}

// inboxWanted is what an inbox is to say: every unread message is in it, and what
// its reader has read is marked.
type inboxWanted struct {
	unread []claudefile.Entry
	read   map[string]bool // tags of entries that were read, or, false, are unread again
	client bool            // a real client reads this inbox
}

func (p *pass) inboxWanted(s cadre.Snap, name string) (*inboxWanted, error) {
	w := &inboxWanted{read: map[string]bool{}}
	for m, err := range s.Unread(name) {
		if err != nil {
			return nil, err
		}
		e, err := entryOf(s, m)
		if err != nil {
			return nil, err
		}
		w.unread = append(w.unread, e)
	}
	for _, e := range p.since {
		m, ok := e.After.(*cadre.Message)
		if !ok || m.To != name {
			continue
		}
		if before, ok := e.Before.(*cadre.Message); m.ReadAt != nil || ok && before.ReadAt != nil {
			w.read[tag(m)] = m.ReadAt != nil
		}
	}
	return w, nil
}

// entryOf writes a message as clients read it.
func entryOf(s cadre.Snap, m *cadre.Message) (claudefile.Entry, error) {
	e := claudefile.Entry{
		From: m.From, Text: m.Text, Summary: m.Summary, Timestamp: claudefile.Timestamp(m.SentAt), Color: m.Color, MsgID: ownPrefix + tag(m), Read: m.ReadAt != nil,
	}
	var ask *cadre.Ask
	var err error
	if m.Ask != "" {
		if ask, err = s.Ask(m.Ask); err != nil {
			return e, err
		}
	}
	if ask != nil && ask.Request != "" && m.From == ask.AnsweredBy {
		e.From = cadre.LeadName // a client takes answers from its lead alone, also a policy's
	}
	switch m.Kind {
	case cadre.MessageAssignment:
		t, err := s.Task(m.Task)
		if err != nil || t == nil {
			return e, err
		}
		e.Text = claudefile.TaskAssignment(string(t.ID), t.Subject, t.Description, m.From, m.SentAt)
	case cadre.MessageIdle:
		if m.Raw == nil { // else a client wrote it
			reason := "available"
			if why, _, ok := strings.Cut(m.Text, ": "); ok && (why == "interrupted" || why == "failed") {
				reason = why
			}
			e.Text = claudefile.IdleNotification(m.From, reason, m.Text, "", m.SentAt)
		}
	case cadre.MessageShutdownRequest:
		e.Text = claudefile.ShutdownRequest(fmt.Sprintf("shutdown-%d@%s", m.SentAt.UnixMilli(), m.To), m.From, m.Text, m.SentAt)
	case cadre.MessagePlanResponse:
		if ask != nil && ask.Request != "" {
			e.Text = claudefile.PlanApprovalResponse(ask.Request, ask.State == cadre.AskApproved, ask.Answer, "default", m.SentAt)
		}
	case cadre.MessagePermResponse:
		switch {
		case ask == nil || ask.Request == "":
		case ask.State == cadre.AskApproved:
			e.Text = claudefile.PermissionGranted(ask.Request, nil)
		default:
			e.Text = claudefile.PermissionDenied(ask.Request, ask.Answer)
		}
	}
	return e, nil
}

// keptRead is how many entries stay in an inbox after they were read, for people
// who look; a client's inbox keeps all, because old clients count them.
const keptRead = 50

// inboxOf is an inbox's file.
func inboxOf(w *inboxWanted, name string, old []byte) ([]byte, error) {
	entries, err := claudefile.ReadInbox(old)
	if err != nil {
		entries = nil
	}
	there := map[string]bool{}
	changed := len(old) == 0
	for i := range entries {
		own, foreign := strings.TrimPrefix(entries[i].MsgID, ownPrefix), string(foreignID(name, entries[i]))
		there[own], there[foreign] = true, true
		read, known := w.read[own]
		if !known {
			read, known = w.read[foreign]
		}
		if known && entries[i].Read != read {
			entries[i].Read, changed = read, true
		}
	}
	for _, e := range w.unread {
		if !there[strings.TrimPrefix(e.MsgID, ownPrefix)] {
			entries, changed = append(entries, e), true
		}
	}
	read := 0
	for _, e := range entries {
		if e.Read {
			read++
		}
	}
	if !w.client && read > keptRead {
		entries = slices.DeleteFunc(entries, func(e claudefile.Entry) bool {
			if drop := e.Read && read > keptRead; drop {
				read--
				return true
			}
			return false
		})
		changed = true
	}
	if !changed {
		return old, nil
	}
	return claudefile.WriteInbox(entries), nil
}

// inboxAdds gives the entries of an inbox that an older content of it has not.
func inboxAdds(old, now []byte) (added []claudefile.Entry) {
	before, _ := claudefile.ReadInbox(old)
	after, _ := claudefile.ReadInbox(now)
	for _, e := range after {
		if !slices.ContainsFunc(before, func(b claudefile.Entry) bool { return b.Key() == e.Key() }) {
			added = append(added, e)
		}
	}
	return added
}
