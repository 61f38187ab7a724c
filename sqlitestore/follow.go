package sqlitestore

import (
	"context"
	"iter"
	"time"

	"cadre"
	"cadre/internal/sqlite"
)

// rescan is how long a follower trusts that it would have been woken. Tests change it.
var rescan = time.Second

// chunk is how many events are read at once: what a reader does with them
// happens outside the transaction.
const chunk = 500 // and in eventsAfter: with a parameter there, SQLite would prepare it anew each time

// Events gives the log after a head, and with follow what comes next.
func (s *Store) Events(ctx context.Context, name cadre.Scope, after cadre.Head, follow bool) iter.Seq2[cadre.Event, error] {
	return func(yield func(cadre.Event, error) bool) {
		if follow {
			s.watch.start(s.heads.root.Name(), s.signals.wake)
			defer s.recent.follow(name)()
		}
		for {
			changed := s.signals.wait(headName(name))
			events, next := s.recent.after(name, after)
			more := len(events) > 0
			var err error
			if !more {
				events, next, more, err = s.after(ctx, name, after)
			}
			if err != nil {
				if !follow || ctx.Err() == nil {
					yield(cadre.Event{}, err)
				}
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			after = next
			if more {
				continue
			}
			if !follow || !sleep(ctx, changed) {
				return
			}
		}
	}
}

// sleep waits for a change, and says whether to go on.
func sleep(ctx context.Context, changed <-chan struct{}) bool {
	timer := time.NewTimer(rescan)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-timer.C:
	}
	return true
}

const eventsAfter = "SELECT id,hash,line FROM event WHERE id>? AND id<=? ORDER BY id LIMIT 500"

// after reads the next events behind a cursor, and the cursor behind them. A
// reader that began at the start has no epoch to compare until it has caught up.
func (s *Store) after(ctx context.Context, name cadre.Scope, cursor cadre.Head) (events []cadre.Event, next cadre.Head, more bool, err error) {
	err = s.read(ctx, name, "reading the log of "+string(name), func(c *sqlite.Conn, sc *scope) error {
		if err := follows(c, sc, cursor); err != nil {
			return err
		}
		var failed error
		each(c, func(e cadre.Event, err error) bool {
			events, failed = append(events, e), err
			return err == nil
		}, eventsAfter, eventID(sc.id, cursor.Seq), eventID(sc.id, sc.head.Seq))
		next, more = sc.head, len(events) == chunk
		if more {
			next = cadre.Head{Epoch: cursor.Epoch, Seq: events[len(events)-1].Seq}
		}
		return failed
	})
	return events, next, more, err
}

// follows refuses a cursor that is not a place in this log.
func follows(c *sqlite.Conn, sc *scope, cursor cadre.Head) error {
	if cursor.Seq > sc.head.Seq || cursor.Epoch != "" && cursor.Epoch != sc.head.Epoch {
		return &cadre.EpochError{Head: sc.head}
	}
	if cursor.Epoch == "" || cursor.Hash == "" || sc.head.Hash == cursor.Hash {
		return nil
	}
	v, err := c.Row(hashAt, eventID(sc.id, cursor.Seq))
	if err != nil {
		return err
	}
	if v == nil || text(v[0]) != cursor.Hash {
		return &cadre.EpochError{Head: sc.head}
	}
	return nil
}
