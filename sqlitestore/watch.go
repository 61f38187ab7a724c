package sqlitestore

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// signals wakes who waits for a scope, by the name of its head record. The zero
// value is ready.
type signals struct {
	mu     sync.Mutex
	chans  map[string]chan struct{}
	closed bool
}

// wait gives a channel that is closed at the next change.
func (s *signals) wait(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.chans[name]
	if ch == nil {
		ch = make(chan struct{})
		if s.closed {
			close(ch)
			return ch
		}
		if s.chans == nil {
			s.chans = map[string]chan struct{}{}
		}
		s.chans[name] = ch
	}
	return ch
}

func (s *signals) wake(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch := s.chans[name]; ch != nil {
		close(ch)
		delete(s.chans, name)
	}
}

func (s *signals) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, ch := range s.chans {
		close(ch)
	}
	s.chans = nil
}

// watch hears of other processes' commits: each writes a head record. What it
// hears is a hint, so that not being able to hear makes followers slower and
// nothing else. The zero value is ready.
type watch struct {
	mu      sync.Mutex
	watcher *fsnotify.Watcher
	done    chan struct{}
	closed  bool
}

// newWatcher is what is listened with. Tests change it.
var newWatcher = fsnotify.NewWatcher

// start begins to listen, once.
func (w *watch) start(dir string, wake func(string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watcher != nil || w.closed {
		return
	}
	watcher, err := newWatcher()
	if err != nil {
		return
	}
	if err := watcher.Add(dir); err != nil {
		_ = watcher.Close()
		return
	}
	w.watcher, w.done = watcher, make(chan struct{})
	go listen(watcher, w.done, wake)
}

func listen(watcher *fsnotify.Watcher, done chan<- struct{}, wake func(string)) {
	defer close(done)
	errs := watcher.Errors
	for {
		select {
		case e, ok := <-watcher.Events:
			if !ok {
				return
			}
			wake(filepath.Base(e.Name))
		case _, ok := <-errs:
			if !ok {
				errs = nil // events were lost: the rescan finds what they were about
			}
		}
	}
}

func (w *watch) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.watcher == nil {
		return nil
	}
	err := w.watcher.Close()
	<-w.done
	w.watcher = nil
	return err
}
