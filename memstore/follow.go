package memstore

import (
	"context"
	"iter"

	"cadre"
)

// Events gives the log after a head, and with follow what comes next.
func (s *Store) Events(ctx context.Context, name cadre.Scope, after cadre.Head, follow bool) iter.Seq2[cadre.Event, error] {
	return func(yield func(cadre.Event, error) bool) {
		for {
			l, added, err := s.find(name)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				if !follow || ctx.Err() == nil {
					yield(cadre.Event{}, err)
				}
				return
			}
			events, head, changed, err := l.after(after)
			if err != nil {
				yield(cadre.Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			after = head
			if !follow {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-added:
			}
		}
	}
}

// after gives the events behind a cursor, the head they lead to, and a channel
// that is closed at the next change.
func (l *list) after(cursor cadre.Head) ([]cadre.Event, cadre.Head, <-chan struct{}, error) {
	var head cadre.Head
	if l == nil {
		if cursor.Seq > 0 {
			return nil, head, nil, &cadre.EpochError{}
		}
		return nil, head, nil, nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	head = l.state.Head()
	if cursor.Seq > head.Seq || cursor.Epoch != "" && cursor.Epoch != head.Epoch {
		return nil, head, nil, &cadre.EpochError{Head: head}
	}
	first := len(l.events)
	for first > 0 && l.events[first-1].Seq > cursor.Seq {
		first--
	}
	if cursor.Epoch != "" && cursor.Hash != "" && (first == 0 || l.events[first-1].Hash != cursor.Hash) {
		return nil, head, nil, &cadre.EpochError{Head: head}
	}
	return l.events[first:len(l.events):len(l.events)], head, l.changed, nil
}
