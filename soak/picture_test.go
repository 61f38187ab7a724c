package soak_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"cadre"
)

// moment are the parts of an answer that differ between two runs of one command.
var moment = regexp.MustCompile(`"[a-zA-Z]*(At|ince|ime)":"[^"]*",?`)

// picture is what a machine knows of a list, without times:
// two machines with the same picture were told the same commands. It shows tasks,
// members, mail, and what every event was about.
func (m *machine) picture(list string) string {
	m.t.Helper()
	var out strings.Builder
	for _, args := range [][]string{{"task", "list"}, {"member", "list"}} {
		fmt.Fprintln(&out, moment.ReplaceAllString(m.must(append(args, "--scope", list, "--json")...), ""))
	}
	for _, e := range ask[[]cadre.Event](m, "log", "--limit", "0", "--scope", list) {
		fmt.Fprintf(&out, "%d %s %s %s\n", e.Seq, e.Actor, e.Verb, e.Object)
		if msg, ok := e.After.(*cadre.Message); ok {
			fmt.Fprintf(&out, "  mail from %s to %s: %s\n", msg.From, msg.To, msg.Text)
		}
	}
	return out.String()
}

// images is what two stores must agree on: the epoch and so the hashes are each
// store's own.
func images(events []cadre.Event) []string {
	var out []string
	for _, e := range events {
		if e.Object.Kind == cadre.KindLog {
			continue
		}
		e.Prev, e.Hash = "", ""
		data, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		out = append(out, string(data))
	}
	return out
}
