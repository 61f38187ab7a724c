package cadre

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// ForeignMail is an entry of an inbox that another program wrote.
type ForeignMail struct {
	ID       MessageID // made of the entry: the same entry, the same id
	From, To string
	Kind     MessageKind
	Text     string
	Summary  string
	Color    string
	Task     TaskID
	Request  string // what a client calls the request that it makes or answers
	Approved *bool  // the answer, where it is one
	Reason   string
	Raw      json.RawMessage
	SentAt   time.Time
	Read     bool
	By       Actor
}

// mail takes in entries that nobody knew, and what became of ours.
func (in *intake) mail(entries []ForeignMail, taken []MessageID) error {
	for i := range entries {
		f := &entries[i]
		known, err := in.Message(f.ID)
		if err != nil {
			return err
		}
		if known != nil {
			if f.Read {
				taken = append(taken, f.ID)
			}
			continue
		}
		m := &Message{
			ID: f.ID, From: clip(plain(f.From), maxScope), To: f.To, Kind: MessageKind(clip(plain(string(f.Kind)), maxScope)), Text: plain(f.Text),
			Summary: plain(f.Summary), Color: plain(f.Color), Task: f.Task, Raw: f.Raw, SentAt: f.SentAt.UTC(),
		}
		if m.Kind == MessageNotice {
			m.Kind = MessagePlain // only Cadre itself gives notice
		}
		reader, err := in.Member(f.To)
		if err != nil {
			return err
		}
		// Being idle is a state and waits for no reader, except where a client's
		// member reads: it sees the state in its mail only.
		client := reader != nil && reader.Backend == BackendClient
		if f.Read || f.Kind == MessageIdle && !client {
			m = m.taken(in.now())
		}
		if err := in.means(f, m); err != nil {
			return err
		}
		m.N = in.number()
		in.put(nil, m)
		in.wrote(m, f.By)
	}
	for _, id := range taken {
		m, err := in.Message(id)
		if err != nil {
			return err
		}
		if m != nil && m.ReadAt == nil {
			in.put(m, m.taken(in.now()))
		}
	}
	return nil
}

// taken is a message that its reader's program has shown it.
func (m *Message) taken(now time.Time) *Message {
	next := m.Clone()
	if next.DeliveredAt == nil {
		next.DeliveredAt = &now
	}
	if next.ReadAt == nil {
		next.ReadAt = &now
	}
	return next
}

// means does what a control message of a client's member stands for. Nothing that
// comes through a file approves anything but the writer's own end.
func (in *intake) means(f *ForeignMail, m *Message) error {
	from, err := in.Member(f.From)
	if err != nil || from == nil || from.State == StateDeparted {
		return err
	}
	if from.Backend == BackendHand && onlyClients(f.Kind) {
		in.playedByClient(from, "its client wrote mail")
	} else if from.Backend != BackendClient {
		return nil
	}
	theirs, err := in.clientLed() // a client's lead answers for itself
	if err != nil {
		return err
	}
	switch f.Kind {
	case MessageIdle:
		says := "its client says that it is idle"
		if f.Reason != "" {
			says += ": " + clip(f.Reason, 80)
		}
		return in.setMemberState(f.From, StateIdle, says)
	case MessageShutdownResponse:
		return in.shutdownAnswered(f, theirs)
	case MessagePlanRequest, MessagePermRequest:
		if theirs {
			return nil
		}
		kind := AskPlan
		if f.Kind == MessagePermRequest {
			kind = AskPermission
		}
		if err := in.guardAsks(f.From); err != nil {
			if AsError(err).Rule != RuleRate {
				return err
			}
			in.leaveOut("%s; what it asks for besides is in your inbox", err)
			return nil
		}
		policy, err := in.policy(kind)
		if err != nil {
			return err
		}
		a := in.ask(&Ask{
			Kind: kind, From: f.From, Member: f.From, Text: f.Text, Digest: Digest(f.Text), Approvers: []string{LeadName}, Request: f.Request,
			Deadline: policy.deadline(in.now()),
		})
		m.Ask = a.ID
	}
	return nil
}

// onlyClients says whether nobody writes a kind of mail into a file but the client
// of a member that works.
func onlyClients(k MessageKind) bool {
	switch k {
	case MessageIdle, MessageShutdownResponse, MessagePlanRequest, MessagePermRequest:
		return true
	}
	return false
}

// playedByClient notes that a member that somebody made by hand is a real client's
// session by now: it was started under that name.
func (in *intake) playedByClient(m *Member, evidence string) {
	next := m.Clone()
	next.Backend, next.Since, next.Evidence = BackendClient, in.now(), evidence
	in.put(m, next)
}

// shutdownAnswered ends a member that agreed to, or records why it did not.
func (in *intake) shutdownAnswered(f *ForeignMail, theirs bool) error {
	if theirs || f.Approved == nil {
		return nil
	}
	open, err := collect(in.OpenAsks())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(open, func(a *Ask) bool { return a.Kind == AskShutdown && a.Member == f.From })
	if i < 0 {
		return nil
	}
	now := in.now()
	next := open[i].Clone()
	next.State, next.Answer, next.AnsweredBy, next.AnsweredAt = AskRejected, f.Reason, f.From, &now
	if *f.Approved {
		next.State = AskApproved
	}
	in.put(open[i], next)
	in.wrote(next, f.By)
	if !*f.Approved {
		return in.refusesShutdown(next)
	}
	return in.depart(f.From, "shut down", false)
}

// MailSeen is what readers' own transcripts tell about mail that their clients
// took: that it was shown to them, or that it never was.
type MailSeen struct {
	Shown map[MessageID]time.Time
	Lost  []MessageID
}

// Decide confirms what was shown and sends again, once, what was lost.
func (v *MailSeen) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	for _, id := range slices.Sorted(maps.Keys(v.Shown)) {
		m, err := d.Message(id)
		if err != nil {
			return nil, err
		}
		if m == nil || m.ConfirmedAt != nil {
			continue
		}
		next, at := m.Clone(), v.Shown[id].UTC()
		next.ConfirmedAt = &at
		d.put(m, next)
	}
	for _, id := range v.Lost {
		m, err := d.Message(id)
		if err != nil {
			return nil, err
		}
		if m == nil || m.Dead != "" || m.Again != "" || m.ConfirmedAt != nil {
			continue
		}
		again := &Message{From: m.From, To: m.To, Kind: m.Kind, Text: m.Text, Summary: m.Summary, Task: m.Task, Ask: m.Ask, Again: m.ID}
		if err := d.post(again); err != nil {
			return nil, err
		}
		next := m.Clone()
		next.Dead = "its reader's client took it and never showed it; sent again as " + string(again.ID)
		d.put(m, next)
	}
	return d.finish()
}
