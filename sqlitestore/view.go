package sqlitestore

import (
	"context"
	"iter"

	"cadre"
	"cadre/internal/sqlite"
)

// read runs a function in a read transaction on one scope.
func (s *Store) read(ctx context.Context, name cadre.Scope, doing string, look func(*sqlite.Conn, *scope) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	healthy := false
	defer func() { s.release(c, healthy) }()
	if err := c.Exec("BEGIN"); err != nil {
		return s.fault(err, doing)
	}
	sc, err := readScope(c, name)
	if err == nil {
		err = look(c, sc)
	}
	ended := c.Exec("COMMIT")
	healthy = ended == nil
	if code(err) != 0 {
		return s.fault(err, doing)
	}
	if err == nil && ended != nil {
		return s.fault(ended, doing)
	}
	return err
}

// View shows a scope as it is now.
func (s *Store) View(ctx context.Context, name cadre.Scope, look func(cadre.Snap) error) error {
	return s.read(ctx, name, "reading "+string(name), func(c *sqlite.Conn, sc *scope) error {
		if sc.place == cadre.Archive {
			return archived(name)
		}
		return look(cadre.Snap{Source: s.source(&pen{c: c}, sc)})
	})
}

// past is a scope as it was: the state in memory, the history in the log.
type past struct {
	*cadre.State
	log *source
}

func (p past) History(r cadre.Ref) iter.Seq2[cadre.Event, error] { return p.log.History(r) }

// At shows a scope as it was after an event.
func (s *Store) At(ctx context.Context, name cadre.Scope, seq cadre.Seq, look func(cadre.Snap) error) error {
	return s.read(ctx, name, "reading "+string(name), func(c *sqlite.Conn, sc *scope) error {
		if seq > sc.head.Seq {
			return cadre.Refuse(cadre.RuleMissing, "cadre log --scope "+string(name), "%s has no event %d: its last is %d", name, seq, sc.head.Seq)
		}
		if seq == 0 {
			return look(cadre.Snap{Source: &cadre.State{Name: name}})
		}
		then, err := stateAt(ctx, c, sc, seq)
		if err != nil {
			return err
		}
		log := s.source(&pen{c: c}, sc)
		log.until = seq
		return look(cadre.Snap{Source: past{then, log}})
	})
}

const newestEvents = `SELECT id,hash,line FROM event WHERE id IN
 (SELECT max(id) FROM event WHERE scope=? AND id<=? GROUP BY kind,object) ORDER BY id`

// stateAt applies the newest event of each object up to a number.
func stateAt(ctx context.Context, c *sqlite.Conn, sc *scope, seq cadre.Seq) (*cadre.State, error) {
	then := &cadre.State{Name: sc.name}
	var failed error
	each(c, func(e cadre.Event, err error) bool {
		if err == nil {
			err = ctx.Err()
		}
		if failed = err; err == nil {
			then.Apply(e)
		}
		return err == nil
	}, newestEvents, sc.id, eventID(sc.id, seq))
	return then, failed
}

const listScopes = "SELECT name,id,place,epoch,seq,hash,fence,next FROM scope ORDER BY name"

// Scopes lists every scope that was written to and is not gone.
func (s *Store) Scopes(ctx context.Context) iter.Seq2[cadre.ScopeInfo, error] {
	return func(yield func(cadre.ScopeInfo, error) bool) {
		var all []cadre.ScopeInfo
		err := s.read(ctx, "", "listing", func(c *sqlite.Conn, _ *scope) error {
			return scopes(c, func(row []any) error {
				sc, err := scanScope(cadre.Scope(text(row[0])), row[1:])
				if err == nil {
					all = append(all, cadre.ScopeInfo{Scope: sc.name, Where: sc.place, Head: sc.head})
				}
				return err
			})
		})
		if err != nil {
			yield(cadre.ScopeInfo{}, err)
			return
		}
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// scopes hands over every scope's row: its name, and what scanScope takes.
func scopes(c *sqlite.Conn, add func([]any) error) error {
	r, err := c.Query(context.Background(), listScopes)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		ok, err := r.Next()
		if !ok || err != nil {
			return err
		}
		if err := add(r.Val); err != nil {
			return err
		}
	}
}
