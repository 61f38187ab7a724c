package soak_test

import (
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"cadre"
)

// modelTask is all that the model knows of a task.
type modelTask struct {
	author, owner string
	status        cadre.Status
	version       uint64
}

// listModel is a task list for one client at a time, written down a second time
// and without looking at the rule book: add gives the next number, a claim wins
// when nobody has the task, release and done are the owner's and the author's.
//
// Whoever was not told what happened may have done it at any later time, or, as
// nobody can tell the difference, after everybody else.
var listModel = porcupine.Model{
	Init: func() any { return []modelTask(nil) },
	Step: func(state, input, output any) (bool, any) {
		next, answer := decideModel(state.([]modelTask), input.(wish))
		out := output.(told)
		return out.Unknown || answer == out, next
	},
	Equal: func(a, b any) bool { return slices.Equal(a.([]modelTask), b.([]modelTask)) },
}

// decideModel gives the list after an operation, and what it answers.
func decideModel(list []modelTask, in wish) ([]modelTask, told) {
	if in.Verb == "add" {
		next := append(slices.Clip(list), modelTask{author: in.Who, status: cadre.Pending, version: 1})
		return next, answerOf(next, len(next))
	}
	if in.ID > len(list) {
		return list, told{Code: 3}
	}
	t := list[in.ID-1]
	before := t
	others := t.owner != "" && t.owner != in.Who
	switch in.Verb {
	case "claim":
		if others {
			return list, told{Code: 4, Owner: t.owner}
		}
		t.owner = in.Who
	case "release":
		switch {
		case t.status == cadre.Completed:
			return list, told{Code: 5}
		case others && t.author != in.Who:
			return list, told{Code: 6}
		}
		t.owner = ""
	case "look":
	case "done":
		switch {
		case t.status == cadre.Completed && t.owner != in.Who:
			return list, told{Code: 4, Owner: t.owner}
		case others && t.author != in.Who:
			return list, told{Code: 6}
		}
		if t.status = cadre.Completed; t.owner == "" {
			t.owner = in.Who
		}
	}
	if t != before {
		t.version++
		list = slices.Clone(list)
		list[in.ID-1] = t
	}
	return list, answerOf(list, in.ID)
}

func answerOf(list []modelTask, id int) told {
	t := list[id-1]
	return told{ID: id, Owner: t.owner, Status: t.status, Version: t.version}
}

// linear asks the checker for an order of everything. Before, it finds out task
// by task, which takes no time, which of the operations with an unknown outcome
// are needed to explain the others: the rest can stand at the end, unseen.
func linear(history []porcupine.Operation) porcupine.CheckResult {
	var known []porcupine.Operation
	unknown := map[int][]porcupine.Operation{}
	for _, op := range history {
		if id := op.Input.(wish).ID; op.Output.(told).Unknown {
			unknown[id] = append(unknown[id], op)
		} else {
			known = append(known, op)
		}
	}
	needed := known
	for _, id := range ids(history) {
		some, ok := explain(known, unknown[id], id)
		if !ok {
			return porcupine.Illegal
		}
		needed = append(needed, some...)
	}
	if porcupine.CheckOperationsTimeout(listModel, needed, undecided/4) == porcupine.Ok {
		return porcupine.Ok
	}
	return porcupine.CheckOperationsTimeout(listModel, history, undecided)
}

// undecided is after what time the checker gives up, which no test takes for an order
// that was found. A history is decided in milliseconds; this is for machines that have
// much else to do.
const undecided = 4 * time.Minute

// explain gives the fewest operations with an unknown outcome that explain what
// was seen of one task.
func explain(known, unknown []porcupine.Operation, id int) ([]porcupine.Operation, bool) {
	sets := make([]int, 1<<len(unknown))
	for i := range sets {
		sets[i] = i
	}
	slices.SortStableFunc(sets, func(a, b int) int { return bits.OnesCount(uint(a)) - bits.OnesCount(uint(b)) })
	for _, set := range sets {
		var some []porcupine.Operation
		for i, op := range unknown {
			if set&(1<<i) != 0 {
				some = append(some, op)
			}
		}
		if porcupine.CheckOperations(listModel, append(alone(known, id), alone(some, id)...)) {
			return some, true
		}
	}
	return nil, false
}

// ids are the tasks that a history is about.
func ids(history []porcupine.Operation) []int {
	seen := map[int]bool{}
	for _, op := range history {
		seen[max(op.Input.(wish).ID, op.Output.(told).ID)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// alone is what was done to one task, as if it were the only one.
func alone(history []porcupine.Operation, id int) []porcupine.Operation {
	var part []porcupine.Operation
	for _, op := range history {
		in, out := op.Input.(wish), op.Output.(told)
		if max(in.ID, out.ID) != id {
			continue
		}
		in.ID, out.ID = min(in.ID, 1), min(out.ID, 1)
		op.Input, op.Output = in, out
		part = append(part, op)
	}
	return part
}
