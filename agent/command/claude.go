package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// claude is Claude Code without a terminal.
var claude = Recipe{
	name:     "claude",
	install:  ": install Claude Code (npm install -g @anthropic-ai/claude-code) and log in once",
	modes:    []string{"default", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "manual", "plan"},
	planning: []string{"--permission-mode", "plan"},
	args: func(model, mode, session string) []string {
		line := []string{"claude", "-p", "--output-format", "stream-json", "--verbose"}
		for _, o := range [][2]string{{"--model", model}, {"--permission-mode", mode}, {"--resume", session}} {
			if o[1] != "" {
				line = append(line, o[0], o[1])
			}
		}
		return line
	},
	read: readClaude,
	end:  endOfStream,
}

// claudeLine is a line of Claude Code's stream, as far as it matters here.
type claudeLine struct {
	Type, Subtype  string
	SessionID      string `json:"session_id"`
	Model          string
	PermissionMode string `json:"permissionMode"`
	Error          string
	Message        struct{ Content []struct{ Type, Text string } }
	Parent         string `json:"parent_tool_use_id"` // of what a helper of its own says

	// Of the result.
	Result  string
	IsError bool `json:"is_error"`
	Errors  []string
	Status  int `json:"api_error_status"`
	Usage   struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
	}
	Since  map[string]struct{ CostUSD float64 } `json:"model_usage_since_last_result"` // the totals are of the whole session
	Denied []struct {
		Tool string `json:"tool_name"`
	} `json:"permission_denials"`

	Limit struct {
		Status   string
		ResetsAt int64 `json:"resetsAt"`
	} `json:"rate_limit_info"`
}

func readClaude(t *turn, line string) {
	var l claudeLine
	if json.Unmarshal([]byte(line), &l) != nil {
		return // a line of something else
	}
	switch l.Type + "/" + l.Subtype {
	case "system/init":
		t.began, t.known = true, known{l.SessionID, l.Model, l.PermissionMode}
	case "rate_limit_event/":
		if l.Limit.Status == "rejected" && l.Limit.ResetsAt > 0 {
			t.until = time.Unix(l.Limit.ResetsAt, 0)
		}
	case "assistant/":
		if l.Parent != "" {
			return
		}
		t.limited = l.Error == "rate_limit"
		for _, c := range l.Message.Content {
			if c.Type == "text" {
				t.say(c.Text) // for a stream that breaks off
			}
		}
	default:
		if l.Type == "result" {
			t.endOfClaude(&l)
		}
	}
}

// endOfClaude takes in the last line.
func (t *turn) endOfClaude(l *claudeLine) {
	t.ended = true
	if l.Result != "" {
		t.say(l.Result)
	}
	t.limited = l.IsError && (t.limited || l.Status == 429 || l.Status == 529)
	if l.IsError {
		t.failed = t.text
		if len(l.Errors) > 0 {
			t.failed = strings.Join(l.Errors, "; ")
		}
		if t.failed == "" {
			t.failed = "it ended with " + l.Subtype
		}
	}
	if n := len(l.Denied); n > 0 {
		tools := make([]string, 0, n)
		for _, d := range l.Denied {
			tools = append(tools, d.Tool)
		}
		t.notes = append(t.notes, "not permitted: "+strings.Join(tools, ", "))
	}
	if l.Usage.Input+l.Usage.Output > 0 {
		t.notes = append(t.notes, fmt.Sprintf("%d tokens in, %d out, %d read from and %d written to the cache", l.Usage.Input, l.Usage.Output, l.Usage.CacheRead, l.Usage.CacheWrite))
	}
	var cost float64
	for _, m := range l.Since {
		cost += m.CostUSD
	}
	if cost > 0 {
		t.notes = append(t.notes, fmt.Sprintf("$%.4f", cost))
	}
}
