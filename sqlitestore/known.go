package sqlitestore

import (
	"errors"

	"cadre"
	"cadre/internal/sqlite"
)

// known is what the last commit of this process left: as long as no other
// connection commits, the next transaction need not read it again. It belongs to
// whoever leads the queue.
type known struct {
	c       *sqlite.Conn // the connection that committed
	version uint32       // of the database, as that connection left it
	scopes  map[cadre.Scope]*scope
}

// maxKnown is how many objects are remembered.
const maxKnown = 2000

// recall gives the scopes that a transaction knows from the start: those that the
// last one left in the database just so. Where others wrote since, a newer program may
// have replaced this one while it ran, and it writes no more.
func (s *Store) recall(c *sqlite.Conn) (map[cadre.Scope]*scope, error) {
	last := s.known
	s.known = known{} // what this transaction does to them may be taken back
	if now, err := c.Version(); err != nil || last.c != c || now != last.version {
		have, also := version(c)
		return map[cadre.Scope]*scope{}, errors.Join(err, also, s.notNewer(have))
	}
	objects := 0
	for name, sc := range last.scopes {
		if sc.changed, sc.added = false, nil; sc.id == 0 || sc.missing != nil || sc.rebuild {
			delete(last.scopes, name)
		}
		objects += len(sc.cache) + 1
	}
	if objects > maxKnown {
		return map[cadre.Scope]*scope{}, nil
	}
	return last.scopes, nil
}

// remember keeps what a transaction knows, once it is durable.
func (s *Store) remember(c *sqlite.Conn, scopes map[cadre.Scope]*scope) {
	if version, err := c.Version(); err == nil {
		s.known = known{c, version, scopes}
	}
}

// gaps are where an index has nothing, until something is put into it: what one
// command looks for in vain, the next is likely to look for too.
type gaps map[cadre.Index]map[gap]bool

// gap is what a scan asked for.
type gap struct{ prefix, after string }

// add notes a gap, where they are noted at all.
func (g gaps) add(i cadre.Index, one gap) {
	if g == nil {
		return
	}
	if g[i] == nil || len(g[i]) == maxKnown {
		g[i] = map[gap]bool{}
	}
	g[i][one] = true
}
