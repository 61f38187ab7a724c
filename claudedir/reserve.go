package claudedir

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// reservation is a run of task ids that nobody else will use.
type reservation struct {
	first uint64
	n     int
}

// reserve takes ids: under the lock that clients make tasks under, the largest id
// is read and the mark that clients count from is raised past ours. The lock is
// free again before anything is made durable.
func (s *Store) reserve(ctx context.Context, scope cadre.Scope, n int, next uint64) (reservation, error) {
	if _, err := s.open(true); err != nil {
		return reservation{}, err
	}
	p := s.place(scope)
	p.running.Lock()
	defer p.running.Unlock()
	if err := p.lock.Acquire(ctx); err != nil {
		return reservation{}, err
	}
	defer p.lock.Release()
	m, err := loadMemory(s.memory, scope)
	if err != nil {
		return reservation{}, err
	}
	pass := &pass{Store: s, ctx: ctx, scope: scope, mem: m}
	defer pass.close()
	r, err := pass.reserveLocked(n, next)
	if err2 := m.save(); err == nil {
		err = err2
	}
	return r, err
}

// reserveLocked reserves n ids from the log's next one on, for who has the scope's
// lock.
func (p *pass) reserveLocked(n int, next uint64) (reservation, error) {
	if err := p.openList(true); err != nil {
		return reservation{}, err
	}
	r := reservation{n: n}
	err := p.underListLock(func() error {
		mark, err := p.readMark()
		if err != nil {
			return err
		}
		if p.mem.ListAt == 0 {
			err = p.largest()
		}
		r.first = max(p.mem.Largest, mark, max(1, next)-1) + 1
		if _, gone := swapfile.Stat(p.list, strconv.FormatUint(r.first, 10)+".json"); err == nil && gone == nil {
			// Whoever made a task since the names were last read got this number: there
			// are more, and the names have to be read again.
			err = p.largest()
			r.first = max(r.first, p.mem.Largest+1)
		}
		if err != nil {
			return err
		}
		return p.writeMark(r.first + uint64(n) - 1)
	})
	return r, err
}

// largest finds the largest number in the list. The files are not looked at, so
// that the next look still finds what changed.
func (p *pass) largest() error {
	before := *p.mem
	if err := p.readNames(0); err != nil {
		return err
	}
	p.mem.ListAt, p.mem.ListSaw, p.mem.Sum, p.mem.Unsure = before.ListAt, before.ListSaw, before.Sum, true
	return nil
}

const markName = ".highwatermark"

func (p *pass) readMark() (uint64, error) {
	data, _, err := swapfile.Read(p.list, markName, 64)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, swapfile.ErrTooLarge) {
		return 0, nil
	}
	return claudefile.ReadMark(data), err
}

func (p *pass) writeMark(n uint64) error {
	content := claudefile.WriteMark(n)
	for {
		_, old, err := swapfile.Exchange(p.list, markName, content)
		if err == nil {
			return old.Done()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, exists, err := swapfile.Create(p.list, markName, content); err != nil || !exists {
			return err
		}
	}
}

// raiseMark keeps clients from using the number of a removed task again.
func (p *pass) raiseMark(n uint64) error {
	return p.underListLock(func() error {
		mark, err := p.readMark()
		if err != nil || mark >= n {
			return err
		}
		return p.writeMark(n)
	})
}

// oldClient is how long a client of the older kind, which does not retry when a
// lock is held, is thought to be still there after it was last seen.
const oldClient = 10 * time.Minute
