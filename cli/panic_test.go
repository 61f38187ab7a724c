package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"cadre"
)

// TestPanicIsAnError: a mistake in the program is told like any other failure, and
// only standard error has the trace.
func TestPanicIsAnError(t *testing.T) {
	for _, flag := range []string{"--json", "--jsonl", "-q"} {
		var out, talk bytes.Buffer
		p := &program{
			out: bufio.NewWriter(&out), stderr: &talk, now: clock, env: map[string]string{"CADRE_CLAUDE": "off", "CADRE_STATE_DIR": t.TempDir()},
			open: func(_, _ string) (cadre.Store, error) { panic("a \x1b[2J mistake") },
		}
		if code := p.run(t.Context(), []string{"task", "add", "one", flag}); code != 1 {
			t.Errorf("%s: exit code %d, want 1", flag, code)
		}
		if !strings.Contains(talk.String(), "panic_test.go") || strings.Contains(talk.String(), "\x1b") {
			t.Errorf("%s: no trace, or an unsafe one, on standard error: %q", flag, talk.String())
		}
		if flag == "-q" {
			if out.Len() > 0 || !strings.Contains(talk.String(), "cadre: a mistake in the program: panic: a ") {
				t.Errorf("%q on standard output, %q on standard error", out.String(), talk.String())
			}
			continue
		}
		var doc struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Error.Code != "internal" || strings.Contains(out.String(), "goroutine") {
			t.Errorf("%s: %v: %q", flag, err, out.String())
		}
	}
}
