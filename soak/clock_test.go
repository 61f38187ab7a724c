package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/sqlitestore"
)

// TestSoakClock gives the same commands to two machines. On one the wall clock is
// set an hour ahead or back between any two of them. Both must answer the same:
// order comes from the log, and leases from the time since boot.
func TestSoakClock(t *testing.T) {
	t.Parallel()
	commands := count(t, "commands with a clock that jumps", 400, 5000)
	seed := rand.Uint64()
	steady := newTimed(t, seed, false)
	jumping := newTimed(t, seed, true)
	for i := range commands {
		one, two := steady.step(), jumping.step()
		if one != two {
			t.Fatalf("seed %d, command %d: with a steady clock\n%s\nwith one that jumps\n%s", seed, i, one, two)
		}
	}
	one, two := steady.everything(), jumping.everything()
	if one != two {
		t.Fatalf("seed %d: with a steady clock the list is\n%s\nwith one that jumps\n%s", seed, one, two)
	}
	t.Logf("the clock was set %d times; %d events, %d of them older than the one before, %d leases ran out; no answer and no order changed",
		jumping.jumps, jumping.events, jumping.backward, jumping.expired)
	if jumping.backward == 0 || jumping.expired == 0 || steady.backward != 0 || len(jumping.asked) == 0 {
		t.Error("the clock did not jump, no lease ran out, or nobody asked for anything")
	}
}

// timed is a machine whose clocks the test sets.
type timed struct {
	t      *testing.T
	c      *coord.Coord
	rand   *rand.Rand
	jumps  int
	asked  []cadre.AskID
	now    cadre.Time
	faulty bool // the wall clock jumps

	events, backward, expired int
}

func newTimed(t *testing.T, seed uint64, faulty bool) *timed {
	t.Helper()
	store, err := sqlitestore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	tm := &timed{t: t, rand: rand.New(rand.NewPCG(seed, 1)), faulty: faulty}
	tm.now = cadre.Time{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: "boot", Up: time.Hour}
	tm.c = &coord.Coord{Store: store, Now: func() cadre.Time { return tm.now }}
	tm.do(operator, "team create", &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	tm.do(operator, "team policy", &cadre.TeamPolicy{Kind: cadre.AskQuestion, Then: cadre.PolicyDeny, After: new(8000 * time.Hour)}) // a deadline is a time of day, for people
	for _, name := range []string{"ann", "ben", "cat"} {
		tm.do(as(name), "task add", &cadre.TaskAdd{Subject: "of " + name})
	}
	return tm
}

// pass lets up to half a minute pass, and sets the wall clock.
func (tm *timed) pass() {
	d := time.Duration(1+tm.rand.IntN(30_000)) * time.Millisecond
	tm.now.Up += d
	tm.now.Wall = tm.now.Wall.Add(d)
	jump := time.Duration(tm.rand.IntN(3)-1) * time.Hour
	if tm.faulty && jump != 0 {
		tm.now.Wall = tm.now.Wall.Add(jump)
		tm.jumps++
	}
}

// timeOfDay is what moment leaves of times in an answer: a deadline.
var timeOfDay = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)

var askID = regexp.MustCompile(`"id":"(a\d+)"`)

// step is one random command; it gives the answer without the times in it.
func (tm *timed) step() string {
	tm.pass()
	r := tm.rand
	who := as([]string{"ann", "ben", "cat"}[r.IntN(3)])
	id := cadre.TaskID(fmt.Sprint(1 + r.IntN(30)))
	lease := time.Duration(r.IntN(120)) * time.Second
	switch r.IntN(16) {
	case 0, 1:
		return tm.do(who, "task add", &cadre.TaskAdd{Subject: fmt.Sprint("task ", r.IntN(1000)), Owner: []string{"", "", "ann", "ben"}[r.IntN(4)], Priority: cadre.Level(fmt.Sprint(r.IntN(4)))})
	case 2:
		return tm.do(who, "task claim", &cadre.TaskClaim{ID: id, Lease: lease})
	case 3:
		return tm.do(who, "task start", &cadre.TaskStart{ID: id, Lease: lease})
	case 4:
		return tm.do(who, "task next", &cadre.TaskNext{Claim: true, Lease: lease})
	case 5:
		return tm.do(who, "task done", &cadre.TaskDone{ID: id})
	case 6:
		return tm.do(who, "task release", &cadre.TaskRelease{ID: id})
	case 7:
		return tm.do(who, "msg send", &cadre.MsgSend{To: []string{"ann", "ben", "cat", "team-lead"}[r.IntN(4)], Text: fmt.Sprint("text ", r.IntN(1000))})
	case 8:
		return tm.do(who, "msg inbox", &cadre.MsgInbox{})
	case 9:
		return tm.do(operator, "leases expire", &cadre.LeasesExpire{})
	case 10:
		return tm.do(operator, "log", &coord.Log{Limit: 20})
	case 11:
		return tm.do(who, "msg ack", &cadre.MsgAck{})
	case 12:
		answer := tm.do(who, "ask for", &cadre.AskFor{Kind: cadre.AskQuestion, Text: fmt.Sprint("is it ", r.IntN(1000), "?")})
		if id := askID.FindStringSubmatch(answer); id != nil {
			tm.asked = append(tm.asked, cadre.AskID(id[1]))
		}
		return answer
	case 13:
		if len(tm.asked) == 0 {
			return ""
		}
		return tm.do(operator, "ask answer", &cadre.AskAnswer{ID: tm.asked[r.IntN(len(tm.asked))], Text: "it is"})
	case 14:
		return tm.do(operator, "ask list", &cadre.AskList{All: true})
	}
	return tm.do(operator, "task ready", &cadre.TaskReady{})
}

// do carries out a verb and gives what it answered, a refusal too.
func (tm *timed) do(who cadre.Actor, name string, verb any) string {
	tm.t.Helper()
	s := &coord.Session{Coord: tm.c, Actor: who, Door: "test", Scope: "docs"}
	answer, err := s.Do(context.Background(), name, verb)
	if err != nil {
		e := cadre.AsError(err)
		if e.Code == cadre.CodeInternal {
			tm.t.Fatalf("%s: %v", name, err)
		}
		return fmt.Sprintf("%s %s: %s (%s)", who, name, e.Message, e.Rule)
	}
	if events, ok := answer.([]cadre.Event); ok {
		return order(events)
	}
	data, err := json.Marshal(answer)
	if err != nil {
		tm.t.Fatal(err)
	}
	return fmt.Sprintf("%s %s: %s", who, name, timeOfDay.ReplaceAllString(moment.ReplaceAllString(string(data), ""), ""))
}

// order is the sequence of events without what two logs never share.
func order(events []cadre.Event) string {
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "%d %s %s %s\n", e.Seq, e.Actor, e.Verb, e.Object)
	}
	return out.String()
}

// everything reads all there is, and counts what happened to the clock. Events
// stand in the order of their numbers whatever their times are.
func (tm *timed) everything() string {
	tm.t.Helper()
	var all []cadre.Event
	for e, err := range tm.c.Store.Events(context.Background(), "docs", cadre.Head{}, false) {
		if err != nil {
			tm.t.Fatal(err)
		}
		if n := len(all); n > 0 && e.Seq != all[n-1].Seq+1 {
			tm.t.Errorf("event %d comes after event %d", e.Seq, all[n-1].Seq)
		} else if n > 0 && e.Time.Before(all[n-1].Time) {
			tm.backward++
		}
		before, was := e.Before.(*cadre.Task)
		if after, ok := e.After.(*cadre.Task); ok && was && after.Attempts > before.Attempts {
			tm.expired++
		}
		all = append(all, e)
	}
	tm.events = len(all)
	out := order(all) + tm.do(operator, "log", &coord.Log{}) + tm.do(operator, "task list", &cadre.TaskList{}) + tm.do(operator, "ask list", &cadre.AskList{All: true})
	for _, name := range []string{"ann", "ben", "cat", "team-lead"} {
		out += tm.do(operator, "msg inbox", &cadre.MsgInbox{Name: name, All: true})
	}
	for _, name := range []string{"ann", "ben", "cat"} {
		out += tm.do(as(name), "task next", &cadre.TaskNext{})
	}
	return out
}
