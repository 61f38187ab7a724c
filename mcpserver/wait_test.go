package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/mcpserver"
	"cadre/memstore"
)

// TestNoCallWaitsForEver: every tool that waits ends, after 600 seconds at the latest, and
// says that it waited for nothing.
func TestNoCallWaitsForEver(t *testing.T) {
	for call, want := range map[string]struct {
		waits time.Duration
		text  string
	}{
		`"TaskWait","arguments":{"ids":["1"]}`:              {600 * time.Second, "not completed within 10m0s: task 1 is pending"},
		`"TaskWait","arguments":{"ids":["1"],"timeout":30}`: {30 * time.Second, "not completed within 30s: task 1 is pending"},
		`"Sync","arguments":{"wait":30,"cursor":"CURSOR"}`:  {30 * time.Second, "Nothing new within 30 seconds."},
		`"ReadInbox","arguments":{"wait":600}`:              {600 * time.Second, "No new messages within 600 seconds"},
		`"TaskNext","arguments":{"wait":1.5}`:               {1500 * time.Millisecond, "nothing became ready within 1.5s"},
		`"Sync","arguments":{"cursor":"CURSOR"}`:            {0, "Nothing new."},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := mcpserver.New(mcpserver.Options{Tier: mcpserver.All, Log: slog.New(slog.DiscardHandler)})
			c := &coord.Coord{Store: memstore.New(), Now: func() cadre.Time { return cadre.Time{Wall: time.Now()} }}
			session := &coord.Session{Coord: c, Actor: cadre.Actor{Kind: cadre.ActorOperator, Name: "operator", Proof: cadre.ProofTerminal}, Scope: "docs"}
			if _, err := session.Do(t.Context(), "task add", &cadre.TaskAdd{Subject: "One", Owner: "ann"}); err != nil {
				t.Fatal(err)
			}
			synced, err := session.Do(t.Context(), "sync", &coord.Sync{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			in, say := io.Pipe()
			hear, out := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- server.Pipe(context.Background(), session, in, out) }()
			r := &raw{in: say, out: json.NewDecoder(hear)}
			r.greet(t)
			begun := time.Now()
			r.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+strings.Replace(call, "CURSOR", synced.(*coord.Synced).Cursor, 1)+`}}`)
			answer, err := json.Marshal(r.hear(t))
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begun); waited != want.waits || !strings.Contains(string(answer), want.text) {
				t.Errorf("%s was answered after %s: %s", call, waited, answer)
			}
			if got := strings.Contains(string(answer), `"timedOut":true`); got != (want.waits > 0) || strings.Contains(string(answer), `"isError"`) {
				t.Errorf("%s: %s", call, answer)
			}
			if err := say.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil && !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
}
