package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"cadre"
)

// TestSoakClaim has 64 processes claim one task, again and again: one of them
// wins, and every other is told by whom it was beaten.
func TestSoakClaim(t *testing.T) {
	const claimers = 64
	rounds := count(t, "rounds of 64 processes that claim one task", 5, 200)
	m := newMachine(t)
	var won [claimers]int
	var waited time.Duration
	for range rounds {
		id := m.must("task", "add", "wanted by all")
		results := m.claimAtOnce(claimers, id)
		winner := -1
		for i, r := range results {
			waited = max(waited, r.took)
			if r.code == 0 && winner >= 0 {
				t.Fatalf("claimers %d and %d both won task %s", winner, i, id)
			}
			if r.code == 0 {
				winner = i
			}
		}
		if winner < 0 {
			t.Fatalf("nobody won task %s: %s", id, results[0])
		}
		won[winner]++
		want := fmt.Sprintf("task %s belongs to %s\n", id, claimer(winner))
		for i, r := range results {
			if i != winner && (r.code != 4 || !strings.Contains(r.err, want) || r.out != "") {
				t.Errorf("claimer %d lost to %d and was told: %s", i, winner, r)
			}
		}
		if owner := ask[cadre.TaskView](m, "task", "show", id).Owner; owner != claimer(winner) {
			t.Errorf("task %s belongs to %q, and %s was told that it won", id, owner, claimer(winner))
		}
	}
	winners := 0
	for _, n := range won {
		if n > 0 {
			winners++
		}
	}
	m.audited()
	t.Logf("%d claims: %d won, %d refused, all named the winner; %d different winners; the slowest claim took %s",
		rounds*claimers, rounds, rounds*(claimers-1), winners, waited.Round(time.Millisecond))
}

func claimer(i int) string { return fmt.Sprintf("worker-%d", i) }

// claimAtOnce starts n claimers in a random order before it waits for the first.
func (m *machine) claimAtOnce(n int, id string) []result {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results := make([]result, n)
	commands := make([]*exec.Cmd, n)
	for i := range commands {
		results[i].args = []string{"task", "claim", id, "--as", claimer(i)}
		commands[i] = m.command(ctx, results[i].args...)
	}
	var all sync.WaitGroup
	start := make(chan struct{})
	for _, i := range rand.Perm(n) {
		all.Go(func() {
			<-start
			results[i] = finish(commands[i], results[i].args)
		})
	}
	close(start)
	all.Wait()
	if ctx.Err() != nil {
		m.t.Fatalf("%d claimers did not end within %s", n, patience)
	}
	return results
}
