package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The new client writes down what it counted itself when a session ends.
func TestTokensAreThoseThatTheClientCounted(t *testing.T) {
	checked := 0
	eachRun(t, func(t *testing.T, dir string, x *Index, _ seen) {
		files, err := filepath.Glob(filepath.Join(dir, "projects/*/*.jsonl"))
		must(t, err)
		for _, name := range files {
			data, err := os.ReadFile(name)
			must(t, err)
			for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
				var cost struct {
					Type       string `json:"type"`
					ModelUsage map[string]struct{ InputTokens, OutputTokens int64 }
				}
				must(t, json.Unmarshal(lines.Bytes(), &cost))
				if cost.Type != "cost-state" {
					continue
				}
				checked++
				want := Tokens{}
				for _, m := range cost.ModelUsage {
					want = want.Plus(Tokens{Input: m.InputTokens, Output: m.OutputTokens})
				}
				session := strings.TrimSuffix(filepath.Base(name), suffix)
				i := slices.IndexFunc(x.Agents(), func(a *Agent) bool { return a.Session == session && a.ID == "" })
				if got := x.Agents()[i].All; got != want {
					t.Errorf("%s spent %+v, want %+v", session, got, want)
				}
			}
		}
	})
	if checked != 3 {
		t.Errorf("%d counts of the client were compared, want 3", checked)
	}
}

func TestAgentsOfTheOldClient(t *testing.T) {
	var got []string
	for _, a := range index(t, "testdata/v50-lifecycle/projects").Agents() {
		got = append(got, fmt.Sprintf("%s %s %v %d %d", a.Team, a.Member, a.Teammate, len(a.Files), a.Own.Input))
	}
	// Each of the lead's 34 messages, of worker-1's 11 and of worker-1-2's 6 cost 10.
	want := []string{"demo-team team-lead false 1 340", "demo-team worker-1 true 6 110", "demo-team worker-1-2 true 5 60"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func cost(id, at string, in, out int) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"u-%s","timestamp":"2026-11-15T%sZ","message":{"id":%q,"usage":{"input_tokens":%d,"output_tokens":%d,"cache_creation_input_tokens":1,"cache_read_input_tokens":2}}}`+"\n", id, at, id, in, out)
}

// One message is several lines, the early ones with an early count, in any order;
// and a resumed session copies those of the one before.
func TestEachMessageIsCountedOnce(t *testing.T) {
	dir := t.TempDir()
	first := cost("m1", "01:00:00", 5, 1) + cost("m2", "01:00:01", 7, 1) + cost("m1", "01:00:02", 5, 90) + cost("m2", "01:00:03", 7, 3) + cost("m1", "01:00:04", 5, 8)
	write(t, dir, "p/one.jsonl", first)
	write(t, dir, "p/two.jsonl", first+cost("m3", "02:00:00", 100, 100))
	write(t, dir, "p/two/subagents/agent-x.jsonl", cost("m4", "02:00:01", 1000, 1000))
	x := index(t, dir)
	var got []string
	for _, a := range x.Agents() {
		got = append(got, fmt.Sprintf("%s%s %v %v", a.Session, a.ID, a.Own, a.All))
	}
	want := []string{"one {12 93 2 4} {12 93 2 4}", "two {100 100 1 2} {1100 1100 2 4}", "twox {1000 1000 1 2} {1000 1000 1 2}"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCountsThatCannotBeAreNone(t *testing.T) {
	for in, want := range map[string]int64{"5": 5, "-5": 0, "1e3": 0, `"7"`: 0, "99999999999999999999": 0, "null": 0} {
		if got := number([]byte(in)); got != want {
			t.Errorf("number(%s) = %d, want %d", in, got, want)
		}
	}
}

const called = `{"type":"assistant","uuid":"u1","timestamp":"2026-11-15T01:00:00.000Z","message":{"content":[{"type":"tool_use","id":"c1","name":"TaskCreate","input":{"subject":"x","description":""}}]}}
{"type":"user","uuid":"u2","timestamp":"2026-11-15T01:00:01.000Z","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"Task #7 created successfully: x"}]}}
`

// A sub-agent that is not a teammate acts for its session; answers without a
// structured part are read from their text.
func TestASubAgentIsNotATeammate(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "p/0a/subagents/agent-plain.jsonl", called+new(made).mail("team-lead", "hello").String())
	write(t, dir, "p/0a/subagents/agent-plain.meta.json", `{"agentType":"Explore","name":"looker","description":"look"}`)
	write(t, dir, "p/0a.jsonl", lineA)
	x := index(t, dir)
	for _, a := range x.Agents() {
		if a.Teammate || a.Member != "" {
			t.Errorf("%+v is a teammate", a)
		}
	}
	if who, _, _ := x.Who("0a", "7", "created", "x", clock(t, "01:00:00.5")); who != "0a" {
		t.Errorf("it was %q, want its session", who)
	}
}

// Old clients wrote sub-agents beside the sessions: the lines say whose they are.
func TestASubAgentBesideItsSession(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "p/agent-old.jsonl", strings.ReplaceAll(called, `"uuid"`, `"sessionId":"0a","uuid"`))
	if who, _, _ := index(t, dir).Who("0a", "7", "created", "x", clock(t, "01:00:00.5")); who != "0a" {
		t.Errorf("it was %q, want its session", who)
	}
}
