package claudedir_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudedir"
	"cadre/claudefile"
)

// A process was killed after it had replaced a file and before it looked at what
// it replaced: that is the only copy of what somebody had written there.
func TestWhatAKilledProcessReplacedIsTakenIn(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.must(&cadre.TeamJoin{Name: "ann"})
	id, other := w.add("words"), w.add("more words")
	copyOf := func(id cadre.TaskID, keys map[string]any) string {
		o, err := claudefile.Parse(w.read(w.taskPath(id)))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range keys {
			o.Set(k, v)
		}
		return string(o.Bytes())
	}
	folder := []string{"tasks", string(list)}
	leftover := w.path(append(folder, ".cadre-1a2b-3c4d."+string(id)+".json.tmp")...)
	w.write(leftover, copyOf(id, map[string]any{"owner": "bob", "description": "from the killed one's victim"}))
	older := w.path(append(folder, ".cadre-5e6f-3c4d."+string(other)+".json.tmp")...)
	w.write(older, copyOf(other, map[string]any{"owner": "carl"})) // with the words of that time
	mail := w.path("teams", string(list), "inboxes", ".cadre-7a8b-3c4d.ann.json.tmp")
	w.write(mail, string(claudefile.WriteInbox([]claudefile.Entry{{From: "eve", Text: "unseen", Timestamp: "2026-01-01T00:00:00.000Z"}})))
	w.ids()
	if w.gone(leftover) || w.gone(older) || w.gone(mail) {
		t.Fatal("what is young may be in use, and was removed")
	}
	time.Sleep(10 * time.Millisecond)
	w.edit(other, map[string]any{"subject": "newer words"})
	w.ids()
	w.must(&cadre.MsgSend{To: "ann", Text: "seen"})
	claudedir.SetLeftover(t, 0)
	if err := w.store.Refresh(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if got := w.task(id); got.Owner != "bob" || got.Description != "from the killed one's victim" {
		t.Errorf("task %s belongs to %q: %q", id, got.Owner, got.Description)
	}
	if got := w.task(other); got.Subject != "newer words" || got.Owner != "carl" {
		t.Errorf("task %s is %q of %q", other, got.Subject, got.Owner)
	}
	var texts []string
	for _, m := range w.unread("ann") {
		texts = append(texts, m.Text)
	}
	if !slices.Contains(texts, "unseen") || !slices.Contains(texts, "seen") {
		t.Errorf("unread are %q", texts)
	}
	for _, path := range []string{leftover, older, mail} {
		if !w.gone(path) {
			t.Errorf("%s is still there", path)
		}
	}
	w.check()
}

// A second crash leaves mail again, as the first one did: it is another command.
func TestMailThatTwoCrashesLeft(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	claudedir.SetLeftover(t, 0)
	for _, text := range []string{"first", "second"} {
		w.write(w.path("teams", string(list), "inboxes", ".cadre-7a8b-3c4d.team-lead.json.tmp"),
			string(claudefile.WriteInbox([]claudefile.Entry{{From: "eve", Text: text, Timestamp: "2026-01-01T00:00:00.000Z"}})))
		if err := w.store.Refresh(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.unread("team-lead"); len(got) != 2 {
		t.Errorf("of two messages %d arrived", len(got))
	}
}

// unread is the mail that waits for a member.
func (w *world) unread(name string) []*cadre.Message {
	w.Helper()
	var out []*cadre.Message
	err := w.inner.View(w.Context(), list, func(s cadre.Snap) error {
		for m, err := range s.Unread(name) {
			if err != nil {
				return err
			}
			out = append(out, m)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// A file whose name no client makes and no command can say is no task.
func TestNamesThatNobodyCanSay(t *testing.T) {
	w := newWorld(t)
	w.add("words")
	for _, name := range []string{"5\n", "\x1b[31m6", "a b", ".hidden", "7.8", strings.Repeat("x", 201), "ünï"} {
		w.foreign(name, "a stranger", nil)
	}
	w.foreign("abc-1", "a guest", nil)
	if got := w.ids(); !slices.Equal(got, []string{"1", "abc-1"}) {
		t.Errorf("the list is %q", got)
	}
	w.check()
}

// Somebody who never stops writing half a file stops nobody else.
func TestAWriterThatNeverEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("words")
	stop, ended := make(chan struct{}), make(chan struct{})
	half := func() { _ = os.WriteFile(w.taskPath(id), []byte(`{"id": "1", "subj`), 0o600) }
	half()
	go func() {
		defer close(ended)
		for {
			half()
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	began := time.Now()
	if got := w.task(id); got.Subject != "words" {
		t.Errorf("the task is %q", got.Subject)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Whoever takes the owner out of a file leaves a task in progress that belongs to
// nobody, which is shown; until it has one again.
func TestATaskInProgressLosesItsOwner(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	w.edit(id, map[string]any{"owner": "bob", "status": "in_progress"})
	w.task(id)
	w.edit(id, map[string]any{"owner": nil})
	if got := w.task(id); got.Owner != "" || !w.flagged(got, cadre.FlagNobody) {
		t.Fatalf("the task belongs to %q, flags %v", got.Owner, got.Flags)
	}
	w.check()
	w.edit(id, map[string]any{"owner": "carl"})
	if got := w.task(id); got.Owner != "carl" || w.flagged(got, cadre.FlagNobody) {
		t.Fatalf("the task belongs to %q, flags %v", got.Owner, got.Flags)
	}
	w.check()
}

// A finished task that is made to wait for an open one was finished out of order.
func TestAFinishedTaskIsMadeToWait(t *testing.T) {
	w := newWorld(t)
	one, two := w.add("one"), w.add("two")
	three := w.add("three", one)
	w.must(&cadre.TaskDone{ID: one})
	w.edit(one, map[string]any{"blockedBy": []string{string(two)}})
	if got := w.task(one); got.Status != cadre.Completed || !w.flagged(got, cadre.FlagUnaccepted) {
		t.Fatalf("task one is %s, flags %v", got.Status, got.Flags)
	}
	if got := w.task(three); got.State != cadre.TaskBlocked {
		t.Fatalf("task three is %s", got.State)
	}
	w.check()
	w.must(&cadre.TaskDone{ID: two})
	if got := w.task(three); got.State != cadre.TaskReadyState {
		t.Fatalf("task three is %s", got.State)
	}
	w.check()
}

// A finished task is made to wait for another finished one, which is opened again:
// nothing was done out of order.
func TestAFinishedTaskWaitsForOneThatIsOpenedAgain(t *testing.T) {
	w := newWorld(t)
	one, two := w.add("one"), w.add("two")
	w.must(&cadre.TaskDone{ID: one})
	w.must(&cadre.TaskDone{ID: two})
	w.edit(one, map[string]any{"blockedBy": []string{string(two)}})
	w.task(one)
	pending := string(cadre.Pending)
	w.must(&cadre.TaskUpdate{ID: two, Status: &pending})
	if got := w.task(one); got.Status != cadre.Completed || len(got.Flags) > 0 {
		t.Errorf("task one is %s, flags %v", got.Status, got.Flags)
	}
	w.check()
}

// For a moment after a file was cut it still has the time of the write before. That
// is no file that was left broken long ago: its writer is at work.
func TestACutFileWithAnOldTime(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	whole := strings.Replace(string(w.read(w.taskPath(id))), `"words"`, `"new words"`, 1)
	f, err := os.OpenFile(w.taskPath(id), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(w.taskPath(id), old, old); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	time.AfterFunc(5*time.Millisecond, func() {
		_, err := f.WriteString(whole)
		ended <- errors.Join(err, f.Close())
	})
	if got := w.task(id); got.Subject != "new words" {
		t.Errorf("the task is %q", got.Subject)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.check()
}

// A number that clients cannot count to does not use up all that come before it.
func TestNumbersThatNobodyCanCountTo(t *testing.T) {
	for _, number := range []string{"18446744073709551615", "9223372036854775807", "9007199254740992"} {
		w := newWorld(t)
		w.write(w.path("tasks", string(list), ".highwatermark"), number)
		w.foreign(number, "a large one", nil)
		if first, second := w.add("one"), w.add("two"); first != "1" || second != "2" {
			t.Errorf("beside %s the next tasks are %s and %s", number, first, second)
		}
		w.check()
	}
}

// Somebody leaves half a file after we looked and before we write: what we had to say is
// in the file when the command is done, and not when somebody says something next time.
func TestAFileThatIsBrokenBeforeWeWrite(t *testing.T) {
	w := newWorld(t)
	id := w.add("old")
	w.inner = &interrupted{Store: w.inner, after: func() {
		w.write(w.taskPath(id), `{"id": `)
		w.age(w.taskPath(id)) // nobody is writing it any more
	}}
	w.open()
	w.must(&cadre.TaskUpdate{ID: id, Subject: new("new")})
	w.inner = w.inner.(*interrupted).Store
	w.open()
	if got := string(w.read(w.taskPath(id))); !strings.Contains(got, `"new"`) {
		t.Errorf("the file is still %s", got)
	}
	w.check()
}
