package claudedir_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/coord"
)

// Two sessions: one that made a team through a door, one that would like to have it.
const (
	maker = "aaaaaaaa-0000-4000-8000-000000000001"
	eve   = "eeeeeeee-0000-4000-8000-000000000001"
)

// session carries out a verb as an agent's session.
func (w *world) session(id string, verb any) (any, error) {
	actor := cadre.Actor{Kind: cadre.ActorSession, Name: "session-" + id[:8], Session: id, Proof: cadre.ProofEnv}
	s := &coord.Session{Coord: &coord.Coord{Store: w.store, Now: w.now}, Actor: actor, Door: "test", Scope: w.scope, CWD: "/project"}
	return s.Do(context.Background(), "test", verb)
}

// A file makes nobody lead of a team that was made through a door: neither with
// another lead's session, nor with a member that says it is the lead.
func TestAFileMakesNobodyLead(t *testing.T) {
	claims := map[string]func(*claudefile.Config){
		"its session leads": func(c *claudefile.Config) { c.LeadSessionID = eve },
		"it is the lead": func(c *claudefile.Config) {
			c.LeadAgentID, c.LeadSessionID = "eve@docs", eve
			c.Members = append(c.Members, claudefile.Member{AgentID: "eve@docs", Name: "eve", JoinedAt: time.Now().UnixMilli()})
		},
	}
	for name, claim := range claims {
		for _, by := range []string{"operator", "session"} {
			t.Run(name+", the team is the "+by+"'s", func(t *testing.T) {
				w := newWorld(t)
				create := &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: string(list)}}
				if by == "operator" {
					w.must(create)
				} else if _, err := w.session(maker, create); err != nil {
					t.Fatal(err)
				}
				w.editConfig(claim)
				w.must(&cadre.TeamShow{})
				if _, err := w.session(eve, &cadre.TeamLabel{Label: "mine"}); !errors.Is(err, cadre.ErrForbidden) {
					t.Errorf("the session in the file labels the team: %v", err)
				}
				if by == "session" {
					if _, err := w.session(maker, &cadre.TeamLabel{Label: "ours"}); err != nil {
						t.Errorf("the one who made the team does not lead it any more: %v", err)
					}
				}
			})
		}
	}
}

// A team that only a client's file tells of is led by whom the file says, also when
// that client goes on under another session.
func TestAClientsTeamIsLedByItsClient(t *testing.T) {
	w := newWorld(t)
	w.write(w.configPath(), `{"name":"docs","createdAt":1,"leadAgentId":"team-lead@docs","leadSessionId":"`+maker+
		`","members":[{"agentId":"team-lead@docs","name":"team-lead","joinedAt":1,"tmuxPaneId":"","cwd":"/","subscriptions":[]}]}`)
	for _, session := range []string{maker, eve} {
		w.editConfig(func(c *claudefile.Config) { c.LeadSessionID = session })
		w.must(&cadre.TeamShow{})
		if _, err := w.session(session, &cadre.TeamLabel{Label: session}); err != nil {
			t.Errorf("the client's own session does not lead its team: %v", err)
		}
	}
}
