package cadre

import (
	"iter"
	"strings"
)

// Overlay shows a scope as it would be after some events that are not committed
// yet. A batch sees its own events through it.
func Overlay(s Snap, events []Event) Snap {
	o := newOverlay(s.Source)
	for _, e := range events {
		o.put(e)
	}
	return Snap{o}
}

// overlay is a Source: a small State in front of another Source. What it has
// replaced is hidden in the one behind.
type overlay struct {
	base    Source
	changed State
	hidden  map[Ref]bool // everything that is replaced, whether or not the base has it
	head    Head
}

func newOverlay(base Source) *overlay {
	return &overlay{base: base, hidden: map[Ref]bool{}, head: base.Head()}
}

// put adds one event. An event for an object that the overlay already replaced
// takes that one's place.
func (o *overlay) put(e Event) {
	o.hidden[e.ref()] = true
	o.changed.Apply(e)
	o.head = o.head.advance(e.After)
}

func (o *overlay) Scope() Scope { return o.base.Scope() }
func (o *overlay) Head() Head   { return o.head }

func (o *overlay) Get(r Ref) (Object, error) {
	if o.hidden[r] {
		return o.changed.Get(r)
	}
	return o.base.Get(r)
}

// Scan merges both sources by key, leaving out what is hidden behind.
func (o *overlay) Scan(i Index, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		next, stop := iter.Pull2(o.changed.keys(i, prefix, after))
		defer stop()
		key, ref, more := next()
		for behind, err := range o.base.Scan(i, prefix, after) {
			if err != nil {
				yield(nil, err)
				return
			}
			if o.hidden[behind.Ref()] {
				continue
			}
			at := keyIn(behind, i, prefix)
			for ; more && key < at; key, ref, more = next() {
				if !yield(o.changed.objects[ref], nil) {
					return
				}
			}
			if !yield(behind, nil) {
				return
			}
		}
		for ; more; key, ref, more = next() {
			if !yield(o.changed.objects[ref], nil) {
				return
			}
		}
	}
}

// keyIn gives the key under which an index found an object.
func keyIn(o Object, i Index, prefix string) string {
	for _, e := range Entries(o) {
		if e.Index == i && strings.HasPrefix(e.Key, prefix) {
			return e.Key
		}
	}
	return ""
}

// Count takes what is hidden off the base's count and adds its own.
func (o *overlay) Count(i Index, prefix string) (int, error) {
	n, err := o.base.Count(i, prefix)
	if err != nil {
		return 0, err
	}
	for ref := range o.hidden {
		behind, err := o.base.Get(ref)
		if err != nil {
			return 0, err
		}
		for _, e := range Entries(behind) {
			if e.Index == i && strings.HasPrefix(e.Key, prefix) {
				n--
			}
		}
	}
	own, err := o.changed.Count(i, prefix)
	return n + own, err
}

func (o *overlay) History(r Ref) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e := range o.changed.History(r) {
			if !yield(e, nil) {
				return
			}
		}
		for e, err := range o.base.History(r) {
			if !yield(e, err) {
				return
			}
		}
	}
}
