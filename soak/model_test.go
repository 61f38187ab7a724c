package soak_test

import (
	"slices"

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
