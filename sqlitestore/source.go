package sqlitestore

import (
	"context"
	"encoding/json"
	"iter"

	"cadre"
	"cadre/internal/sqlite"
)

// source reads a scope through one connection, inside a transaction. It sees
// what that transaction has written so far.
type source struct {
	pen   *pen
	id    int64
	name  cadre.Scope
	head  cadre.Head
	until cadre.Seq // History ends here; 0 is no end

	objects *objects
	cache   map[cadre.Ref]cadre.Object // of a transaction that decides several commands, else nil
	empty   gaps                       // likewise
}

var _ cadre.Source = (*source)(nil)

func (s *source) Scope() cadre.Scope { return s.name }
func (s *source) Head() cadre.Head   { return s.head }

const getObject = "SELECT data FROM object WHERE scope=? AND kind=? AND name=?"

func (s *source) Get(r cadre.Ref) (cadre.Object, error) {
	if s.id == 0 {
		return nil, nil
	}
	if o, known := s.cache[r]; known {
		return o, nil
	}
	v, err := s.pen.conn().Row(getObject, s.id, string(r.Kind), r.ID)
	if err != nil {
		return nil, err
	}
	var o cadre.Object
	if v != nil {
		if o, err = decode(s.objects.plan(r.Kind), r.Kind, data(v[0])); err != nil {
			return nil, err
		}
	}
	if s.cache != nil {
		s.cache[r] = o
	}
	return o, nil
}

const countEntries = "SELECT count(*) FROM entry WHERE scope=? AND list=? AND key>=? AND key<?"

func (s *source) Count(i cadre.Index, prefix string) (int, error) {
	if s.id == 0 {
		return 0, nil
	}
	from, to := keyRange(prefix, "")
	v, err := s.pen.conn().Row(countEntries, s.id, string(i), from, to)
	if err != nil {
		return 0, err
	}
	n, err := number(v[0])
	return int(n), err
}

// keyRange gives the first key and the one past the last that begin with prefix
// and come after another key. Keys are UTF-8, so no key begins with 0xff.
func keyRange(prefix, after string) (from, to []byte) {
	from = []byte(prefix)
	if after >= prefix && after != "" {
		from = append([]byte(after), 0)
	}
	to = append([]byte(prefix), 0xff)
	return from, to
}

const objectEvents = "SELECT id,hash,line FROM event WHERE scope=? AND kind=? AND object=? AND id<=? ORDER BY id DESC"

func (s *source) History(r cadre.Ref) iter.Seq2[cadre.Event, error] {
	return func(yield func(cadre.Event, error) bool) {
		if s.id == 0 {
			return
		}
		until := s.until
		if until == 0 {
			until = maxSeq
		}
		each(s.pen.conn(), yield, objectEvents, s.id, string(r.Kind), r.ID, eventID(s.id, until))
	}
}

// each decodes the events that a query gives.
func each(c *sqlite.Conn, yield func(cadre.Event, error) bool, query string, args ...any) {
	r, err := c.Query(context.Background(), query, args...)
	if err != nil {
		yield(cadre.Event{}, err)
		return
	}
	defer r.Close()
	for {
		ok, err := r.Next()
		if !ok && err == nil {
			return
		}
		var e cadre.Event
		if err == nil {
			e, err = decodeEvent(r.Val[0], r.Val[1], r.Val[2])
		}
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// decodeEvent reads a stored event. Its hash is not in the line: it is of it.
func decodeEvent(id, hash, line any) (cadre.Event, error) {
	var e cadre.Event
	n, err := number(id)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data(line), &e); err != nil {
		return e, cadre.Fault(err, "cadre audit verify", "reading event %d", seqOf(n))
	}
	e.Hash = text(hash)
	return e, nil
}

// An event's id is its scope's number above its own.
const (
	seqBits = 40
	maxSeq  = cadre.Seq(1)<<seqBits - 1
)

func eventID(scope int64, seq cadre.Seq) int64 { return scope<<seqBits | int64(seq&maxSeq) }
func seqOf(id int64) cadre.Seq                 { return cadre.Seq(id) & maxSeq }
