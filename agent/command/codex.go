package command

import (
	"encoding/json"
	"fmt"
	"strings"
)

// codex is Codex without a terminal.
var codex = Recipe{
	name:     "codex",
	install:  ": install Codex (npm install -g @openai/codex) and log in once",
	modes:    []string{"read-only", "workspace-write", "danger-full-access"},
	planning: []string{"-c", `sandbox_mode="read-only"`},
	args: func(model, mode, session string) []string {
		line := []string{"codex", "exec"}
		if session != "" {
			line = append(line, "resume")
		}
		line = append(line, "--json", "--skip-git-repo-check")
		if model != "" {
			line = append(line, "--model", model)
		}
		if mode != "" { // --sandbox is not there when it resumes
			line = append(line, "-c", fmt.Sprintf("sandbox_mode=%q", mode))
		}
		if session != "" {
			line = append(line, session)
		}
		return append(line, "-") // the prompt is on standard input
	},
	read: readCodex,
	end:  endOfStream,
}

// codexLine is a line of Codex's stream, as far as it matters here.
type codexLine struct {
	Type     string
	ThreadID string `json:"thread_id"`
	Item     struct{ Type, Text string }
	Error    struct{ Message string }
	Usage    struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	}
}

func readCodex(t *turn, line string) {
	var l codexLine
	if json.Unmarshal([]byte(line), &l) != nil {
		return // a line of something else
	}
	switch l.Type {
	case "thread.started":
		t.session = l.ThreadID
	case "turn.started":
		t.began = true
	case "item.completed":
		if l.Item.Type == "agent_message" {
			t.say(l.Item.Text)
		}
	case "turn.failed":
		t.ended, t.failed = true, l.Error.Message
		if t.failed == "" {
			t.failed = "its turn failed"
		}
		said := strings.ToLower(t.failed)
		for _, sign := range []string{"429 too many requests", "usage limit", "rate limit"} {
			t.limited = t.limited || strings.Contains(said, sign)
		}
	case "turn.completed":
		t.ended = true
		t.notes = append(t.notes, fmt.Sprintf("%d tokens in, %d of them from the cache, %d out, in its session so far", l.Usage.Input, l.Usage.Cached, l.Usage.Output))
	}
}
