package sqlitestore

import (
	"context"
	"errors"
	"path/filepath"

	"cadre/internal/sqlite"
)

// connect gives a connection that nobody else uses.
func (s *Store) connect(ctx context.Context) (*sqlite.Conn, error) {
	c, ready, err := s.take()
	if c != nil || err != nil {
		return c, err
	}
	if !ready {
		return s.first(ctx)
	}
	return s.dial()
}

// take gives a connection that waits, nil where none does, and says whether the
// database has this program's version.
func (s *Store) take() (c *sqlite.Conn, ready bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, errClosed
	}
	if n := len(s.idle); n > 0 {
		c = s.idle[n-1]
		s.idle = s.idle[:n-1]
	}
	return c, s.ready, nil
}

func (s *Store) dial() (*sqlite.Conn, error) {
	c, err := sqlite.Open(filepath.Join(s.dir, dbName), "")
	if err != nil {
		return nil, s.fault(err, "opening the database")
	}
	if s.brief && s.walSize() < longWAL {
		return c, nil // it ends before the log can get that long
	}
	if err := c.Script(context.Background(), settings); err != nil { // it waits for nobody
		_ = c.Close()
		return nil, s.fault(err, "opening the database")
	}
	return c, nil
}

// first opens the first connection, and brings the database to this program's
// version. It may wait for another process, so it is one caller at a time, each
// no longer than its context, and Close ends the wait.
func (s *Store) first(ctx context.Context) (*sqlite.Conn, error) {
	select {
	case s.opening <- struct{}{}:
	default: // only a wait may ask for the end of the context: see exclusively
		select {
		case s.opening <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-s.opening }()
	if c, ready, err := s.take(); c != nil || err != nil {
		return c, err
	} else if ready {
		return s.dial()
	}
	mode := s.mode()
	if mode == withoutLog {
		if err := s.setAside(ctx); err != nil {
			return nil, s.fault(err, "opening the database")
		}
	}
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	if err := s.migrate(ctx, c, mode); err != nil {
		_ = c.Close()
		return nil, err
	}
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
	return c, nil
}

// exclusively runs something that no other process may do at the same time. Its
// context ends with the caller's and with Close. Nothing else on the way to an
// open database asks a context for its end: a program may begin to listen for
// interrupts when it is first asked, which costs more than opening.
func (s *Store) exclusively(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ending, func() { cancel(errClosed) })()
	err := s.creating.Acquire(ctx)
	if err == nil {
		defer func() { _ = s.creating.Release() }()
		err = do(ctx)
	}
	if err != nil && errors.Is(context.Cause(ctx), errClosed) {
		return errClosed
	}
	return err
}

// settings of a connection, beside SQLite's own: synchronous=FULL, and a checkpoint
// every 1000 pages. A write-ahead log that one large import blew up is cut back when
// it begins anew, by the next connection that finds it so long.
const (
	settings = "PRAGMA journal_size_limit=8388608"
	longWAL  = 8388608
)

// maxIdle is how many connections wait for the next reader.
const maxIdle = 4

// release takes a connection back. One that met a fault is not used again.
func (s *Store) release(c *sqlite.Conn, healthy bool) {
	s.mu.Lock()
	keep := healthy && !s.closed && len(s.idle) < maxIdle
	if keep {
		s.idle = append(s.idle, c)
	}
	s.mu.Unlock()
	if !keep {
		_ = c.Close()
	}
}

// Close ends followers and closes the database. Commands under way end first.
func (s *Store) Close() error {
	s.queue.close()
	s.mu.Lock()
	idle, closed := s.idle, s.closed
	s.idle, s.closed = nil, true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.end()
	s.opening <- struct{}{} // whoever opens uses the files that are closed below
	s.signals.close()
	if s.brief && s.walSize() < maxWAL {
		idle = nil
	}
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.Close())
	}
	errs = append(errs, s.watch.close(), s.lock.Close(), s.creating.Close(), s.heads.root.Close(), s.root.Close())
	if err := errors.Join(errs...); err != nil {
		return s.fault(err, "closing the database")
	}
	return nil
}

// maxWAL is the size of the write-ahead log from which on a brief process moves
// it into the database. The next process reads all of it before anything else,
// at about 0.75 ms a megabyte.
const maxWAL = 400 << 10

func (s *Store) walSize() int64 {
	info, err := s.root.Lstat(dbName + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}
