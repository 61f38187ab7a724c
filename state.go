package cadre

import (
	"iter"
	"maps"
	"slices"
)

// State is a scope in memory: the objects, their indexes and their history. It
// is a Source, for a store that keeps everything in memory and for a scope as it
// was at an earlier time. The zero value is an empty scope.
//
// A State may be read by many goroutines while nobody applies events to it.
type State struct {
	Name Scope // the scope this is a state of

	head    Head
	objects map[Ref]Object
	indexes map[Index]*sortedKeys
	history map[Ref][]Event
}

var _ Source = (*State)(nil)

// Apply puts the after images of sealed events.
func (st *State) Apply(events ...Event) {
	if st.objects == nil {
		st.objects = map[Ref]Object{}
		st.indexes = map[Index]*sortedKeys{}
		st.history = map[Ref][]Event{}
	}
	for _, e := range events {
		ref := e.ref()
		st.put(ref, e.After)
		st.head = st.head.advance(e.After)
		st.head.Hash = e.Hash
		if e.Seq != 0 {
			st.head.Seq = e.Seq
		}
		st.history[ref] = append(st.history[ref], e)
	}
}

func (st *State) put(ref Ref, after Object) {
	remove, add := Reindex(st.objects[ref], after)
	for _, e := range remove {
		st.indexes[e.Index].remove(e.Key)
	}
	for _, e := range add {
		keys := st.indexes[e.Index]
		if keys == nil {
			keys = &sortedKeys{}
			st.indexes[e.Index] = keys
		}
		keys.add(e.Key, ref)
	}
	if after == nil {
		delete(st.objects, ref)
	} else {
		st.objects[ref] = after
	}
}

// Scope is the scope's name.
func (st *State) Scope() Scope { return st.Name }

// Head is where the log stood.
func (st *State) Head() Head { return st.head }

// Get gives an object, or nil.
func (st *State) Get(r Ref) (Object, error) { return st.objects[r], nil }

// Scan gives the objects of an index in the order of their keys.
func (st *State) Scan(i Index, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, ref := range st.keys(i, prefix, after) {
			if !yield(st.objects[ref], nil) {
				return
			}
		}
	}
}

// keys gives the keys of an index with what stands under them.
func (st *State) keys(i Index, prefix, after string) iter.Seq2[string, Ref] {
	return func(yield func(string, Ref) bool) {
		if keys := st.indexes[i]; keys != nil {
			keys.each(prefix, after, yield)
		}
	}
}

// Count says how many objects an index holds under a prefix.
func (st *State) Count(i Index, prefix string) (int, error) {
	n := 0
	for range st.keys(i, prefix, "") {
		n++
	}
	return n, nil
}

// History gives an object's events, newest first.
func (st *State) History(r Ref) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range slices.Backward(st.history[r]) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Refs gives every object's name, in no particular order.
func (st *State) Refs() iter.Seq[Ref] { return maps.Keys(st.objects) }
