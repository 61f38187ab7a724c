package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"cadre"
)

// TestEventsCanBeHashed: an event is written as it is stored, with its hash added
// at the end, as docs/format.md says.
func TestEventsCanBeHashed(t *testing.T) {
	state := t.TempDir()
	run := func(args ...string) string {
		var out bytes.Buffer
		p := &program{
			stdin: strings.NewReader(""), out: bufio.NewWriter(&out), stderr: &out, now: clock,
			env: map[string]string{"HOME": t.TempDir(), "CADRE_STATE_DIR": state}, open: openState,
		}
		if code := p.run(t.Context(), args); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, out.String())
		}
		return out.String()
	}
	run("task", "add", "a < b && c > d \u2028 \u009b", "--metadata", `k={"x": "<i>"}`)
	run("task", "comment", "1", "<b>")
	for _, args := range [][]string{{"log", "--json"}, {"log", "--jsonl"}, {"audit", "export"}, {"audit", "export", "--json"}} {
		out := run(args...)
		if !strings.HasPrefix(out, "[") {
			out = "[" + strings.ReplaceAll(strings.TrimSpace(out), "\n", ",") + "]"
		}
		var lines []json.RawMessage
		if err := json.Unmarshal([]byte(out), &lines); err != nil || len(lines) < 3 {
			t.Fatalf("%v: %d events, %v", args, len(lines), err)
		}
		for _, l := range lines {
			stored, end, ok := strings.Cut(string(l), `,"hash":"`)
			if hash := cadre.HashLine([]byte(stored + "}")); !ok || end != hash+`"}` {
				t.Errorf("%v: the hash is another one: %s", args, l)
			}
		}
	}
}
