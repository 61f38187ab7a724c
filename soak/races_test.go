package soak_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
	"cadre/claudedir"
	"cadre/claudefile"
	"cadre/sqlitestore"
)

// scribbler is a program like the older client: it reads a whole file, changes one
// thing and writes it all back in place, and takes no lock. Each description that it
// writes is a new one, and only it writes descriptions.
type scribbler struct {
	dir   string
	words map[string]string // the last it wrote, by file
	wrote int
}

func (s *scribbler) once(pick int) error {
	names, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil || len(names) == 0 {
		return err
	}
	path := names[pick%len(names)]
	data, err := os.ReadFile(path)
	if err != nil {
		return nil // gone meanwhile
	}
	o, err := claudefile.Parse(data)
	if err != nil {
		return fmt.Errorf("a reader finds half a file: %s: %q", path, data)
	}
	s.wrote++
	word := fmt.Sprintf("scribbled %d", s.wrote)
	o.Set("description", word)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return nil // gone meanwhile
	}
	_, err = f.Write(o.Bytes())
	s.words[filepath.Base(path)] = word
	return errors.Join(err, f.Close())
}

// while scribbles until it is told to stop.
func (s *scribbler) while(stop <-chan struct{}) error {
	s.words = map[string]string{}
	for i := 0; ; i++ {
		if err := s.once(i * 7); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lost says which of its last words a list does not have.
func (s *scribbler) lost(descriptions map[cadre.TaskID]string) []string {
	var out []string
	for name, word := range s.words {
		id := cadre.TaskID(strings.TrimSuffix(name, ".json"))
		if descriptions[id] != word {
			out = append(out, fmt.Sprintf("task %s is described as %q, and %q was written last", id, descriptions[id], word))
		}
	}
	slices.Sort(out)
	return out
}

// TestSoakScribbledProcesses has eight processes create and update tasks while
// another program rewrites whole files in place, asking nobody. No id is given
// twice, no subject of ours is lost, nor the last word of the other.
func TestSoakScribbledProcesses(t *testing.T) {
	t.Parallel()
	m := withFiles(t)
	const writers = 8
	rounds := count(t, "rounds of eight processes beside a scribbler", 2, 60)
	m.must("task", "add", "the first", "--scope", "docs")
	s := &scribbler{dir: m.claude("tasks", "docs")}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.while(stop) }()
	var mu sync.Mutex
	subjects := map[cadre.TaskID]string{"1": "the first"}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range rounds {
				subject := fmt.Sprintf("by %d, task %d", w, i)
				r := m.run("task", "add", subject, "--scope", "docs")
				id := r.id()
				if r.code != 0 {
					t.Errorf("creating beside a scribbler: %s", r)
					continue
				}
				mu.Lock()
				if other, twice := subjects[id]; twice {
					t.Errorf("id %s was given to %q and to %q", id, other, subject)
				}
				subjects[id] = subject
				mu.Unlock()
				subject += ", updated"
				if r := m.run("task", "update", string(id), "--subject", subject, "--scope", "docs"); r.code != 0 {
					t.Errorf("updating beside a scribbler: %s", r)
					continue
				}
				mu.Lock()
				subjects[id] = subject
				mu.Unlock()
			}
		})
	}
	all.Wait()
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	have := m.tasks("--scope", "docs")
	descriptions := map[cadre.TaskID]string{}
	for id, subject := range subjects {
		descriptions[id] = have[id].Description
		if have[id].Subject != subject {
			t.Errorf("task %s is %q and should be %q", id, have[id].Subject, subject)
		}
	}
	if len(have) != len(subjects) {
		t.Errorf("%d tasks are there, %d were made", len(have), len(subjects))
	}
	if lost := s.lost(descriptions); len(lost) > 0 {
		t.Errorf("lost: %s", strings.Join(lost, "\n"))
	}
	if diff := m.differences("docs"); len(diff) > 0 {
		t.Errorf("the files differ:\n%s", strings.Join(diff, "\n"))
	}
	m.audited()
	t.Logf("%d tasks by %d processes, %d files rewritten meanwhile, nothing lost", len(have), writers, s.wrote)
}

// TestSoakScribbledGoroutines does the same in one process with many callers.
func TestSoakScribbledGoroutines(t *testing.T) {
	t.Parallel()
	callers := count(t, "callers beside a scribbler", 8, 64)
	rounds := count(t, "rounds of theirs", 2, 40)
	folder := t.TempDir()
	inner, err := sqlitestore.Open(filepath.Join(folder, "state"))
	if err != nil {
		t.Fatal(err)
	}
	now := func() cadre.Time {
		at := time.Now()
		return cadre.Time{Wall: at, Boot: "boot", Up: time.Duration(at.UnixNano())}
	}
	store := claudedir.New(inner, claudedir.Options{
		Dir: filepath.Join(folder, "claude"), Memory: filepath.Join(folder, "state", "claude"), Now: now,
		Warn: func(format string, args ...any) { t.Errorf(format, args...) },
	})
	defer store.Close()
	var commands atomic.Int64
	do := func(verb cadre.Change) (cadre.Receipt, error) {
		c := cadre.Command{ID: cadre.CommandID(fmt.Sprint("c", commands.Add(1))), Actor: operator, Door: "test", Verb: fmt.Sprintf("%T", verb), Now: now()}
		return store.Update(context.Background(), "docs", c, func(s cadre.Snap) ([]cadre.Event, error) { return verb.Decide(s, c) })
	}
	if _, err := do(&cadre.TaskAdd{Subject: "the first"}); err != nil {
		t.Fatal(err)
	}
	s := &scribbler{dir: filepath.Join(folder, "claude", "tasks", "docs")}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.while(stop) }()
	var mu sync.Mutex
	subjects := map[cadre.TaskID]string{"1": "the first"}
	var all sync.WaitGroup
	for w := range callers {
		all.Go(func() {
			for i := range rounds {
				subject := fmt.Sprintf("by %d, task %d", w, i)
				r, err := do(&cadre.TaskAdd{Subject: subject})
				if err != nil {
					t.Error(err)
					return
				}
				id := made(r, subject)
				subject += ", updated"
				if _, err := do(&cadre.TaskUpdate{ID: id, Subject: &subject}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if other, twice := subjects[id]; twice {
					t.Errorf("id %s was given to %q and to %q", id, other, subject)
				}
				subjects[id] = subject
				mu.Unlock()
			}
		})
	}
	all.Wait()
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := store.Refresh(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	descriptions := map[cadre.TaskID]string{}
	err = inner.View(t.Context(), "docs", func(snap cadre.Snap) error {
		for id, subject := range subjects {
			task, err := snap.Task(id)
			if err != nil {
				return err
			}
			if descriptions[id] = task.Description; task.Subject != subject {
				t.Errorf("task %s is %q and should be %q", id, task.Subject, subject)
			}
		}
		return cadre.CheckInvariants(snap)
	})
	if err != nil {
		t.Fatal(err)
	}
	if lost := s.lost(descriptions); len(lost) > 0 {
		t.Errorf("lost: %s", strings.Join(lost, "\n"))
	}
	t.Logf("%d tasks by %d callers, %d files rewritten meanwhile, nothing lost", len(subjects), callers, s.wrote)
}

// made is the task with a subject that a command made.
func made(r cadre.Receipt, subject string) cadre.TaskID {
	for _, e := range r.Events {
		if t, ok := e.After.(*cadre.Task); ok && t.Subject == subject {
			return t.ID
		}
	}
	return ""
}

// TestSoakScribblerChecks shows that a lost word is found.
func TestSoakScribblerChecks(t *testing.T) {
	s := &scribbler{words: map[string]string{"1.json": "last", "2.json": "kept"}}
	if lost := s.lost(map[cadre.TaskID]string{"1": "older", "2": "kept"}); len(lost) != 1 || !strings.Contains(lost[0], "task 1") {
		t.Errorf("lost is %v", lost)
	}
}
