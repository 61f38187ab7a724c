package sqlitestore

import (
	"sync"

	"cadre"
)

// recent is what this process committed last to the scopes that it follows: those
// who follow them need not read it again. The zero value is ready.
type recent struct {
	mu     sync.Mutex
	scopes map[cadre.Scope]*stretch
}

// stretch is one event after the other, up to a head.
type stretch struct {
	followers int
	events    []cadre.Event
	head      cadre.Head
}

// follow keeps what is committed to a scope from now on, until stop is called.
func (r *recent) follow(name cadre.Scope) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scopes == nil {
		r.scopes = map[cadre.Scope]*stretch{}
	}
	if r.scopes[name] == nil {
		r.scopes[name] = &stretch{}
	}
	r.scopes[name].followers++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if st := r.scopes[name]; st.followers > 1 {
			st.followers--
		} else {
			delete(r.scopes, name)
		}
	}
}

// add notes what a commit added, and the head that it left.
func (r *recent) add(name cadre.Scope, events []cadre.Event, head cadre.Head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.scopes[name]
	if st == nil {
		return
	}
	if len(st.events) >= chunk || st.head.Epoch != head.Epoch || st.head.Hash != events[0].Prev {
		st.events = nil // followers have it, or read it
	}
	st.events, st.head = append(st.events, events...), head
}

// after gives what comes after a cursor, if that is the newest that there is here.
func (r *recent) after(name cadre.Scope, cursor cadre.Head) ([]cadre.Event, cadre.Head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.scopes[name]
	if st == nil || len(st.events) == 0 || cursor.Epoch != st.head.Epoch || cursor.Hash == "" || cursor.Seq >= st.head.Seq || cursor.Seq+1 < st.events[0].Seq {
		return nil, cursor
	}
	events := st.events[cursor.Seq+1-st.events[0].Seq:]
	if events[0].Prev != cursor.Hash {
		return nil, cursor
	}
	return events[:len(events):len(events)], st.head
}
