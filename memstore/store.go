// Package memstore keeps scopes in memory: for tests, for a dry run, and as the
// measure that durable stores are compared with. It seals and hashes events as
// they do, and forgets everything when it is closed.
//
// A Store may be used by any number of goroutines. The function given to View
// must not change the scope that it looks at: it would wait for itself.
package memstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"cadre"
)

// Store is a cadre.Store in memory. Use New.
type Store struct {
	mu     sync.RWMutex // taken after a list's own, never before it
	lists  map[cadre.Scope]*list
	added  chan struct{} // closed when the next list appears
	closed bool
}

var (
	_ cadre.Store   = (*Store)(nil)
	_ cadre.Auditor = (*Store)(nil)
)

// New makes an empty store.
func New() *Store {
	return &Store{lists: map[cadre.Scope]*list{}, added: make(chan struct{})}
}

// list is one scope: its log as it would be stored, and what the log makes. One
// that is in the store's map has at least one event.
type list struct {
	mu       sync.RWMutex
	where    cadre.Where // empty until the first event
	state    cadre.State
	events   []cadre.Event
	lines    [][]byte
	commands map[cadre.CommandID][]int
	changed  chan struct{} // closed at the next change
}

func newList(name cadre.Scope) *list {
	return &list{state: cadre.State{Name: name}, commands: map[cadre.CommandID][]int{}, changed: make(chan struct{})}
}

var errClosed = errors.New("the store is closed")

// find gives a scope's list, nil where there is none, and a channel that is
// closed when one appears.
func (s *Store) find(name cadre.Scope) (*list, <-chan struct{}, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, nil, errClosed
	}
	return s.lists[name], s.added, nil
}

// put gives a list its first name, unless somebody else was faster.
func (s *Store) put(l *list) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.lists[l.state.Name] != nil {
		return false
	}
	s.lists[l.state.Name] = l
	close(s.added)
	s.added = make(chan struct{})
	return true
}

func archived(name cadre.Scope) error {
	return cadre.Refuse(cadre.RuleMissing, "cadre team restore "+string(name), "%s is archived", name)
}

// View shows a scope as it is now.
func (s *Store) View(ctx context.Context, name cadre.Scope, look func(cadre.Snap) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l, _, err := s.find(name)
	if err != nil {
		return err
	}
	if l == nil {
		return look(cadre.Snap{Source: &cadre.State{Name: name}})
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.where == cadre.Archive {
		return archived(name)
	}
	return look(cadre.Snap{Source: &l.state})
}

// At shows a scope as it was after an event.
func (s *Store) At(ctx context.Context, name cadre.Scope, seq cadre.Seq, look func(cadre.Snap) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l, _, err := s.find(name)
	if err != nil {
		return err
	}
	then := &cadre.State{Name: name}
	var head cadre.Head
	if l != nil {
		l.mu.RLock()
		head = l.state.Head()
		for _, e := range l.events {
			if e.Seq <= seq {
				then.Apply(e)
			}
		}
		l.mu.RUnlock()
	}
	if seq > head.Seq {
		return cadre.Refuse(cadre.RuleMissing, "cadre log --scope "+string(name), "%s has no event %d: its last is %d", name, seq, head.Seq)
	}
	return look(cadre.Snap{Source: then})
}

// Scopes lists the scopes by name.
func (s *Store) Scopes(ctx context.Context) iter.Seq2[cadre.ScopeInfo, error] {
	return func(yield func(cadre.ScopeInfo, error) bool) {
		s.mu.RLock()
		lists := maps.Clone(s.lists)
		s.mu.RUnlock()
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			if err := ctx.Err(); err != nil {
				yield(cadre.ScopeInfo{}, err)
				return
			}
			l := lists[name]
			l.mu.RLock()
			info := cadre.ScopeInfo{Scope: name, Where: l.where, Head: l.state.Head()}
			l.mu.RUnlock()
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Close forgets everything. Followers end.
func (s *Store) Close() error {
	s.mu.Lock()
	lists := s.lists
	s.lists = map[cadre.Scope]*list{}
	if !s.closed {
		close(s.added)
	}
	s.closed = true
	s.mu.Unlock()
	for _, l := range lists {
		l.mu.Lock()
		l.wake()
		l.mu.Unlock()
	}
	return nil
}

// Audit holds every chain against itself and the anchors.
func (s *Store) Audit(ctx context.Context, anchors []cadre.Anchor) (*cadre.AuditReport, error) {
	report := &cadre.AuditReport{Anchors: len(anchors)}
	for info, err := range s.Scopes(ctx) {
		if err != nil {
			return nil, err
		}
		l, _, err := s.find(info.Scope)
		if err != nil || l == nil {
			return nil, fmt.Errorf("auditing %s: it went away: %w", info.Scope, err)
		}
		check := cadre.NewChainCheck(info.Scope, anchors)
		l.mu.RLock()
		for i, e := range l.events {
			check.Add(e.Seq, e.Hash, l.lines[i])
		}
		report.Events += len(l.events)
		l.mu.RUnlock()
		report.Scopes++
		for range check.State().Refs() {
			report.Objects++
		}
		report.Findings = append(report.Findings, check.Finish()...)
	}
	return report, nil
}

// newEpoch names a new epoch.
func newEpoch() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never returns an error
	return hex.EncodeToString(b)
}
