package claudedir

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"cadre"
)

// Whoever comes while a pass runs is served by the next one, with all others.
func TestTurnsAreShared(t *testing.T) {
	var ts turns
	var looks []look
	running, end := make(chan bool), make(chan bool)
	pass := func(l look) (outcome, error) {
		running <- true
		<-end
		looks = append(looks, l)
		return outcome{taken: cadre.Seq(len(looks))}, nil
	}
	var wg sync.WaitGroup
	var served [4]cadre.Seq
	take := func(i int, l look) {
		wg.Go(func() {
			o, err := ts.take(t.Context(), l, pass)
			if err != nil {
				t.Error(err)
			}
			served[i] = o.taken
		})
	}
	take(0, look{tasks: []cadre.TaskID{"1"}})
	<-running
	take(1, look{upTo: cadre.Head{Seq: 7}})
	waiting(&ts, func(l look) bool { return l.upTo.Seq == 7 })
	take(2, look{upTo: cadre.Head{Seq: 9}})
	waiting(&ts, func(l look) bool { return l.upTo.Seq == 9 })
	take(3, look{tasks: []cadre.TaskID{"2"}, inboxes: map[string]bool{"ann": true}, team: true})
	waiting(&ts, func(l look) bool { return l.team })
	end <- true
	<-running
	end <- true
	wg.Wait()
	if served != [4]cadre.Seq{1, 2, 2, 2} {
		t.Errorf("the passes that served them are %v", served)
	}
	if l := looks[1]; l.upTo.Seq != 0 || !slices.Equal(l.tasks, []cadre.TaskID{"2"}) || !l.inboxes["ann"] || !l.team || l.heard || l.all {
		t.Errorf("the second pass was to look at %+v", l)
	}
}

// waiting waits until a look waits for its turn.
func waiting(ts *turns, is func(look) bool) {
	for there := false; !there; time.Sleep(time.Millisecond) {
		ts.mu.Lock()
		there = ts.next != nil && is(ts.next.look)
		ts.mu.Unlock()
	}
}

func TestLookWith(t *testing.T) {
	early := time.Unix(1, 0)
	write := look{upTo: cadre.Head{Seq: 7}, until: early}.with(look{upTo: cadre.Head{Seq: 9}, until: early.Add(1)})
	if write.upTo.Seq != 9 || !write.until.Equal(early) {
		t.Errorf("two commands need the files up to %d, until %v", write.upTo.Seq, write.until)
	}
	if l := (look{heard: true}).with(look{heard: true}); !l.heard {
		t.Error("two hints are no hint")
	}
	if l := (look{heard: true}).with(look{all: true}); l.heard || !l.all {
		t.Errorf("a hint and a look at everything are %+v", l)
	}
}

// Who runs a pass for others and gives up takes nobody along.
func TestTurnOfOneWhoGivesUp(t *testing.T) {
	var ts turns
	ts.running.Lock() // somebody else's pass
	impatient, cancel := context.WithCancel(t.Context())
	pass := func(ctx context.Context) func(look) (outcome, error) {
		return func(look) (outcome, error) { return outcome{taken: 3}, ctx.Err() }
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := ts.take(impatient, look{}, pass(impatient)); !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
	})
	waiting(&ts, func(look) bool { return true })
	wg.Go(func() {
		if o, err := ts.take(t.Context(), look{team: true}, pass(t.Context())); err != nil || o.taken != 3 {
			t.Errorf("who did not got %+v, %v", o, err)
		}
	})
	waiting(&ts, func(l look) bool { return l.team })
	cancel()
	ts.running.Unlock()
	wg.Wait()
}

// Whoever waits for a pass that falls over runs one of its own.
func TestAFallenTurnServesNobody(t *testing.T) {
	var ts turns
	running, fall := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	ts.running.Lock() // so that both wait for one pass
	wg.Go(func() {
		defer func() { _ = recover() }()
		_, _ = ts.take(t.Context(), look{all: true}, func(look) (outcome, error) {
			running <- true
			<-fall
			panic("it falls over")
		})
	})
	waiting(&ts, func(l look) bool { return l.all })
	wg.Go(func() {
		o, err := ts.take(t.Context(), look{team: true}, func(look) (outcome, error) { return outcome{taken: 7}, nil })
		if err != nil || o.taken != 7 {
			t.Errorf("the other got %+v and %v", o, err)
		}
	})
	waiting(&ts, func(l look) bool { return l.team })
	ts.running.Unlock()
	<-running
	fall <- true
	wg.Wait()
}
