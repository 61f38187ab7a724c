package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"cadre"
)

func eventTests() []test {
	return []test{
		{"resume after a head", resume},
		{"follow", follow},
		{"follow a scope that does not exist yet", followNothing},
		{"a cursor of another epoch", otherEpoch},
		{"following ends with its context", followEnds},
		{"follow with a context that has ended", followEnded},
		{"follow a name that a list is renamed to", followRenamed},
	}
}

func resume(t *testing.T, b *bench) {
	b.add(list, "one")
	cursor := b.head(list)
	b.add(list, "two")
	b.add(list, "three")
	var got []cadre.Seq
	for e, err := range b.store.Events(t.Context(), list, cursor, false) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Seq)
	}
	if len(got) != 2 || got[0] != cursor.Seq+1 {
		t.Fatalf("after %d come %v", cursor.Seq, got)
	}
	for e := range b.store.Events(t.Context(), list, b.head(list), false) {
		t.Fatalf("after the head comes %+v", e)
	}
	for range b.store.Events(t.Context(), list, cadre.Head{}, false) {
		break // a reader may stop at any time
	}
	b.add(list, "four")
}

// follower reads a log in the background.
func follower(ctx context.Context, b *bench, s cadre.Scope, after cadre.Head) (<-chan cadre.Event, <-chan error) {
	events, ended := make(chan cadre.Event, 100), make(chan error, 1)
	go func() {
		for e, err := range b.store.Events(ctx, s, after, true) {
			if err != nil {
				ended <- err
				return
			}
			events <- e
		}
		ended <- nil
	}()
	return events, ended
}

func receive(t *testing.T, events <-chan cadre.Event) cadre.Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event within ten seconds")
		return cadre.Event{}
	}
}

func follow(t *testing.T, b *bench) {
	b.add(list, "one")
	events, _ := follower(t.Context(), b, list, b.head(list))
	for _, subject := range []string{"two", "three", "four"} {
		id := b.add(list, subject)
		if e := receive(t, events); e.Object.ID != string(id) {
			t.Fatalf("the follower got %s, want task %s", e.Object, id)
		}
	}
}

func followNothing(t *testing.T, b *bench) {
	events, _ := follower(t.Context(), b, list, cadre.Head{})
	time.Sleep(10 * time.Millisecond)
	b.add("elsewhere", "not this")
	id := b.add(list, "this")
	if e := receive(t, events); e.Object.Kind != cadre.KindLog {
		t.Fatalf("the first event is about %s", e.Object)
	}
	if e := receive(t, events); e.Object.ID != string(id) {
		t.Fatalf("the follower got %s, want task %s", e.Object, id)
	}
}

func otherEpoch(t *testing.T, b *bench) {
	b.add(list, "one")
	head := b.head(list)
	wrong, past := head, head
	wrong.Epoch = "another"
	past.Seq += 5
	forged := head
	forged.Hash = "another"
	for _, cursor := range []cadre.Head{wrong, past, forged} {
		for _, follow := range []bool{false, true} {
			err := errors.New("nothing")
			for _, err = range b.store.Events(t.Context(), list, cursor, follow) {
				break
			}
			epoch, ok := errors.AsType[*cadre.EpochError](err)
			if !ok || epoch.Head != head {
				t.Fatalf("cursor %+v: %v", cursor, err)
			}
		}
	}
}

func followEnds(t *testing.T, b *bench) {
	b.add(list, "one")
	ctx, cancel := context.WithCancel(t.Context())
	events, ended := follower(ctx, b, list, cadre.Head{})
	receive(t, events)
	receive(t, events)
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("following ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("following did not end")
	}
}

func followEnded(t *testing.T, b *bench) {
	b.add(list, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for e, err := range b.store.Events(ctx, list, cadre.Head{}, true) {
		t.Fatalf("following gave %+v, %v", e, err)
	}
	err := errors.New("nothing")
	for _, err = range b.store.Events(ctx, list, cadre.Head{}, false) {
		break
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("reading ended with %v", err)
	}
}

func followRenamed(t *testing.T, b *bench) {
	b.add(list, "one")
	events, _ := follower(t.Context(), b, "new-name", cadre.Head{})
	time.Sleep(10 * time.Millisecond)
	b.move(list, cadre.Dest{Name: "new-name"})
	for _, kind := range []cadre.Kind{cadre.KindLog, cadre.KindTask, cadre.KindLog} {
		if e := receive(t, events); e.Object.Kind != kind {
			t.Fatalf("the follower got %s, want a %s", e.Object, kind)
		}
	}
}
