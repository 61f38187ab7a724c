package claudedir_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"cadre"
	"cadre/claudedir"
	"cadre/claudefile"
)

// followed gives the events that a follower sees which listens and does not look by
// itself, until the test ends.
func (w *world) followed() <-chan cadre.Event {
	w.Helper()
	claudedir.SetRescan(w.T, time.Hour)
	return w.follower()
}

// follower gives the events that a follower sees, until the test ends.
func (w *world) follower() <-chan cadre.Event {
	w.Helper()
	if err := os.MkdirAll(w.dir, 0o700); err != nil { // in a folder that is not there nothing can be heard
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	seen, done := make(chan cadre.Event, 100), make(chan struct{})
	var head cadre.Head
	if err := w.inner.View(ctx, list, func(s cadre.Snap) error { head = s.Head(); return nil }); err != nil {
		w.Fatal(err)
	}
	go func() {
		defer close(done)
		for e, err := range w.store.Events(ctx, list, head, true) {
			if err != nil {
				return
			}
			seen <- e
		}
	}()
	w.Cleanup(func() { stop(); <-done })
	// It has to listen before somebody writes: it does once it has seen a first file.
	for n := 900; ; n++ {
		w.foreign(strconv.Itoa(n), "are you there?", nil)
		select {
		case <-seen:
			return seen
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// until waits for an event about an object.
func (w *world) until(seen <-chan cadre.Event, right func(cadre.Event) bool) cadre.Event {
	w.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case e := <-seen:
			if right(e) {
				return e
			}
		case <-timeout:
			w.Fatal("the follower saw nothing")
		}
	}
}

// A follower that cannot hear looks, now and then.
func TestAFollowerThatHearsNothingLooks(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	claudedir.SetRescan(t, 10*time.Millisecond)
	claudedir.SetWatcher(t, func() (*fsnotify.Watcher, error) { return nil, errors.New("no more of them on this machine") })
	seen := w.follower()
	w.edit(id, map[string]any{"owner": "bob"})
	w.until(seen, func(e cadre.Event) bool { return e.Object.ID == string(id) })
}

// A follower that is told that it missed something looks at once.
func TestAFollowerLooksWhenHintsWereLost(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	claudedir.SetRescan(t, time.Hour)
	lost := make(chan error)
	claudedir.SetWatcher(t, func() (*fsnotify.Watcher, error) {
		heard, err := fsnotify.NewWatcher()
		if err != nil {
			return nil, err
		}
		deaf := *heard
		deaf.Events, deaf.Errors = make(chan fsnotify.Event), lost
		return &deaf, nil
	})
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case lost <- fsnotify.ErrEventOverflow:
				time.Sleep(10 * time.Millisecond)
			case <-stop:
				return
			}
		}
	}()
	seen := w.follower()
	w.edit(id, map[string]any{"owner": "bob"})
	w.until(seen, func(e cadre.Event) bool { return e.Object.ID == string(id) })
}

func TestAFollowerSeesAnInPlaceEdit(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	seen := w.followed()
	w.edit(id, map[string]any{"status": "in_progress", "owner": "bob"})
	e := w.until(seen, func(e cadre.Event) bool { return e.Object.ID == string(id) })
	if got := e.After.(*cadre.Task); got.Owner != "bob" || e.Actor.Kind != cadre.ActorExternal {
		t.Fatalf("saw %+v by %s", got, e.Actor)
	}
}

func TestAFollowerSeesAFileWrittenUnderItsLock(t *testing.T) {
	w := newWorld(t)
	id := w.add("words")
	seen := w.followed()
	lock := w.taskPath(id) + ".lock"
	if err := os.Mkdir(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	w.edit(id, map[string]any{"owner": "bob"})
	w.until(seen, func(e cadre.Event) bool { return e.Object.ID == string(id) })
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
}

func TestAFollowerSeesAnEntryThatLivedForATenthOfASecond(t *testing.T) {
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.must(&cadre.TeamJoin{Name: "bob"})
	w.seesShortLived(w.path("teams", string(list), "inboxes", "bob.json"))
}

// The same where a client spells the team's folder in two ways, and keeps its mail in
// the second.
func TestAFollowerListensToTheSecondFolder(t *testing.T) {
	w := newWorld(t)
	config := claudefile.Config{
		Name: "Docs", CreatedAt: 1000, LeadAgentID: "team-lead@Docs", LeadSessionID: "s",
		Members: []claudefile.Member{{AgentID: "team-lead@Docs", Name: "team-lead"}, {AgentID: "bob@Docs", Name: "bob"}},
	}
	w.write(w.path("teams", string(list), "config.json"), string(config.Write(nil)))
	inbox := w.path("teams", "Docs", "inboxes", "bob.json")
	w.write(inbox, "[]")
	w.seesShortLived(inbox)
}

// seesShortLived writes entries into an inbox that live for a tenth of a second. A
// machine with more to do than it can may miss some; one that only looks every two
// seconds sees one in twenty.
func (w *world) seesShortLived(inbox string) {
	w.Helper()
	seen := w.followed()
	saw, tries := map[string]bool{}, 20
	for n := range tries {
		entry := claudefile.Entry{From: "eve", Text: "gone in a moment " + strconv.Itoa(n), Timestamp: claudefile.Timestamp(time.Now())}
		w.write(inbox, string(claudefile.WriteInbox([]claudefile.Entry{entry})))
		time.Sleep(100 * time.Millisecond)
		w.write(inbox, "[]")
		for waiting := true; waiting; {
			select {
			case e := <-seen:
				if m, ok := e.After.(*cadre.Message); ok && m.From == "eve" && m.ReadAt != nil {
					saw[m.Text] = true
				}
			case <-time.After(100 * time.Millisecond):
				waiting = false
			}
		}
		if len(saw) == 5 {
			return
		}
	}
	w.Fatalf("of %d entries the follower saw %d come and go", tries, len(saw))
}

func TestAFollowerSeesATeamAppear(t *testing.T) {
	w := newWorld(t)
	seen := w.followed()
	config := claudefile.Config{
		Name: string(list), CreatedAt: 1000, LeadAgentID: "team-lead@docs", LeadSessionID: "s",
		Members: []claudefile.Member{{AgentID: "team-lead@docs", Name: "team-lead", Subscriptions: []string{}}},
	}
	w.write(w.path("teams", string(list), "config.json"), string(config.Write(nil)))
	w.until(seen, func(e cadre.Event) bool { return e.Object.Kind == cadre.KindTeam })
	w.foreign("1", "from the client", map[string]any{"metadata": json.RawMessage(`{"a":1}`)})
	w.until(seen, func(e cadre.Event) bool { return e.Object.ID == "1" })
}

// The client deletes the team and makes it again: who follows it sees both.
func TestAFollowerSeesATeamComeBack(t *testing.T) {
	w := newWorld(t)
	config := claudefile.Config{
		Name: string(list), CreatedAt: 1000, LeadAgentID: "team-lead@docs", LeadSessionID: "s",
		Members: []claudefile.Member{{AgentID: "team-lead@docs", Name: "team-lead", Subscriptions: []string{}}},
	}
	write := func() { w.write(w.path("teams", string(list), "config.json"), string(config.Write(nil))) }
	write()
	w.must(&cadre.TeamShow{})
	seen := w.followed()
	moved := func(to cadre.Where) func(cadre.Event) bool {
		return func(e cadre.Event) bool {
			log, ok := e.After.(*cadre.Log)
			return ok && log.Where == to
		}
	}
	if err := errors.Join(os.RemoveAll(w.path("teams", string(list))), os.RemoveAll(w.path("tasks", string(list)))); err != nil {
		t.Fatal(err)
	}
	w.until(seen, moved(cadre.Archive))
	write()
	w.until(seen, moved(cadre.Live))
}
