package claudedir

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// finishClearing removes the files of scopes that left while they could not be
// removed: as long as they are, they are remembered.
func (s *Store) finishClearing(ctx context.Context, known map[cadre.Scope]cadre.Where, note func(cadre.Scope, error)) {
	f, err := s.memory.Open(".")
	if err != nil {
		note("all lists", err)
		return
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	note("all lists", err)
	for _, name := range names {
		scope, ok := strings.CutSuffix(name, ".files")
		if ok && known[cadre.Scope(scope)] != cadre.Live {
			note(cadre.Scope(scope), s.clear(ctx, cadre.Scope(scope), false))
		}
	}
}

// clear removes the files of a scope that left, as far as they are as we know them;
// anything else stays where it is. As long as one of ours could not be removed they
// are remembered, and it is tried again. Unless the scope was erased just now, the
// log must know that it left: files that it does not know are somebody's.
func (s *Store) clear(ctx context.Context, scope cadre.Scope, erased bool) error {
	if there, err := s.open(false); err != nil || !there {
		return err
	}
	pl := s.place(scope)
	pl.running.Lock()
	defer pl.running.Unlock()
	if err := pl.lock.Acquire(ctx); err != nil {
		return err
	}
	defer pl.lock.Release()
	pl.done = cadre.Head{}
	m, err := loadMemory(s.memory, scope)
	if err != nil {
		return err
	}
	p := &pass{Store: s, ctx: ctx, scope: scope, mem: m}
	defer p.close()
	if m.Epoch == "" {
		return m.drop() // nothing of ours is there
	}
	if !erased {
		if live, left, err := s.left(ctx, scope, m); err != nil || live {
			return err
		} else if !left {
			return m.drop()
		}
	}
	if err := errors.Join(p.openList(false), p.openTeam(false)); err != nil {
		return err
	}
	if err := p.clearFiles(); err != nil {
		return err
	}
	for _, folder := range []string{"tasks/" + string(scope), "teams/" + string(scope) + "/inboxes", "teams/" + string(scope)} {
		names, err := s.names(folder)
		if err == nil && len(names) == 0 {
			err = absent(s.root.Remove(folder))
		}
		if err != nil {
			return err
		}
	}
	return m.drop()
}

// left says whether a scope whose files are remembered is there, and if not, whether
// the log knows where it went: it is archived, has another name, or was erased. A log
// that does not, or that is behind what the files were written from, was lost or put
// back from a backup, and the files may be all that there is.
func (s *Store) left(ctx context.Context, scope cadre.Scope, m *memory) (live, left bool, err error) {
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return false, false, err
		}
		live = live || info.Scope == scope && info.Where == cadre.Live
		left = left || info.Head.Epoch == m.Epoch && info.Head.Seq >= m.Seq
	}
	if live || left {
		return live, left, nil
	}
	err = s.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
		gone, err := snap.Get((&cadre.Erasure{Scope: scope, Head: cadre.Head{Epoch: m.Epoch}}).Ref())
		e, ok := gone.(*cadre.Erasure)
		left = ok && e.Head.Seq >= m.Seq
		return err
	})
	return false, left, err
}

func (p *pass) clearFiles() error {
	tasks, err := p.mem.table()
	if err != nil {
		return err
	}
	var errs []error
	for id, known := range tasks.each() {
		if p.list != nil {
			errs = append(errs, removeKnown(p.list, string(id)+".json", known))
		}
	}
	for key, known := range p.mem.Files {
		if name, ok := strings.CutPrefix(key, "inboxes/"); ok && p.team.boxes != nil {
			errs = append(errs, removeKnown(p.team.boxes, name+".json", known))
		} else if !ok && p.team.dir != nil {
			errs = append(errs, removeKnown(p.team.dir, key, known))
		}
	}
	if p.list != nil {
		errs = append(errs, p.clearList())
	}
	for _, dir := range []*swapfile.Dir{p.team.dir, p.team.boxes} {
		if dir != nil {
			errs = append(errs, swapfile.Sweep(dir, 0, nil))
		}
	}
	return joinErr(slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
}

// clearList removes what is in a list besides tasks, unless tasks are left.
func (p *pass) clearList() error {
	if err := swapfile.Sweep(p.list, 0, nil); err != nil {
		return err
	}
	names, err := namesIn(p.list)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != ".lock" && name != markName {
			return nil
		}
	}
	return errors.Join(absent(p.list.Root().Remove(".lock")), absent(p.list.Root().Remove(markName)))
}

// removeKnown removes a file if it is the one that is remembered.
func removeKnown(dir *swapfile.Dir, name string, known slot) error {
	data, _, err := swapfile.Read(dir, name, claudefile.MaxFile)
	if err != nil || hashOf(data) != known.Hash {
		return unreadable(err)
	}
	old, err := swapfile.Remove(dir, name)
	if err != nil {
		return absent(err)
	}
	return old.Done()
}

// drop forgets a scope for good.
func (m *memory) drop() error {
	err := m.forget()
	if err2 := m.root.Remove(m.name + ".files"); err2 != nil && !errors.Is(err2, os.ErrNotExist) && err == nil {
		err = err2
	}
	m.saved = ""
	return err
}
