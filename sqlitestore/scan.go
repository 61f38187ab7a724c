package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"cadre"
	"cadre/internal/sqlite"
)

// Most scans look at the first few objects. One that goes on is likely to go on
// to the end: then objects are decoded in blocks, on another processor than the
// one that reads the rows.
const (
	fewRows  = 8
	blockLen = 256
)

const scanEntries = `SELECT o.kind,o.data FROM entry e CROSS JOIN object o ON o.id=e.object
 WHERE e.scope=? AND e.list=? AND e.key>=? AND e.key<? ORDER BY e.key`

func (s *source) Scan(i cadre.Index, prefix, after string) iter.Seq2[cadre.Object, error] {
	return func(yield func(cadre.Object, error) bool) {
		if s.id == 0 {
			return
		}
		if s.empty[i][gap{prefix, after}] {
			return
		}
		from, to := keyRange(prefix, after)
		r, err := s.pen.conn().Query(context.Background(), scanEntries, s.id, string(i), from, to)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for n := range fewRows {
			b := s.block(r, 1)
			if n == 0 && b.end && b.err == nil {
				s.empty.add(i, gap{prefix, after})
			}
			b.decode(s.objects)
			if !b.yield(yield) {
				return
			}
		}
		s.rest(r, yield)
	}
}

// rest gives the remaining rows: one block is decoded while the next is read,
// and while the caller looks at the one before.
func (s *source) rest(r *sqlite.Rows, yield func(cadre.Object, error) bool) {
	this := s.block(r, blockLen)
	for {
		decoded := make(chan struct{})
		go func() {
			defer close(decoded)
			this.decode(s.objects)
		}()
		next := &block{end: true}
		if !this.end {
			next = s.block(r, blockLen)
		}
		<-decoded
		if !this.yield(yield) {
			return
		}
		this = next
	}
}

// block is some rows of a scan.
type block struct {
	kinds   []cadre.Kind
	images  [][]byte
	objects []cadre.Object
	broken  error // the image after the objects cannot be decoded
	err     error // the row after the objects cannot be read
	end     bool  // no row follows
}

// block reads rows, as many as there are up to a number.
func (s *source) block(r *sqlite.Rows, n int) *block {
	b := &block{}
	for range n {
		ok, err := r.Next()
		if !ok || err != nil {
			b.err, b.end = err, true
			break
		}
		b.kinds = append(b.kinds, cadre.Kind(text(r.Val[0])))
		b.images = append(b.images, data(r.Val[1]))
	}
	return b
}

// decode decodes the images. It may run in a goroutine of its own, where a panic
// would end the process: it is the fault of the image that it met.
func (b *block) decode(o *objects) {
	defer func() {
		if p := recover(); p != nil {
			b.broken = cadre.Fault(fmt.Errorf("panic: %v", p), "cadre audit verify", "reading an object of the database")
		}
	}()
	var kind cadre.Kind
	plan := o.plan(kind)
	for i, image := range b.images {
		if b.kinds[i] != kind {
			kind = b.kinds[i]
			plan = o.plan(kind)
		}
		obj, err := decode(plan, kind, image)
		if err != nil {
			b.broken = err
			return
		}
		b.objects = append(b.objects, obj)
	}
}

// yield hands the objects over, and says whether to go on.
func (b *block) yield(yield func(cadre.Object, error) bool) bool {
	for _, o := range b.objects {
		if !yield(o, nil) {
			return false
		}
	}
	if err := cmp.Or(b.broken, b.err); err != nil {
		yield(nil, err)
		return false
	}
	return !b.end
}
