package memstore

import (
	"context"

	"cadre"
)

// Move archives, restores, erases or renames a scope.
func (s *Store) Move(ctx context.Context, name cadre.Scope, c cadre.Command, to cadre.Dest) (cadre.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return cadre.Receipt{}, err
	}
	if to.Name == name {
		to.Name = ""
	}
	for _, at := range []cadre.Scope{name, to.Name} {
		l, _, err := s.find(at)
		if err != nil {
			return cadre.Receipt{}, err
		}
		if l == nil {
			continue
		}
		l.mu.RLock()
		r, again := l.replay(c)
		l.mu.RUnlock()
		if again {
			return r, nil
		}
	}
	l, _, err := s.find(name)
	if err != nil {
		return cadre.Receipt{}, err
	}
	if l == nil {
		l = newList(name) // MarkMove refuses it
	}
	return s.move(ctx, name, l, c, to)
}

// move moves a list, unless it is no longer the one of that name.
func (s *Store) move(ctx context.Context, name cadre.Scope, l *list, c cadre.Command, to cadre.Dest) (cadre.Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.where == cadre.Gone || l.state.Name != name {
		l = newList(name)
	}
	mark, err := cadre.MarkMove(cadre.Snap{Source: &l.state}, to, c.Now)
	if err != nil {
		return cadre.Receipt{}, err
	}
	if to.Name == "" && (to.Where == "" || to.Where == l.where) {
		return cadre.Receipt{Head: l.state.Head()}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.Name != "" && s.lists[to.Name] != nil {
		return cadre.Receipt{}, cadre.Refuse(cadre.RuleExists, "cadre team list --all", "there is already a list %s", to.Name)
	}
	r, err := l.append(ctx, c, []cadre.Event{mark})
	if err != nil {
		return cadre.Receipt{}, err
	}
	if to.Where != "" {
		l.where = to.Where
	}
	if to.Name != "" || to.Where == cadre.Gone {
		delete(s.lists, name)
	}
	if to.Name != "" {
		l.state.Name = to.Name
		s.lists[to.Name] = l
		close(s.added)
		s.added = make(chan struct{})
	}
	return r, nil
}
