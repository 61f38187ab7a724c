package cadre

import (
	"slices"
	"time"
)

// Binding says which scopes a caller works on, the newest last. It stands in
// the Host scope and can be made again from the teams themselves.
type Binding struct {
	Caller string    `json:"caller"` // "session UUID" or "folder /path"
	Scopes []Scope   `json:"scopes"`
	At     time.Time `json:"at"`
}

// BindSession and BindFolder name a binding's caller.
func BindSession(id string) string { return "session " + id }
func BindFolder(dir string) string { return "folder " + dir }

func (b *Binding) Ref() Ref                  { return Ref{KindBinding, b.Caller} }
func (b *Binding) order() string             { return b.Caller }
func (b *Binding) index(func(Index, string)) {}

// Bind sets which scopes a caller works on; only in the Host scope.
type Bind struct {
	Caller string `json:"caller"`
	Scope  Scope  `json:"scope"`
	Undo   bool   `json:"undo,omitempty"` // forget the scope
}

// Decide puts the scope last, or takes it out.
func (v *Bind) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	old, err := d.Binding(v.Caller)
	if err != nil {
		return nil, err
	}
	next := &Binding{Caller: v.Caller, At: d.now()}
	var before Object
	if old != nil {
		before = old
		next.Scopes = slices.DeleteFunc(slices.Clone(old.Scopes), func(s Scope) bool { return s == v.Scope })
	}
	if !v.Undo {
		next.Scopes = append(next.Scopes, v.Scope)
	}
	if old != nil && slices.Equal(old.Scopes, next.Scopes) || old == nil && v.Undo {
		return nil, nil
	}
	d.put(before, next)
	return d.finish()
}

// Answer gives the binding.
func (v *Bind) Answer(s Snap, _ Command, _ Receipt) (any, error) { return s.Binding(v.Caller) }

// Erasure says that a scope was erased for good: all that is left of it, in the
// Host scope, so that a list that somebody removed can be told from one that was
// erased on purpose.
type Erasure struct {
	Scope Scope     `json:"scope"`
	Head  Head      `json:"head"` // where its log stood
	By    Actor     `json:"by"`
	At    time.Time `json:"at"`
}

func (e *Erasure) Ref() Ref                  { return Ref{KindErasure, string(e.Scope) + "/" + e.Head.Epoch} }
func (e *Erasure) order() string             { return joinKey(string(e.Scope), e.Head.Epoch) }
func (e *Erasure) index(func(Index, string)) {}

// Erase records an erasure; only in the Host scope.
type Erase struct {
	Scope Scope
	Head  Head
}

// Decide records it.
func (v *Erase) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	gone := &Erasure{Scope: v.Scope, Head: v.Head, By: c.Actor, At: d.now()}
	before, err := d.Get(gone.Ref())
	if err != nil || before != nil {
		return nil, err
	}
	d.put(nil, gone)
	tokens, err := collect(d.Tokens())
	if err != nil {
		return nil, err
	}
	for _, t := range tokens { // a later list of that name is another
		if t.Scope == v.Scope && t.RevokedAt == nil {
			d.put(t, t.revoked(d.now()))
		}
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *Erase) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }
