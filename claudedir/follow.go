package claudedir

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"cadre"
)

// Events gives the log after a head. Who follows it also follows the folders: what
// another program writes is taken in at once and comes as an event.
func (s *Store) Events(ctx context.Context, scope cadre.Scope, after cadre.Head, follow bool) iter.Seq2[cadre.Event, error] {
	if !follow || !kept(scope) {
		return s.Store.Events(ctx, scope, after, follow)
	}
	return func(yield func(cadre.Event, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.follow(ctx, scope)
		}()
		defer func() {
			stop()
			<-done
		}()
		for e, err := range s.Store.Events(ctx, scope, after, true) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// How long a follower trusts that it would have heard of a change, and what it hears
// with. Tests look at each of the two alone.
var (
	rescan     = 2 * time.Second
	newWatcher = fsnotify.NewWatcher
)

// rescanShare is how much of its time a follower spends at most on looking all the same.
const rescanShare = 50

// follow takes in what is written to a scope's files until the context ends. What
// it hears from the system is a hint: now and then it looks at everything.
func (s *Store) follow(ctx context.Context, scope cadre.Scope) {
	var events <-chan fsnotify.Event // without a watcher it hears nothing, and looks
	var lost <-chan error
	watcher, err := newWatcher()
	if err == nil {
		defer watcher.Close()
		events, lost = watcher.Events, watcher.Errors
	}
	var confirmed time.Time
	for ctx.Err() == nil {
		if err == nil {
			s.watchFolders(watcher, scope)
		}
		began := time.Now()
		s.warn(scope, s.refreshed(ctx, scope))
		if time.Since(confirmed) > confirmEvery {
			confirmed = time.Now()
			s.warn(scope, s.Listen(ctx, scope))
		}
		pause := time.NewTimer(max(rescan, rescanShare*time.Since(began)))
		for hearing := true; hearing; {
			select {
			case <-ctx.Done():
				hearing = false
			case <-pause.C:
				hearing = false
			case e, ok := <-events:
				l := hint(e, events)
				if !ok || l.all {
					hearing = false // a folder came or went: look at everything, watch it
					continue
				}
				if len(l.tasks)+len(l.inboxes) > 0 || l.team {
					_, err := s.sync(ctx, scope, l)
					if hearing = !errors.Is(err, cadre.ErrNotFound); hearing { // an archived one may be there again
						s.warn(scope, err)
					}
				}
			case <-lost: // hints were lost
				hearing = false
			}
		}
		pause.Stop()
	}
}

// refreshed is Refresh for who follows a scope: an archived one comes back when its
// client makes the team again, and has nothing to look at until then.
func (s *Store) refreshed(ctx context.Context, scope cadre.Scope) error {
	err := s.Refresh(ctx, scope)
	if errors.Is(err, cadre.ErrNotFound) && !s.LookOnly {
		err = s.revive(ctx, scope)
	}
	return err
}

// watchFolders listens to a scope's folders, and to those above, in which they
// appear.
func (s *Store) watchFolders(w *fsnotify.Watcher, scope cadre.Scope) {
	boxes := string(scope)
	if there, err := s.open(false); err == nil && there {
		boxes = s.boxFolder(scope)
	}
	for _, folder := range []string{
		"", "tasks", "teams", "tasks/" + string(scope), "teams/" + string(scope), "teams/" + string(scope) + "/inboxes",
		"teams/" + boxes, "teams/" + boxes + "/inboxes",
	} {
		path := filepath.Join(s.Dir, filepath.FromSlash(folder))
		if _, err := filepath.EvalSymlinks(path); err == nil {
			_ = w.Add(path) // what cannot be heard is found by looking
		}
	}
}

// hint says which files an event, and all that are there already, are about.
func hint(first fsnotify.Event, more <-chan fsnotify.Event) look {
	l := look{heard: true, inboxes: map[string]bool{}}
	for e := first; ; {
		dir, name := filepath.Split(e.Name)
		base, isJSON := strings.CutSuffix(name, ".json")
		switch parent := filepath.Base(dir); {
		case strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".lock") || strings.Contains(name, ".tmp"):
		case parent == "inboxes" && isJSON:
			l.inboxes[base] = true
		case name == configName:
			l.team = true
		case isJSON:
			l.tasks = append(l.tasks, cadre.TaskID(base))
		case e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename):
			l.all = true
		}
		select {
		case next, ok := <-more:
			if !ok {
				return l
			}
			e = next
		default:
			return l
		}
	}
}
