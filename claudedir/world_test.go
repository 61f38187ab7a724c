package claudedir_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudedir"
	"cadre/claudefile"
	"cadre/coord"
	"cadre/memstore"
)

// world is a store with Claude Code's folder around it, and the hands of another
// program in that folder.
type world struct {
	*testing.T
	inner cadre.Store
	store *claudedir.Store
	dir   string // the client's folder
	state string
	clock time.Time // zero: the real one
	scope cadre.Scope
	warns []string
	who   claudedir.Authors
}

const list cadre.Scope = "docs"

func newWorld(t *testing.T) *world {
	w := &world{T: t, inner: memstore.New(), dir: filepath.Join(t.TempDir(), "claude"), state: t.TempDir(), scope: list}
	w.open()
	return w
}

// open makes a new Store over the same state, as another process would.
func (w *world) open() *claudedir.Store {
	w.store = claudedir.New(w.inner, claudedir.Options{
		Dir: w.dir, Memory: w.state, Now: w.now, Who: w.who,
		Warn: func(format string, args ...any) { w.warns = append(w.warns, fmt.Sprintf(format, args...)) },
	})
	return w.store
}

func (w *world) now() cadre.Time {
	at := w.clock
	if at.IsZero() {
		at = time.Now()
	}
	return cadre.Time{Wall: at, Boot: "boot", Up: time.Duration(at.UnixNano())}
}

// do carries out a verb as the operator; as does it as a member.
func (w *world) do(verb any) (any, error) { return w.as("", verb) }

func (w *world) as(name string, verb any) (any, error) {
	actor := cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofTerminal}
	if name != "" {
		actor = cadre.Actor{Kind: cadre.ActorMember, Name: name, Proof: cadre.ProofTerminal, By: "operator"}
	}
	s := &coord.Session{Coord: &coord.Coord{Store: w.store, Now: w.now}, Actor: actor, Door: "test", Scope: w.scope, CWD: "/project"}
	return s.Do(context.Background(), "test", verb)
}

func (w *world) must(verb any) any {
	w.Helper()
	answer, err := w.do(verb)
	if err != nil {
		w.Fatalf("%T: %v", verb, err)
	}
	return answer
}

// add makes a task and gives its id.
func (w *world) add(subject string, blockers ...cadre.TaskID) cadre.TaskID {
	w.Helper()
	return w.must(&cadre.TaskAdd{Subject: subject, BlockedBy: blockers}).(*cadre.Added).ID
}

// task is a task as everyone is shown it, files taken in.
func (w *world) task(id cadre.TaskID) *cadre.TaskView {
	w.Helper()
	return w.must(&cadre.TaskShow{ID: id}).(*cadre.TaskView)
}

func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

func (w *world) taskPath(id cadre.TaskID) string {
	return w.path("tasks", string(list), string(id)+".json")
}

func (w *world) read(path string) []byte {
	w.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return data
}

// file is a task's file.
func (w *world) file(id cadre.TaskID) *claudefile.Task {
	w.Helper()
	t, err := claudefile.ReadTask(w.read(w.taskPath(id)))
	if err != nil {
		w.Fatal(err)
	}
	return t
}

func (w *world) gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// write writes a file in place, as older clients do.
func (w *world) write(path, content string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
}

// edit changes keys of a task's file in place; nil removes one.
func (w *world) edit(id cadre.TaskID, keys map[string]any) {
	w.Helper()
	o, err := claudefile.Parse(w.read(w.taskPath(id)))
	if err != nil {
		w.Fatal(err)
	}
	for k, v := range keys {
		if v == nil {
			o.Delete(k)
		} else {
			o.Set(k, v)
		}
	}
	w.write(w.taskPath(id), string(o.Bytes()))
}

// foreign writes a whole new task file.
func (w *world) foreign(id, subject string, keys map[string]any) {
	w.Helper()
	m := map[string]any{"id": id, "subject": subject, "description": "", "status": "pending", "blocks": []string{}, "blockedBy": []string{}}
	for k, v := range keys {
		m[k] = v
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		w.Fatal(err)
	}
	w.write(w.taskPath(cadre.TaskID(id)), string(data))
}

// ids gives the ids of all tasks.
func (w *world) ids() []string {
	w.Helper()
	var out []string
	for _, t := range w.must(&cadre.TaskList{}).([]*cadre.TaskView) {
		out = append(out, string(t.ID))
	}
	return out
}

// check holds the scope against what must always be true, and every file against
// the log.
func (w *world) check() {
	w.Helper()
	if err := w.inner.View(context.Background(), list, cadre.CheckInvariants); err != nil {
		w.Fatal(err)
	}
	if len(w.warns) > 0 {
		w.Fatalf("warned: %s", strings.Join(w.warns, "; "))
	}
	for _, id := range w.ids() {
		t := w.task(cadre.TaskID(id))
		if w.gone(w.taskPath(t.ID)) {
			if t.Status != cadre.Completed {
				w.Errorf("task %s has no file", id)
			}
			continue
		}
		f := w.file(t.ID)
		if f.Subject != t.Subject || f.Owner != t.Owner || f.Status != string(t.Status) || len(f.Blocks) != len(t.Blocks) || len(f.BlockedBy) != len(t.BlockedBy) {
			w.Errorf("task %s is %+v in its file and %+v in the log", id, f, t)
		}
	}
}

func (w *world) flagged(t *cadre.TaskView, f cadre.Flag) bool { return slices.Contains(t.Flags, f) }
