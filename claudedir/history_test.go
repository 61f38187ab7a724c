package claudedir_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudedir"
	"cadre/claudefile"
)

// The histories: each is one exact interleaving of Cadre and another program.

func TestClientWritesBackAnOldCopy(t *testing.T) {
	w := newWorld(t)
	id := w.add("old words")
	old := w.read(w.taskPath(id))
	subject := "new words"
	w.must(&cadre.TaskUpdate{ID: id, Subject: &subject})
	o, err := claudefile.Parse(old)
	if err != nil {
		t.Fatal(err)
	}
	o.Set("owner", "alice") // what it really wanted to say
	w.write(w.taskPath(id), string(o.Bytes()))
	if got := w.task(id); got.Subject != "new words" || got.Owner != "alice" {
		t.Fatalf("the task is %q of %q", got.Subject, got.Owner)
	}
	if got := w.file(id); got.Subject != "new words" || got.Owner != "alice" {
		t.Fatalf("the file says %q of %q", got.Subject, got.Owner)
	}
	w.check()
}

// Long after, the same old words are a change that somebody wants.
func TestAnOldValueWrittenLaterIsAChange(t *testing.T) {
	w := newWorld(t)
	w.clock = time.Now().Add(-time.Minute)
	id := w.add("old words")
	subject := "new words"
	w.must(&cadre.TaskUpdate{ID: id, Subject: &subject})
	w.clock = time.Time{}
	w.edit(id, map[string]any{"subject": "old words"})
	if got := w.task(id); got.Subject != "old words" {
		t.Fatalf("the task is %q", got.Subject)
	}
	w.check()
}

func TestBothCreateOneIDAtOnce(t *testing.T) {
	w := newWorld(t)
	w.add("first")
	// Another program takes no lock and writes 2.json after our id was reserved and
	// before our file is there: the store commits, and the file is in the way.
	w.inner = &interrupted{Store: w.inner, before: func() { w.foreign("2", "theirs", nil) }}
	w.open()
	id := w.add("ours")
	w.inner = w.inner.(*interrupted).Store
	w.open()
	if got := w.task(id); got.Subject != "ours" {
		t.Fatalf("task %s is %q", id, got.Subject)
	}
	subjects := map[string]bool{}
	for _, id := range w.ids() {
		subjects[w.task(cadre.TaskID(id)).Subject] = true
	}
	if !subjects["ours"] || !subjects["theirs"] || len(subjects) != 3 {
		t.Fatalf("the list has %v", subjects)
	}
	w.check()
}

// interrupted lets somebody else act once: right before a commit, or after it when
// the files were looked at and are about to be written.
type interrupted struct {
	cadre.Store
	before, after func()
	views         int // one more than since the commit; 0 before it
}

func (s *interrupted) Update(ctx context.Context, scope cadre.Scope, c cadre.Command, d cadre.Decide) (cadre.Receipt, error) {
	if s.before != nil && c.Door != "file" {
		s.before()
		s.before = nil
	}
	if c.Door != "file" {
		s.views = 1
	}
	return s.Store.Update(ctx, scope, c, d)
}

func (s *interrupted) View(ctx context.Context, scope cadre.Scope, look func(cadre.Snap) error) error {
	if s.views > 0 {
		s.views++
	}
	if s.views == 2 && s.after != nil {
		s.after()
		s.after = nil
	}
	return s.Store.View(ctx, scope, look)
}

func TestClientDeletesWhatWeMakeABlocker(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	w.add("two")
	w.inner = &interrupted{Store: w.inner, before: func() { os.Remove(w.taskPath("1")) }}
	w.open()
	w.must(&cadre.TaskBlock{ID: "2", By: []cadre.TaskID{"1"}})
	w.inner = w.inner.(*interrupted).Store
	w.open()
	if got := w.ids(); len(got) != 1 || got[0] != "2" {
		t.Fatalf("the list is %v", got)
	}
	two := w.task("2")
	if len(two.BlockedBy) != 0 || !w.flagged(two, cadre.FlagUnblocked) {
		t.Fatalf("task 2 waits for %v, flags %v", two.BlockedBy, two.Flags)
	}
	if !w.gone(w.taskPath("1")) {
		t.Error("the deleted file came back")
	}
	w.check()
	w.must(&cadre.TaskRestore{ID: "1"})
	if w.gone(w.taskPath("1")) || len(w.task("2").BlockedBy) != 1 {
		t.Error("the restore brought back neither the file nor the edge")
	}
	w.check()
}

func TestACrashAfterTheCommitThenAClientEdit(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	// The process dies after the commit: the files are never written.
	c := cadre.Command{ID: "crash", Actor: cadre.Self, Door: "test", Verb: "task update", Now: w.now()}
	subject := "our words"
	v := &cadre.TaskUpdate{ID: id, Subject: &subject}
	if _, err := w.inner.Update(t.Context(), list, c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) }); err != nil {
		t.Fatal(err)
	}
	if got := w.file(id).Subject; got != "words" {
		t.Fatalf("the file says %q already", got)
	}
	w.edit(id, map[string]any{"owner": "bob", "status": "in_progress"})
	got := w.task(id)
	if got.Subject != "our words" || got.Owner != "bob" || got.Status != cadre.InProgress {
		t.Fatalf("the task is %q of %s, %s", got.Subject, got.Owner, got.Status)
	}
	if f := w.file(id); f.Subject != "our words" || f.Owner != "bob" {
		t.Fatalf("the file says %q of %s", f.Subject, f.Owner)
	}
	w.check()
}

func TestAnOwnerNobodyKnows(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	id := w.add("words")
	w.edit(id, map[string]any{"owner": "stranger"})
	if got := w.task(id); got.Owner != "stranger" || !w.flagged(got, cadre.FlagOwner) {
		t.Fatalf("the task belongs to %q, flags %v", got.Owner, got.Flags)
	}
	w.check()
}

func TestCompletedWithOpenBlockers(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	w.add("two", "1")
	w.add("three", "2")
	w.edit("2", map[string]any{"status": "completed", "owner": "bob"})
	if got := w.task("2"); got.Status != cadre.Completed || !w.flagged(got, cadre.FlagUnaccepted) {
		t.Fatalf("task 2 is %s, flags %v", got.Status, got.Flags)
	}
	if got := w.task("3"); got.State != cadre.TaskBlocked {
		t.Fatalf("task 3 is %s: it was freed by a task that was completed out of order", got.State)
	}
	w.check()
	w.must(&cadre.TaskDone{ID: "1"})
	if got := w.task("3"); got.State != cadre.TaskReadyState {
		t.Fatalf("task 3 is %s", got.State)
	}
	w.check()
}

// What was completed out of order and then in order stays completed when what it had
// waited for is opened again.
func TestABlockerThatIsOpenedAgain(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	w.add("two", "1")
	w.edit("2", map[string]any{"status": "completed"})
	if got := w.task("2"); !slices.Contains(got.Flags, cadre.FlagUnaccepted) {
		t.Fatalf("task 2 has the flags %v", got.Flags)
	}
	w.ago(time.Minute, &cadre.TaskDone{ID: "1"})
	w.edit("1", map[string]any{"status": "pending"})
	if got := w.task("1"); got.Status != cadre.Pending {
		t.Fatalf("task 1 is %s", got.Status)
	}
	if got := w.task("2"); got.Status != cadre.Completed || len(got.Flags) > 0 {
		t.Errorf("task 2 is %s with %v", got.Status, got.Flags)
	}
	w.check()
}

func TestTheFinishedListThatTheClientClears(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	w.add("two")
	w.must(&cadre.TaskDone{ID: "1"})
	w.must(&cadre.TaskDone{ID: "2"})
	for _, id := range []cadre.TaskID{"1", "2"} {
		if err := os.Remove(w.taskPath(id)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.ids(); len(got) != 2 {
		t.Fatalf("the list is %v", got)
	}
	w.add("three")
	if !w.gone(w.taskPath("1")) || w.gone(w.taskPath("3")) {
		t.Error("a cleared task was written again, or the new one was not")
	}
	w.check()
	pending := cadre.Pending
	w.must(&cadre.TaskUpdate{ID: "1", Status: (*string)(&pending)})
	if w.gone(w.taskPath("1")) {
		t.Error("a reopened task has no file")
	}
	w.check()
}

// What is added after the client saw the list finished and before it clears it away
// was not meant.
func TestTheListThatIsClearedInTheLastMoment(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	w.must(&cadre.TaskDone{ID: "1"})
	w.add("two")
	for _, id := range []cadre.TaskID{"1", "2"} {
		if err := os.Remove(w.taskPath(id)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.task("2"); got.Status != cadre.Pending {
		t.Fatalf("task 2 is %s", got.Status)
	}
	if !w.gone(w.taskPath("1")) || w.gone(w.taskPath("2")) {
		t.Error("the finished task was written again, or the open one was not")
	}
	w.check()
	if err := os.Remove(w.taskPath("2")); err != nil {
		t.Fatal(err)
	}
	if got := w.task("2"); got.Status != cadre.Deleted {
		t.Errorf("alone it was not swept away, and is %s", got.Status)
	}
	w.check()
}

func TestAnUnchangedFileIsNotWritten(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	w.add("two", "1")
	w.edit("1", map[string]any{"extra": "kept", "owner": "bob"})
	w.task("1")
	stat := func(id cadre.TaskID) os.FileInfo {
		info, err := os.Stat(w.taskPath(id))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	one, two := stat("1"), stat("2")
	w.ids()
	w.add("three")
	w.must(&cadre.TaskComment{ID: "1", Text: "a note"})
	for id, was := range map[cadre.TaskID]os.FileInfo{"1": one, "2": two} {
		if now := stat(id); !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) {
			t.Errorf("the file of task %s was written again", id)
		}
	}
	before := string(w.read(w.taskPath("1")))
	w.must(&cadre.TaskDone{ID: "1"})
	after := string(w.read(w.taskPath("1")))
	o, _ := claudefile.Parse([]byte(before))
	o.Set("status", "completed")
	if after != string(o.Bytes()) {
		t.Errorf("more than the status changed:\n%s\nbecame\n%s", before, after)
	}
	w.check()
}

// A process was killed between replacing a file and looking at what it replaced,
// which somebody had just written to.
func TestWhatACrashLeftIsStillTakenIn(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	o, err := claudefile.Parse(w.read(w.taskPath(id)))
	if err != nil {
		t.Fatal(err)
	}
	o.Set("owner", "bob")
	left := w.path("tasks", string(list), ".cadre-1x2y.1.json.tmp")
	w.write(left, string(o.Bytes()))
	at := time.Now().Add(-time.Minute)
	if err := os.Chtimes(left, at, at); err != nil {
		t.Fatal(err)
	}
	if w.ids(); w.gone(left) {
		t.Fatal("a file that somebody may be at work on was swept away")
	}
	claudedir.SetLeftover(t, 0)
	w.add("another")
	if got := w.task(id).Owner; got != "bob" || !w.gone(left) {
		t.Fatalf("the task belongs to %q", got)
	}
	w.check()
}

// A task is taken away from a live lease: the file is put back once and the lead is
// asked; the second write is obeyed, and a late write of the old owner is refused.
func TestTakingATaskFromALiveLease(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.must(&cadre.TeamJoin{Name: "ann"})
	w.must(&cadre.TeamJoin{Name: "bob"})
	id := w.add("words")
	if _, err := w.as("ann", &cadre.TaskStart{ID: id, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	fence := w.task(id).Fence
	w.edit(id, map[string]any{"owner": "bob"})
	if got := w.task(id); got.Owner != "ann" || got.Fence != fence {
		t.Fatalf("after the first write it is %s's, claim %d", got.Owner, got.Fence)
	}
	if got := w.file(id).Owner; got != "ann" {
		t.Fatalf("the file was not put back: %q", got)
	}
	asks := w.asks()
	if len(asks) != 1 || asks[0].Kind != cadre.AskTakeover || asks[0].Task != id {
		t.Fatalf("the asks are %+v", asks)
	}
	w.edit(id, map[string]any{"owner": "bob"})
	if got := w.task(id); got.Owner != "bob" || got.Fence != fence+1 {
		t.Errorf("after the second write it is %s's, claim %d, before it was %d", got.Owner, got.Fence, fence)
	}
	if got := w.asks(); len(got) != 0 {
		t.Errorf("the ask is still open: %+v", got)
	}
	_, err := w.as("ann", &cadre.TaskDone{ID: id, Fence: fence})
	if cadre.AsError(err).Rule != cadre.RuleFence {
		t.Errorf("the late write of the old owner: %v", err)
	}
	w.check()
}

// A file that never parses is left as it is, and nothing else suffers from it.
func TestAFileThatNeverParses(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	w.write(w.taskPath("2"), "{ not JSON")
	w.age(w.taskPath("2"))
	if got := w.ids(); len(got) != 1 {
		t.Fatalf("the list is %v", got)
	}
	if id := w.add("three"); id != "3" {
		t.Errorf("the next task is %s: the number of the broken file was used", id)
	}
	if got := string(w.read(w.taskPath("2"))); got != "{ not JSON" {
		t.Errorf("the broken file is %q", got)
	}
	w.foreign("2", "mended", nil)
	if got := w.task("2"); got.Subject != "mended" {
		t.Errorf("the mended file is %q", got.Subject)
	}
	w.check()
}

func TestAnUnknownStatusIsNotRewritten(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	w.edit(id, map[string]any{"status": "paused"})
	before := w.tree()
	content := string(w.read(w.taskPath(id)))
	if got := w.task(id); got.Status != "paused" || !w.flagged(got, cadre.FlagStatus) {
		t.Fatalf("the task is %s, flags %v", got.Status, got.Flags)
	}
	w.must(&cadre.TaskComment{ID: id, Text: "a note"})
	if got := w.differences(map[string]string{"tasks/docs/1.json": content}, before); slices.ContainsFunc(got, func(d string) bool { return strings.HasPrefix(d, "tasks/docs/1.json") }) {
		t.Errorf("the file was touched: %v", got)
	}
	w.edit(id, map[string]any{"status": "pending"})
	if got := w.task(id); got.Status != cadre.Pending || len(got.Flags) != 0 {
		t.Errorf("the task is %s, flags %v", got.Status, got.Flags)
	}
	w.check()
}
