package coord_test

import (
	"context"
	"strings"
	"testing"

	"cadre"
	"cadre/coord"
)

// A list gets another name while somebody watches it: the watch goes along. One that is
// gone ends it with a reason.
func TestWatchGoesAlongWithARenamedList(t *testing.T) {
	d := newDesk(t)
	ctx := context.Background()
	s := d.at("/p", nil, "scope=aaaaaaaa-1111-4111-8111-111111111111")
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "one"})
	stream := must[coord.Stream](t, s, &coord.Watch{Since: "1"})
	move := func(from cadre.Scope, to cadre.Dest) {
		t.Helper()
		c := cadre.Command{ID: cadre.CommandID("move-" + from), Actor: cadre.External, Door: "test", Verb: "move", Now: d.now}
		if _, err := d.Store.Move(ctx, from, c, to); err != nil {
			t.Fatal(err)
		}
	}
	var saw []string
	for e, err := range stream.Events {
		if err != nil {
			saw = append(saw, err.Error())
			break
		}
		switch o := e.After.(type) {
		case *cadre.Task:
			saw = append(saw, o.Subject)
			if o.Subject == "one" {
				move(s.Scope, cadre.Dest{Name: "session-aaaaaaaa"})
				must[*cadre.Added](t, d.at("/p", nil, "scope=session-aaaaaaaa"), &cadre.TaskAdd{Subject: "two"})
			} else {
				move("session-aaaaaaaa", cadre.Dest{Where: cadre.Gone})
			}
		case *cadre.Log:
			saw = append(saw, o.Reason)
		}
	}
	want := "one; renamed from aaaaaaaa-1111-4111-8111-111111111111 to session-aaaaaaaa; two; there is no session-aaaaaaaa any more"
	if got := strings.Join(saw, "; "); got != want {
		t.Errorf("it saw %s", got)
	}
}
