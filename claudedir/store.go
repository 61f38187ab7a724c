// Package claudedir keeps scopes and Claude Code's own files the same, in both
// directions: tasks/LIST/N.json, teams/TEAM/config.json and the inboxes beside it.
//
// It is a Store around a Store. Before a command decides, the files that its
// decision reads are looked at, and what other programs wrote there is taken into
// the log (intake). Once a command is durable, the files are written (projection).
// The files have a second writer who never asks, so they are a replica with an
// author of its own and not a cache: see docs/claude-code.md for the rules.
//
// Nothing here happens under the inner store's lock. Processes of Cadre queue on a
// lock of their own, one for each scope, and whoever has it writes the files of
// all commands that are durable by then.
package claudedir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cadre"
	"cadre/internal/diskfull"
	"cadre/internal/flock"
)

// door is how the events of an intake say where they came from.
const door = "file"

// Authors says who wrote something into a file and who read something in it, from
// what clients keep about themselves.
type Authors interface {
	// Who is behind a change of a task at about a time; false where nothing tells.
	Who(scope cadre.Scope, change cadre.ForeignTask, atUnixNano int64) (cadre.Actor, bool)
	// Live says whether what explains a change may still be on its way.
	Live() bool
	// Shown says when a message was shown to the one it is for.
	Shown(cadre.Scope, *cadre.Message) (time.Time, bool)
	// Heard says when each member of a team last said something.
	Heard(cadre.Scope) map[string]time.Time
}

// Options are what a Store needs to know.
type Options struct {
	Dir    string // Claude Code's folder
	Memory string // a folder of our own, for what this machine remembers of those files
	Now    func() cadre.Time
	Who    Authors                          // nil: nobody is known
	Warn   func(format string, args ...any) // what went wrong with files; no command fails for it
	Guard  bool                             // put back what a known member wrote and may not

	// LookOnly takes in what the files say and writes none.
	LookOnly bool
}

// Store is a cadre.Store whose scopes stand in Claude Code's files as well.
type Store struct {
	cadre.Store
	Options

	root   *os.Root // of the client's folder; nil as long as there is none
	memory *os.Root

	mu     sync.Mutex
	places map[cadre.Scope]*place
	told   map[cadre.Scope]string // what is wrong with a scope's files, as it was told
}

// place is what this process has of one scope's files.
type place struct {
	turns // whose running guards the rest
	lock  *flock.Lock
	done  cadre.Head // up to here the files are written, as far as this process knows
}

// New puts the files around a store. Nothing is read or made yet.
func New(inner cadre.Store, o Options) *Store {
	sum := sha256.Sum256([]byte(resolved(o.Dir)))
	o.Memory = filepath.Join(o.Memory, hex.EncodeToString(sum[:6]))
	return &Store{Store: inner, Options: o, places: map[cadre.Scope]*place{}, told: map[cadre.Scope]string{}}
}

// resolved is a folder's path without links, as far as there is a folder: another name
// for the same one is no other, also before it is made.
func resolved(dir string) string {
	for at, rest := dir, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// Inner is the store that this one stands around.
func (s *Store) Inner() cadre.Store { return s.Store }

// Close closes the folders and the store, after the passes that run.
func (s *Store) Close() error {
	s.mu.Lock()
	places := slices.Collect(maps.Values(s.places))
	s.mu.Unlock()
	for _, p := range places {
		p.running.Lock()
		p.lock.Close()
		p.running.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range []*os.Root{s.root, s.memory} {
		if r != nil {
			r.Close()
		}
	}
	return s.Store.Close()
}

func (s *Store) place(scope cadre.Scope) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[scope]
	if p == nil {
		p = &place{}
		p.lock = flock.New(func() (*os.File, error) {
			return s.memory.OpenFile(string(scope)+".lock", os.O_RDWR|os.O_CREATE, 0o600)
		})
		s.places[scope] = p
	}
	return p
}

// open opens the client's folder and our own; with create it makes them. It says
// whether both are there.
func (s *Store) open(create bool) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isNew := false
	if s.root == nil {
		root, err := os.OpenRoot(s.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			if !create {
				return false, nil
			}
			if err := os.MkdirAll(s.Dir, 0o700); err != nil {
				return false, err
			}
			root, err = os.OpenRoot(s.Dir)
			isNew = true
		}
		if err != nil {
			return false, err
		}
		s.root = root
	}
	if s.memory == nil {
		memory, err := openInside(filepath.Dir(s.Memory), filepath.Base(s.Memory))
		if err != nil {
			return false, err
		}
		s.memory = memory
	}
	if isNew {
		return true, s.forgetAll()
	}
	return true, nil
}

// forgetAll forgets the files of every scope: no client deleted them if all of its
// folder is gone. Somebody moved it away, or it is on a disk that is not there.
func (s *Store) forgetAll() error {
	names, err := fs.ReadDir(s.memory.FS(), ".")
	for _, e := range names {
		if name := e.Name(); strings.HasSuffix(name, ".files") || strings.HasSuffix(name, ".slots") {
			err = errors.Join(err, s.memory.Remove(name))
		}
	}
	return err
}

// openInside opens a folder inside a folder of ours, making both where they are not
// there. A link that leads elsewhere is not followed.
func openInside(folder, name string) (*os.Root, error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return nil, err
	}
	above, err := os.OpenRoot(filepath.Dir(folder))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	path := filepath.Join(filepath.Base(folder), name)
	root, err := above.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := above.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		root, err = above.OpenRoot(path)
	}
	return root, err
}

// kept says whether a scope stands in the client's files.
func kept(scope cadre.Scope) bool { return scope != cadre.Host }

// warn tells what went wrong with files, once until they are right again: whoever
// follows them tries every few seconds. The log is what counts: a command that is
// durable did not fail, and the next one tries again.
func (s *Store) warn(scope cadre.Scope, err error) {
	if s.Warn == nil || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	cause := err // without the name of the file, which may be a random one
	for next := cause; next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	s.mu.Lock()
	told := s.told[scope] == cause.Error()
	s.told[scope] = cause.Error()
	s.mu.Unlock()
	if !told {
		s.Warn("Claude Code's files of %s are behind: %v. The next command tries again", scope, err)
	}
}

// right notes that a scope's files are as they should be.
func (s *Store) right(scope cadre.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.told, scope)
}

// View shows a scope with what other programs wrote. The function may be called
// more than once.
func (s *Store) View(ctx context.Context, scope cadre.Scope, look func(cadre.Snap) error) error {
	if !kept(scope) {
		return s.Store.View(ctx, scope, look)
	}
	for range rounds {
		changed, err := s.look(ctx, scope, look)
		if !changed {
			return err
		}
	}
	return s.Store.View(ctx, scope, look)
}

// look shows a scope once, and takes in what changed in the files behind what was
// looked at. It says whether the log changed by that.
func (s *Store) look(ctx context.Context, scope cadre.Scope, look func(cadre.Snap) error) (changed bool, err error) {
	there, fault := s.open(false)
	if fault != nil || !there {
		s.warn(scope, fault)
		return false, s.Store.View(ctx, scope, look)
	}
	c, fault := s.check(scope)
	if fault != nil {
		s.warn(scope, fault)
		return false, s.Store.View(ctx, scope, look)
	}
	defer c.close()
	var r *reads
	var head cadre.Head
	err = s.Store.View(ctx, scope, func(snap cadre.Snap) error {
		r = &reads{Source: snap.Source, check: c}
		head = snap.Head()
		return look(cadre.Snap{Source: r})
	})
	if r == nil {
		return false, err // an archived scope has no files
	}
	if clean, fault := c.clean(r, head); clean && fault == nil {
		return false, err
	}
	after, fault := s.sync(ctx, scope, r.files())
	s.warn(scope, fault)
	known := fault == nil || after.head.Epoch != "" // a fault in one file keeps nobody from what another says
	// What other commands did meanwhile is no reason to look again.
	return known && (after.taken > head.Seq || after.head.Epoch != head.Epoch), err
}

// rounds bounds how often something is tried again because files changed under it.
const rounds = 3

// Update takes in what the decision reads, reserves the ids it needs, has the
// store decide and append, and writes the files.
func (s *Store) Update(ctx context.Context, scope cadre.Scope, c cadre.Command, decide cadre.Decide) (cadre.Receipt, error) {
	if !kept(scope) {
		return s.Store.Update(ctx, scope, c, decide)
	}
	var reserved reservation
	for range rounds {
		need, next, err := s.prepare(ctx, scope, decide)
		if err != nil {
			return cadre.Receipt{}, err
		}
		if need > reserved.n && !c.ID.Drawn() {
			if receipt, done, err := s.replay(ctx, scope, c); done || err != nil {
				return receipt, err
			}
		}
		if need > reserved.n {
			if reserved, err = s.reserve(ctx, scope, need, next); err != nil {
				hint := diskfull.Hint(err, "cadre doctor; to leave Claude Code's folder alone: export CADRE_CLAUDE=off", s.Dir, s.Memory)
				return cadre.Receipt{}, cadre.Fault(err, hint, "no task id could be reserved in Claude Code's list %s", scope)
			}
		}
		receipt, err := s.Store.Update(ctx, scope, c, func(snap cadre.Snap) ([]cadre.Event, error) {
			next := reserved.first
			if next == 0 {
				next = snap.Head().Next
			}
			events, err := decide(cadre.Snap{Source: &reads{Source: snap.Source, next: max(1, next)}})
			if err != nil {
				return nil, err
			}
			ids := created(events)
			if len(ids) > reserved.n {
				return nil, errReserve
			}
			for _, id := range ids { // somebody who leaves the files alone reserves nothing
				if t, err := snap.Task(id); err != nil || t != nil {
					reserved = reservation{}
					return nil, errors.Join(err, errReserve)
				}
			}
			return events, err
		})
		if errors.Is(err, errReserve) {
			continue
		}
		if err != nil {
			return receipt, err
		}
		if len(receipt.Events) > 0 {
			_, err := s.sync(ctx, scope, look{upTo: receipt.Head, events: receipt.Events})
			s.warn(scope, err)
		}
		return receipt, nil
	}
	return cadre.Receipt{}, cadre.Refuse(cadre.RuleChanged, "", "%s changed each time while ids were reserved: try again", scope)
}

// replay gives the receipt of a command that was committed before: it needs no ids.
func (s *Store) replay(ctx context.Context, scope cadre.Scope, c cadre.Command) (cadre.Receipt, bool, error) {
	receipt, err := s.Store.Update(ctx, scope, c, func(cadre.Snap) ([]cadre.Event, error) { return nil, errReserve })
	if errors.Is(err, errReserve) {
		return cadre.Receipt{}, false, nil
	}
	return receipt, err == nil, err
}

var errReserve = errors.New("more tasks are made than ids were reserved")

// prepare decides on a view, to see what the decision reads and how many tasks it
// makes. Refusals are left to the store, which knows repeated commands.
// It also gives the number that the log would give the next one.
func (s *Store) prepare(ctx context.Context, scope cadre.Scope, decide cadre.Decide) (need int, next uint64, err error) {
	for range rounds {
		changed, err := s.look(ctx, scope, func(snap cadre.Snap) error {
			events, _ := decide(snap)
			need, next = len(created(events)), snap.Head().Next
			return nil
		})
		if err != nil || !changed {
			return need, next, err
		}
	}
	return need, next, nil
}

// created gives the tasks that events make.
func created(events []cadre.Event) (ids []cadre.TaskID) {
	for _, e := range events {
		if t, ok := e.After.(*cadre.Task); ok && e.Before == nil && t.ID.Numeric() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Scopes lists the scopes of the log and those that clients made.
func (s *Store) Scopes(ctx context.Context) iter.Seq2[cadre.ScopeInfo, error] {
	return func(yield func(cadre.ScopeInfo, error) bool) {
		if err := s.discover(ctx); err != nil {
			s.warn("all lists", err)
		}
		for info, err := range s.Store.Scopes(ctx) {
			if !yield(info, err) {
				return
			}
		}
	}
}

// Refresh looks at every file of a scope and takes in what is new. It is for
// whoever follows the folders, and costs a look at each file.
func (s *Store) Refresh(ctx context.Context, scope cadre.Scope) error {
	there, err := s.open(false)
	if err != nil || !there {
		return err
	}
	_, err = s.sync(ctx, scope, look{all: true})
	return err
}

// GuardFiles has this process put back from now on what a known member wrote and
// may not. It is called before anything else uses the store.
func (s *Store) GuardFiles() { s.Guard = true }

func (s *Store) now() cadre.Time { return s.Options.Now() }

// joinErr keeps the first of several faults and counts the rest.
func joinErr(errs []error) error {
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
}
