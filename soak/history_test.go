package soak_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"cadre"
)

// TestSoakHistories records what 8 clients asked for and were told, each command
// a process of its own, and has a checker find an order of them that one client
// alone could have seen. Some processes are killed: they may count or not. At the
// end somebody looks at every task, so that nothing acknowledged may be lost.
func TestSoakHistories(t *testing.T) {
	const clients, each = 8, 25
	operations := count(t, "operations by 8 clients", 400, 5000)
	m := newMachine(t)
	outcomes := map[string]int{}
	decided := 0
	rounds := operations / (clients * each)
	for n := range rounds {
		history := m.record(fmt.Sprintf("list-%d", n), clients, each)
		for _, op := range history {
			outcomes[op.Output.(told).kind()]++
		}
		switch linear(history) {
		case porcupine.Ok:
			decided++
		case porcupine.Illegal:
			decided++
			t.Errorf("no order of these operations explains what the clients were told:\n%s", describe(history))
		case porcupine.Unknown:
			t.Errorf("the checker did not find out in %s whether there is an order of these operations:\n%s", undecided, describe(history))
		}
	}
	m.audited()
	t.Logf("%d of %d histories were decided; outcomes: %v", decided, rounds, outcomes)
	if decided != rounds {
		t.Errorf("%d histories were not decided, which says nothing about them", rounds-decided)
	}
	for _, kind := range []string{"done", "exit 4", "exit 6", "exit 5", "unknown"} {
		if outcomes[kind] == 0 {
			t.Errorf("no operation ended with %q: the histories are too tame", kind)
		}
	}
}

// record has clients work on a list at once and gives what they did.
func (m *machine) record(list string, clients, each int) []porcupine.Operation {
	var mu sync.Mutex
	var history []porcupine.Operation
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each {
				op := m.operate(list, c, fmt.Sprintf("of client %d, %d", c, i))
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return m.lookBack(list, history)
}

// lookBack ends a history with a look at every task. It also tells which of the
// tasks were made that somebody was killed over: those that are not there were
// not, and are left out.
func (m *machine) lookBack(list string, history []porcupine.Operation) []porcupine.Operation {
	m.t.Helper()
	began := int64(time.Since(start))
	have := m.tasks("--scope", list)
	ended := int64(time.Since(start))
	ids := map[string]int{}
	var looks []porcupine.Operation
	for _, v := range have {
		out := m.seen(v)
		ids[v.Subject] = out.ID
		looks = append(looks, porcupine.Operation{ClientId: 0, Input: wish{Verb: "look", ID: out.ID}, Output: out, Call: began, Return: ended})
	}
	whole := history[:0]
	for _, op := range history {
		in := op.Input.(wish)
		if in.Verb == "add" && op.Output.(told).Unknown {
			id, made := ids[in.Subject]
			if !made {
				continue
			}
			op.Output = told{ID: id, Status: cadre.Pending, Version: 1}
		}
		whole = append(whole, op)
	}
	return append(whole, looks...)
}

// TestSoakPlantedDoubleClaim makes sure that the checker would notice.
func TestSoakPlantedDoubleClaim(t *testing.T) {
	at := func(from, to int64, in wish, out told) porcupine.Operation {
		return porcupine.Operation{ClientId: int(from), Input: in, Output: out, Call: from, Return: to}
	}
	won := func(who string, version uint64) told {
		return told{ID: 1, Owner: who, Status: cadre.Pending, Version: version}
	}
	history := []porcupine.Operation{
		at(0, 1, wish{"add", 0, "ann", ""}, won("", 1)),
		at(2, 5, wish{"claim", 1, "ann", ""}, won("ann", 2)),
		at(3, 6, wish{"claim", 1, "ben", ""}, told{Code: 4, Owner: "ann"}),
	}
	if linear(history) != porcupine.Ok {
		t.Error("the checker refuses a history in which one of two claimers won")
	}
	history[2].Output = won("ben", 2)
	if linear(history) != porcupine.Illegal {
		t.Error("the checker accepts a history in which two claimers won")
	}
	history[2].Output = told{Code: 4, Owner: "cat"}
	if linear(history) != porcupine.Illegal {
		t.Error("the checker accepts a refusal that names somebody who never claimed")
	}
	history = append(history, at(2, 100, wish{"claim", 1, "cat", ""}, told{Unknown: true}))
	history[1] = at(7, 8, wish{"look", 1, "", ""}, won("cat", 2))
	if linear(history) != porcupine.Ok {
		t.Error("the checker refuses a claim that took effect although its process was killed")
	}
	history[1].Output = won("", 1)
	if linear(history) != porcupine.Illegal {
		t.Error("the checker accepts that a claim was lost which somebody had already seen")
	}
	history = history[:3]
	history[1] = at(2, 5, wish{"claim", 1, "ann", ""}, won("ann", 2))
	history[2] = at(7, 8, wish{"add", 0, "ben", ""}, won("", 1))
	if linear(history) != porcupine.Illegal {
		t.Error("the checker accepts an id that was given out twice")
	}
}

// wish is what a client asked for, told what it was answered.
type (
	wish struct {
		Verb    string
		ID      int
		Who     string
		Subject string
	}
	told struct {
		Unknown bool // killed before it could say
		Code    int
		ID      int
		Owner   string // of the task, or whom a refusal named
		Status  cadre.Status
		Version uint64
	}
)

func (o told) kind() string {
	switch {
	case o.Unknown:
		return "unknown"
	case o.Code == 0:
		return "done"
	}
	return fmt.Sprint("exit ", o.Code)
}

// start is what the times of a history are counted from, so that a wall clock
// that is set meanwhile does not change their order.
var start = time.Now()

// operate has one client do something random, mostly to the newest tasks.
func (m *machine) operate(list string, client int, subject string) porcupine.Operation {
	in := wish{pickOne("add", "claim", "claim", "claim", "release", "release", "done"), 1 + rand.IntN(12), fmt.Sprintf("client-%d", client), ""}
	args := []string{"task", in.Verb, fmt.Sprint(in.ID), "--scope", list, "--as", in.Who, "--json"}
	if in.Verb == "add" {
		in.ID, in.Subject, args[2] = 0, subject, subject
	}
	began := time.Since(start)
	var r result
	if rand.IntN(20) == 0 {
		r = m.killed(time.Duration(rand.IntN(12))*time.Millisecond, args...)
	} else {
		r = m.run(args...)
	}
	op := porcupine.Operation{ClientId: client, Input: in, Call: int64(began), Return: int64(time.Since(start))}
	out := m.understand(r)
	if op.Output = out; out.Unknown {
		op.Return = int64(began + 24*time.Hour) // it may count at any later time
	}
	return op
}

func pickOne(from ...string) string { return from[rand.IntN(len(from))] }

// understand reads an answer. A process that was killed after it had printed its
// whole answer did say what happened.
func (m *machine) understand(r result) told {
	var doc struct {
		cadre.TaskView
		Error *cadre.Error `json:"error"`
	}
	err := json.Unmarshal([]byte(r.out), &doc)
	switch {
	case err != nil && r.code == -1:
		return told{Unknown: true}
	case err != nil:
		m.t.Errorf("an answer that is no JSON: %s", r)
		return told{Unknown: true}
	case doc.Error != nil:
		return refusal(*doc.Error)
	}
	return m.seen(doc.TaskView)
}

// seen is what a client sees of a task.
func (m *machine) seen(v cadre.TaskView) told {
	id, err := strconv.Atoi(string(v.ID))
	if err != nil {
		m.t.Errorf("an answer without an id: %+v", v)
	}
	return told{ID: id, Owner: v.Owner, Status: v.Status, Version: v.Version}
}

// refusal is the exit code of a refusal and, for a lost race, who won it.
func refusal(e cadre.Error) told {
	out := told{Code: map[cadre.Code]int{cadre.CodeNotFound: 3, cadre.CodeConflict: 4, cadre.CodeBlocked: 5, cadre.CodeForbidden: 6}[e.Code]}
	if e.Code == cadre.CodeConflict {
		words := strings.Fields(e.Message) // "belongs to NAME", "was already completed by NAME"
		out.Owner = words[len(words)-1]
	}
	return out
}

func describe(history []porcupine.Operation) string {
	sorted := slices.Clone(history)
	slices.SortFunc(sorted, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var out strings.Builder
	for _, op := range sorted {
		fmt.Fprintf(&out, "%d..%d client %d: %+v -> %+v\n", op.Call-sorted[0].Call, op.Return-sorted[0].Call, op.ClientId, op.Input, op.Output)
	}
	return out.String()
}
