package cli

import (
	"slices"
	"strings"

	"cadre/coord"
)

// group is the verbs of one noun, or those that have none.
type group struct {
	noun, title string
	verbs       []coord.Verb
}

// groups gives the verbs by their nouns, in the order of the registry; those
// without one come last.
func groups() []group {
	var out []group
	others := group{title: "Others"}
	for _, v := range coord.Verbs() {
		noun, _, two := strings.Cut(v.Name, " ")
		i := slices.IndexFunc(out, func(g group) bool { return g.noun == noun })
		switch {
		case !two:
			others.verbs = append(others.verbs, v)
		case i >= 0:
			out[i].verbs = append(out[i].verbs, v)
		default:
			out = append(out, group{noun, nounWords(noun), []coord.Verb{v}})
		}
	}
	return append(out, others)
}

// nounWords say what each noun is about.
func nounWords(noun string) string {
	switch noun {
	case "task":
		return "Work with the task list"
	case "team":
		return "Work with teams and lists"
	case "member":
		return "Run and look at the members of a team"
	case "msg":
		return "Send and read messages"
	case "ask":
		return "Ask for and give approvals and answers"
	case "todo":
		return "Keep a small list of your own"
	case "token":
		return "Let programs prove who they are"
	case "audit":
		return "Check and export the record"
	}
	return noun
}
