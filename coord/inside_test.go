package coord_test

import (
	"errors"
	"testing"

	"cadre"
	"cadre/coord"
	"cadre/memstore"
)

// TestTheProcessComesBeforeEverything: inside a member one is that member, whatever
// the environment says.
func TestTheProcessComesBeforeEverything(t *testing.T) {
	c := &coord.Coord{Store: memstore.New(), Now: func() cadre.Time { return cadre.Time{} }}
	host := &coord.Session{Coord: c, Actor: cadre.Self, Scope: cadre.Host}
	mine, other := cadre.Process{PID: 7, Start: "now"}, cadre.Process{PID: 7, Start: "before"}
	set := &cadre.RunningSet{Running: cadre.Running{Process: mine, Scope: "docs", Member: "ann", Joined: 3}}
	if _, err := host.Do(t.Context(), "running set", set); err != nil {
		t.Fatal(err)
	}
	above := cadre.Process{PID: 6, Start: "now"}
	if _, err := host.Do(t.Context(), "running set", &cadre.RunningSet{Running: cadre.Running{Process: above, Scope: "docs"}}); err != nil {
		t.Fatal(err)
	}
	from := func(all ...cadre.Process) func() []coord.Ancestor {
		return func() (out []coord.Ancestor) {
			for _, p := range all {
				out = append(out, coord.Ancestor{Process: p})
			}
			return out
		}
	}
	apart := func(p cadre.Process) func() []coord.Ancestor {
		return func() []coord.Ancestor { return []coord.Ancestor{{Process: other}, {Process: p, Apart: true}} }
	}
	session := map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "11111111-1111-1111-1111-111111111111"}
	for name, tt := range map[string]struct {
		place coord.Place
		want  cadre.Actor
		err   error
	}{
		"inside":             {coord.Place{Ancestors: from(other, mine), Terminal: true}, cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: "docs"}, nil},
		"a session's marks":  {coord.Place{Ancestors: from(mine), Env: session}, cadre.Actor{Kind: cadre.ActorMember, Name: "ann", Scope: "docs"}, nil},
		"another's token":    {coord.Place{Ancestors: from(mine), Env: map[string]string{"CADRE_TOKEN": "stolen"}}, cadre.Actor{}, cadre.ErrForbidden},
		"the number, reused": {coord.Place{Ancestors: from(other)}, cadre.Actor{Kind: cadre.ActorOperator, Name: "operator"}, nil},
		"below a supervisor": {coord.Place{Ancestors: from(other, above)}, cadre.Actor{Kind: cadre.ActorOperator, Name: "operator"}, nil},
		"left by a member":   {coord.Place{Ancestors: apart(above), Terminal: true}, cadre.Actor{}, cadre.ErrForbidden},
		"with a token":       {coord.Place{Ancestors: apart(above), Env: map[string]string{"CADRE_TOKEN": "stolen"}}, cadre.Actor{}, cadre.ErrForbidden},
		"not known":          {coord.Place{}, cadre.Actor{Kind: cadre.ActorOperator, Name: "operator"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Identify(t.Context(), tt.place, "")
			if !errors.Is(err, tt.err) {
				t.Fatalf("Identify() error = %v, want %v", err, tt.err)
			}
			if err == nil && (got.Kind != tt.want.Kind || got.Name != tt.want.Name || got.Scope != tt.want.Scope) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
	if _, err := c.Identify(t.Context(), coord.Place{Ancestors: from(mine)}, "team-lead"); !errors.Is(err, cadre.ErrForbidden) {
		t.Errorf("a member acts as the lead: %v", err)
	}
}
