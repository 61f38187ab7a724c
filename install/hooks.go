package install

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// claudeHooks are the moments at which Claude Code starts `cadre hook`: when a session
// begins, when somebody types, between tool calls, when it stops, when it ends.
type claudeHooks struct{}

type hookCommand struct {
	Type        string `json:"type"`
	Command     string `json:"command"`
	Timeout     int    `json:"timeout,omitempty"`
	AsyncRewake bool   `json:"asyncRewake,omitempty"` // clients that do not know it start the command as any other
}

type hookGroup struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

// groups gives what is to stand under each event. A session that stopped is woken by
// the second command of Stop, which waits for something to go on for.
func (claudeHooks) groups(command string) (events []string, groups map[string]hookGroup) {
	tell := hookCommand{Type: "command", Command: shellWord(command) + " hook", Timeout: 30}
	wait := hookCommand{Type: "command", Command: tell.Command + " --wait 55m", Timeout: 3600, AsyncRewake: true}
	return []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"}, map[string]hookGroup{
		"SessionStart": {Hooks: []hookCommand{tell}}, "UserPromptSubmit": {Hooks: []hookCommand{tell}},
		"PostToolUse": {Matcher: "*", Hooks: []hookCommand{tell}}, "Stop": {Hooks: []hookCommand{tell, wait}}, "SessionEnd": {Hooks: []hookCommand{tell}},
	}
}

func (h claudeHooks) add(text []byte, command string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	events, groups := h.groups(command)
	for _, event := range events {
		want, err := json.Marshal(groups[event])
		if err != nil {
			return nil, err
		}
		if text, err = replaceItem(text, []string{"hooks", event}, want); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (h claudeHooks) drop(text []byte) (_ []byte, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	events, _ := h.groups("")
	for _, event := range events {
		if text, err = replaceItem(text, []string{"hooks", event}, nil); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// replaceItem has the list at a path hold one item of ours, or none.
func replaceItem(text []byte, path []string, item json.RawMessage) ([]byte, error) {
	at, depth, unit, err := find(text, path)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		if item == nil {
			return text, nil
		}
		return set(text, path, listOf(item))
	}
	items, end, err := scanList(text, at)
	if err != nil {
		return nil, err
	}
	mine := slices.IndexFunc(items, func(p [2]int) bool { return oursIn(text[p[0]:p[1]]) })
	switch {
	case mine >= 0 && item == nil && len(items) == 1:
		return unset(text, path)
	case mine >= 0 && item == nil && mine == 0:
		return splice(text, items[0][0], items[1][0], nil), nil
	case mine >= 0 && item == nil:
		return splice(text, items[mine-1][1], items[mine][1], nil), nil
	case item == nil || mine >= 0 && same(text[items[mine][0]:items[mine][1]], item):
		return text, nil
	case mine >= 0:
		return splice(text, items[mine][0], items[mine][1], pretty(item, depth+1, unit)), nil
	case len(items) == 0:
		return splice(text, at, end, pretty(listOf(item), depth, unit)), nil
	}
	line := "\n" + strings.Repeat(unit, depth+1)
	return splice(text, items[len(items)-1][1], items[len(items)-1][1], append([]byte(","+line), pretty(item, depth+1, unit)...)), nil
}

// listOf is a list of one item.
func listOf(item json.RawMessage) json.RawMessage {
	return slices.Concat([]byte("["), item, []byte("]"))
}

// oursIn says whether an item starts `cadre hook`.
func oursIn(item []byte) bool {
	var group hookGroup
	if json.Unmarshal(item, &group) != nil {
		return false
	}
	return slices.ContainsFunc(group.Hooks, func(c hookCommand) bool {
		program, args, _ := strings.Cut(strings.TrimPrefix(c.Command, "'"), " hook")
		return strings.Contains(program, "cadre") && (args == "" || strings.HasPrefix(args, " --wait"))
	})
}

// shellWord quotes a path for the shell that starts hooks.
func shellWord(path string) string {
	if strings.ContainsAny(path, " \t\"'$`\\&;|<>()*?[]{}#~!") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
