package sqlitestore

import "cadre"

const (
	moveScope    = "UPDATE scope SET name=?,place=? WHERE id=?"
	eraseEvents  = "DELETE FROM event WHERE id>? AND id<=?"
	eraseObjects = "DELETE FROM object WHERE scope=?"
	eraseEntries = "DELETE FROM entry WHERE scope=?"
	eraseScope   = "DELETE FROM scope WHERE id=?"
)

// move runs a Move inside the transaction.
func (b *batch) move(r *request, sc *scope) (receipt cadre.Receipt, refused, failed error) {
	receipt, found, err := b.moved(r, sc)
	if found || err != nil {
		return receipt, nil, err
	}
	snap, open, err := b.open(sc, r.cmd)
	if err != nil {
		return receipt, nil, err
	}
	if sc.id == 0 {
		snap = cadre.Snap{Source: b.s.source(&b.pen, sc)} // MarkMove refuses it
	}
	mark, err := cadre.MarkMove(snap, *r.to, r.cmd.Now)
	if err != nil {
		return receipt, err, nil
	}
	if r.to.Name == "" && (r.to.Where == "" || r.to.Where == sc.place) {
		return cadre.Receipt{Head: sc.head}, nil, nil
	}
	if r.to.Name != "" {
		other, err := b.scope(r.to.Name)
		if err != nil {
			return receipt, nil, err
		}
		if other.id != 0 {
			return receipt, cadre.Refuse(cadre.RuleExists, "cadre team list --all", "there is already a list %s", r.to.Name), nil
		}
	}
	receipt, refused, failed = b.append(r, sc, open, []cadre.Event{mark})
	if refused != nil || failed != nil {
		return receipt, refused, failed
	}
	return receipt, nil, b.place(sc, *r.to)
}

// moved finds the receipt of a move that was made before, under either name.
func (b *batch) moved(r *request, sc *scope) (cadre.Receipt, bool, error) {
	receipt, found, err := b.replay(sc, r.cmd)
	if found || err != nil || r.to.Name == "" {
		return receipt, found, err
	}
	other, err := b.scope(r.to.Name)
	if err != nil {
		return receipt, false, err
	}
	return b.replay(other, r.cmd)
}

// place puts a scope where a move takes it. The head record of a name that ends
// goes before the commit: a record without a log would look like a lost log.
func (b *batch) place(sc *scope, to cadre.Dest) error {
	old := sc.name
	if to.Where != "" {
		sc.place = to.Where
	}
	if to.Name != "" {
		sc.name = to.Name
		b.scopes[to.Name] = sc
	}
	if err := b.update(sc); err != nil {
		return err
	}
	if err := b.pen.conn().Exec(moveScope, string(sc.name), string(sc.place), sc.id); err != nil {
		return err
	}
	if to.Name != "" || to.Where == cadre.Gone {
		b.ended = append(b.ended, old)
		b.scopes[old] = &scope{name: old, place: cadre.Live, cache: map[cadre.Ref]cadre.Object{}}
		b.s.beside.remove(old)
		if err := b.s.heads.remove(old); err != nil {
			return err
		}
	}
	if sc.place != cadre.Gone {
		return nil
	}
	if err := b.pen.conn().Exec(eraseEvents, eventID(sc.id, 0), eventID(sc.id, maxSeq)); err != nil {
		return err
	}
	for _, erase := range []string{eraseObjects, eraseEntries, eraseScope} {
		if err := b.pen.conn().Exec(erase, sc.id); err != nil {
			return err
		}
	}
	return nil
}
