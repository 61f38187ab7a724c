package command

import (
	"strings"
	"testing"
)

// FuzzStream: whatever a program prints, its turn can be read, and what it said last
// is never longer than what is kept.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		`{"type":"system","subtype":"init","session_id":"s","model":"m"}` + "\n" + `{"type":"result","result":"done"}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"half"}]}}`, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1}}`,
		`{"type":"result","is_error":true,"errors":["no"],"permission_denials":[{"tool_name":"Bash"}]}`, `{"type":"result","is_error":true}`,
		`{"type":"thread.started","thread_id":"t"}` + "\n" + `{"type":"turn.started"}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":-1}}`,
		`{"type":"turn.failed","error":{"message":"429 Too Many Requests"}}`, `{"type":"item.completed","item":{"type":"agent_message","text":"x"}}`, "null", "[]", "{", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, read := range map[string]func(*turn, string){"claude": readClaude, "codex": readCodex} {
			var got turn
			for line := range strings.Lines(text) {
				read(&got, line)
			}
			if len(got.text) > textLimit {
				t.Errorf("%s: %d bytes are kept", name, len(got.text))
			}
		}
	})
}
