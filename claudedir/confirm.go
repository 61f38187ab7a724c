package claudedir

import (
	"context"
	"errors"
	"time"

	"cadre"
)

// When mail that a client took counts as lost: it was marked right after we wrote
// it, as an old client does with everything that arrives while it reads, and its
// reader's transcript has still not shown it after a while.
const (
	markedAtOnce = 2 * time.Second
	shownWithin  = time.Minute
	confirmEvery = 10 * time.Second
	mostRecent   = 500 // events that are looked through for such mail
)

// confirm holds the mail that clients took against their transcripts: what was
// shown is confirmed, what was lost is sent again, once.
func (s *Store) confirm(ctx context.Context, scope cadre.Scope) error {
	taken, err := s.taken(ctx, scope)
	if err != nil || len(taken) == 0 {
		return err
	}
	v := &cadre.MailSeen{Shown: map[cadre.MessageID]time.Time{}}
	for _, m := range taken {
		at, shown := s.Who.Shown(scope, m)
		switch {
		case shown:
			v.Shown[m.ID] = at
		case m.DeliveredAt.Sub(m.SentAt) < markedAtOnce && s.now().Wall.Sub(*m.DeliveredAt) > shownWithin:
			v.Lost = append(v.Lost, m.ID)
		}
	}
	if len(v.Shown)+len(v.Lost) == 0 {
		return nil
	}
	c := cadre.Command{ID: commandID(scope, "seen", v.Shown, v.Lost), Actor: cadre.Self, Door: door, Verb: "mail seen", Now: s.now()}
	_, err = s.Update(ctx, scope, c, func(snap cadre.Snap) ([]cadre.Event, error) { return v.Decide(snap, c) })
	return err
}

// taken gives our recent mail that clients took and nothing is known about yet.
func (s *Store) taken(ctx context.Context, scope cadre.Scope) (out []*cadre.Message, err error) {
	recent := map[cadre.MessageID]bool{}
	var head cadre.Head
	client := false
	err = s.Store.View(ctx, scope, func(snap cadre.Snap) error {
		head = snap.Head()
		for m, err := range snap.Members() {
			if client = err == nil && m.Backend == cadre.BackendClient && m.State != cadre.StateDeparted; client || err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !client {
		return nil, err
	}
	from := cadre.Head{Epoch: head.Epoch, Seq: head.Seq - min(head.Seq, mostRecent)}
	for e, err := range s.Store.Events(ctx, scope, from, false) {
		if err != nil {
			return nil, err
		}
		if m, ok := e.After.(*cadre.Message); ok && e.Door == door && m.DeliveredAt != nil {
			recent[m.ID] = true
		}
	}
	err = s.Store.View(ctx, scope, func(snap cadre.Snap) error {
		out = nil
		for id := range recent {
			m, err := snap.Message(id)
			if err != nil {
				return err
			}
			if m == nil || m.ConfirmedAt != nil || m.Dead != "" || m.DeliveredAt == nil || m.Kind != cadre.MessagePlain && m.Kind != cadre.MessageBroadcast {
				continue
			}
			to, err := snap.Member(m.To)
			if err != nil {
				return err
			}
			if to != nil && to.Backend == cadre.BackendClient && to.State != cadre.StateDeparted {
				out = append(out, m)
			}
		}
		return nil
	})
	return out, err
}

// Listen notes what clients keep about themselves tells: which mail was shown and which
// was lost, which members fell silent in the middle of their work and which are heard
// again.
func (s *Store) Listen(ctx context.Context, scope cadre.Scope) error {
	if s.Who == nil || s.LookOnly || !kept(scope) {
		return nil
	}
	return errors.Join(s.confirm(ctx, scope), s.hear(ctx, scope))
}

// hear notes who fell silent and who is heard again.
func (s *Store) hear(ctx context.Context, scope cadre.Scope) error {
	v := &cadre.ClientsHeard{}
	c := cadre.Command{Actor: cadre.Self, Door: door, Verb: "clients heard", Now: s.now()}
	changed := false
	err := s.Store.View(ctx, scope, func(snap cadre.Snap) error {
		listens, err := snap.ListensFor(c.Now.Wall)
		if err != nil || !listens {
			return err
		}
		v.Last = s.Who.Heard(scope)
		c.ID = commandID(scope, "heard", v.Last, snap.Head())
		events, err := v.Decide(snap, c)
		changed = len(events) > 0
		return err
	})
	if err != nil || !changed {
		return err
	}
	_, err = s.Update(ctx, scope, c, func(snap cadre.Snap) ([]cadre.Event, error) { return v.Decide(snap, c) })
	return err
}
