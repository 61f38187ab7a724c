package claudedir_test

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
)

// followed gives the events that a follower sees, until the test ends.
func (w *world) followed() <-chan cadre.Event {
	w.Helper()
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
	seen := w.followed()
	inbox := w.path("teams", string(list), "inboxes", "bob.json")
	entry := claudefile.Entry{From: "eve", Text: "gone in a moment", Timestamp: claudefile.Timestamp(time.Now())}
	for range 20 { // a machine with more to do than it can may miss it
		w.write(inbox, string(claudefile.WriteInbox([]claudefile.Entry{entry})))
		time.Sleep(100 * time.Millisecond)
		w.write(inbox, "[]")
		for {
			select {
			case e := <-seen:
				if m, ok := e.After.(*cadre.Message); ok && m.Text == entry.Text && m.From == "eve" {
					w.until(seen, func(e cadre.Event) bool { m, ok := e.After.(*cadre.Message); return ok && m.ReadAt != nil })
					return
				}
				continue
			case <-time.After(200 * time.Millisecond):
			}
			break
		}
	}
	t.Fatal("the follower never saw it")
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
