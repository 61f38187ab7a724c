package claudedir_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
)

// stuck is a world with ann, whose inbox nobody can lock, and pane, a client's.
func stuck(t *testing.T) *world {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.clientJoins("pane")
	w.must(&cadre.TeamJoin{Name: "ann"})
	w.write(filepath.Join(w.inboxPath("ann")+".lock", ".DS_Store"), "what a file manager left")
	w.must(&cadre.MsgSend{To: "ann", Text: "waits"})
	w.isBehind()
	return w
}

// isBehind makes sure that somebody was told, once.
func (w *world) isBehind() {
	w.Helper()
	if len(w.warns) != 1 {
		w.Errorf("that a file is behind was told %d times: %q", len(w.warns), w.warns)
	}
	w.warns = nil
}

// later lets a minute pass for a file that is written now.
func (w *world) later(path string) {
	w.Helper()
	w.clock = w.now().Wall.Add(time.Minute)
	if err := os.Chtimes(path, w.clock, w.clock); err != nil {
		w.Fatal(err)
	}
}

// One file that cannot be written keeps nothing that clients do in the others from
// being taken in, however long that lasts.
func TestOneFileThatCannotBeWritten(t *testing.T) {
	w := stuck(t)
	id := w.add("one")
	w.must(&cadre.TaskStart{ID: id})
	w.edit(id, map[string]any{"status": "pending", "subject": "reworded"})
	w.later(w.taskPath(id))
	if got := w.task(id); got.Status != cadre.Pending || got.Subject != "reworded" {
		t.Errorf("the client set it back and reworded it, and it is %s: %q", got.Status, got.Subject)
	}
	if got := w.ids(); len(got) != 1 {
		t.Errorf("the list is %q", got)
	}

	w.must(&cadre.MsgSend{To: "pane", Text: "hello"})
	w.write(w.inboxPath("pane"), "[]") // the newer client read it
	w.age(w.inboxPath("pane"))
	if got := w.mail("pane"); len(got) != 1 || got[0].ReadAt == nil {
		t.Errorf("pane's mail is %+v", got)
	}
	if got := w.inbox("pane"); len(got) != 0 {
		t.Errorf("what pane has read is in its inbox again: %+v", got)
	}

	w.clientDrops("pane")
	if m := w.must(&cadre.MemberShow{Name: "pane"}).(*cadre.MemberView); m.State != cadre.StateDeparted {
		t.Errorf("pane was taken out by its client, and is %s", m.State)
	}
	if len(w.warns) > 0 {
		t.Errorf("was told again, though nothing changed: %q", w.warns)
	}

	if err := os.RemoveAll(w.inboxPath("ann") + ".lock"); err != nil {
		t.Fatal(err)
	}
	w.must(&cadre.TeamShow{})
	if got := w.inbox("ann"); len(got) != 1 || got[0].Text != "waits" || got[0].Read {
		t.Errorf("as soon as it could be written, ann's inbox is %+v", got)
	}
	if got := w.unread("ann"); len(got) != 1 {
		t.Errorf("ann has %d unread messages", len(got))
	}
	w.check()

	w.write(filepath.Join(w.inboxPath("ann")+".lock", ".DS_Store"), "again")
	w.must(&cadre.MsgSend{To: "ann", Text: "waits again"})
	w.isBehind()
}

// The same where nothing was known about the files when it began: what a client
// cleared away meanwhile does not come back with every command.
func TestAFileThatCouldNeverBeWritten(t *testing.T) {
	w := stuck(t)
	folders, err := filepath.Glob(filepath.Join(w.state, "*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("what is remembered stands in %q: %v", folders, err)
	}
	if err := os.RemoveAll(folders[0]); err != nil {
		t.Fatal(err)
	}
	w.open()
	id := w.add("one")
	w.must(&cadre.TaskDone{ID: id})
	if err := os.Remove(w.taskPath(id)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.ids()
	}
	if !w.gone(w.taskPath(id)) {
		t.Error("a task that a client cleared away is written again and again")
	}
	w.clientDrops("pane")
	w.must(&cadre.TeamShow{})
	if slices.Contains(w.inConfig(), "pane") {
		t.Error("pane was taken out by its client, and is in the file again")
	}
	w.isBehind()
}

// A task whose file could not be written is held against what its file had, not
// against what it should have had.
func TestWhatAFileThatIsBehindSays(t *testing.T) {
	w := newWorld(t)
	id, other := w.add("one"), w.add("two")
	held := w.taskPath(id)
	if err := os.Rename(held, held+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(held, 0o700); err != nil {
		t.Fatal(err)
	}
	w.must(&cadre.TaskUpdate{ID: id, Subject: new("ours")})
	w.must(&cadre.TaskUpdate{ID: other, Subject: new("ours too")})
	if got := w.file(other).Subject; got != "ours too" {
		t.Errorf("the other file says %q", got)
	}
	w.clock = time.Now().Add(time.Minute)
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(held+".away", held); err != nil {
		t.Fatal(err)
	}
	w.edit(id, map[string]any{"owner": "ann"})
	if err := os.Chtimes(held, w.clock, w.clock); err != nil {
		t.Fatal(err)
	}
	if got := w.task(id); got.Subject != "ours" || got.Owner != "ann" {
		t.Errorf("task %s is %q of %q", id, got.Subject, got.Owner)
	}
	if f, err := claudefile.ReadTask(w.read(held)); err != nil || f.Subject != "ours" || f.Owner != "ann" {
		t.Errorf("its file says %+v, %v", f, err)
	}
}
