package transcript

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzLines: no transcript makes the reader fail, cutting it anywhere changes
// nothing, and what is kept can be kept and taken up again.
func FuzzLines(f *testing.F) {
	call := func(tool, input, result string) string {
		return `{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"c","name":"` + tool + `","input":` + input + `}]}}
{"type":"user","uuid":"b","toolUseResult":` + result + `,"message":{"content":[{"type":"tool_result","tool_use_id":"c"}]}}
`
	}
	// Short ones: the fuzzer takes a minute to shorten a long one.
	for _, s := range []string{
		call("TaskCreate", `{"subject":"s"}`, `{"task":{"id":"1"}}`),
		call("TaskUpdate", `{"taskId":"1","status":"completed","addBlocks":["2"],"metadata":{"k":null}}`, `{"success":true,"updatedFields":["status"]}`),
		call("TaskList", `{}`, `{"tasks":[{"id":"1","subject":"s","status":"pending"}]}`),
		call("TeamCreate", `{"team_name":"t"}`, `{"team_name":"t"}`) + call("TeamDelete", `{}`, `{"success":true,"team_name":"t"}`),
		call("Agent", `{"name":"n","prompt":"p"}`, `{"status":"teammate_spawned","name":"n","team_name":"t"}`),
		call("SendMessage", `{"to":"n","message":{"type":"shutdown_response","approve":true}}`, `{"success":true,"request_id":"r@n"}`),
		`{"type":"user","uuid":"b","toolUseResult":{"task":{"id":"1"}},"message":{"content":[{"type":"tool_result","tool_use_id":"c"}]}}` + "\n",
		`{"type":"user","teamName":"t","agentName":"n","message":{"content":[{"type":"text","text":"<teammate-message teammate_id=\"a\">\n{\"type\":\"x\"}\n</teammate-message>"}]}}` + "\n",
		`{"type":"attachment","attachment":{"type":"teammate_mailbox","messages":[{"from":"a","text":"b"}]}}` + "\n",
		`{"type":"assistant","timestamp":"2026-11-15T01:00:00.000Z","message":{"id":"m","usage":{"output_tokens":4}}}` + "\n",
	} {
		f.Add([]byte(s), len(s)/2)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		whole, pieces := newFile("p/s/subagents/agent-x.jsonl"), newFile("p/s/subagents/agent-x.jsonl")
		feed := func(f *file, size int) {
			must(t, f.feed(t.Context(), bytes.NewReader(data), int64(size), &meter{}))
			must(t, f.pack())
		}
		feed(whole, len(data))
		feed(pieces, cut)
		must(t, pieces.unpack())
		feed(pieces, len(data))
		for _, f := range []*file{whole, pieces} {
			known, err := json.Marshal(f)
			must(t, err)
			f.Path = string(known)
		}
		if whole.Path != pieces.Path || !bytes.Equal(whole.packed, pieces.packed) || !bytes.Equal(whole.spent, pieces.spent) {
			t.Fatalf("at once\n%s\n%s\nin pieces\n%s\n%s", whole.Path, whole.packed, pieces.Path, pieces.packed)
		}
		x := &Index{files: map[string]*file{"": whole}}
		x.Teams()
		x.Agents()
		x.Who(scopeOf(whole.Session), "1", "status", "completed", whole.Last)
	})
}
