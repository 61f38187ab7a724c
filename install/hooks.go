package install

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// claudeHooks are the moments at which Claude Code starts `cadre hook`: when a session
// begins, when somebody types, between tool calls, when it stops, when it ends.
type claudeHooks struct {
	onlyThere bool // add none, and only put right those that are there
}

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

// events are those under which something is to stand. A session that stopped is woken
// by the second command of Stop, which waits for something to go on for.
var events = []struct {
	name, matcher string
	waits         bool
}{{"SessionStart", "", false}, {"UserPromptSubmit", "", false}, {"PostToolUse", "*", false}, {"Stop", "", true}, {"SessionEnd", "", false}}

// hookAt is a command of ours and where it stands.
type hookAt struct {
	hookLine
	event    string
	line     string
	value    [2]int   // the command line, as it is written
	groups   [][2]int // all of the event
	group    int      // its own
	commands [][2]int // all of the group
	command  int      // itself
	changed  bool     // by its user: it has other keys or values than it got
}

// add has every moment start Cadre. Commands of ours that are there stay as they are,
// but for the path of the program.
func (c claudeHooks) add(text []byte, command string) ([]byte, []string, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		if c.onlyThere {
			return text, nil, nil
		}
		text = []byte("{}\n")
	}
	all, err := ourHooks(text, command)
	if err != nil {
		return nil, nil, err
	}
	var kept []string
	for _, h := range slices.Backward(all) { // so that the places of those before stay true
		if h.changed && !slices.Contains(kept, h.event) {
			kept = append([]string{h.event}, kept...)
		}
		if h.program.text != command {
			line := h.line[:h.program.start] + shellWord(command) + h.line[h.program.end:]
			text = splice(text, h.value[0], h.value[1], []byte(quote(line)))
		}
	}
	if c.onlyThere {
		return text, kept, nil
	}
	tell, wait := hookCommands(command)
	for _, e := range events {
		group := hookGroup{Matcher: e.matcher}
		has := func(waits bool) bool {
			return slices.ContainsFunc(all, func(h hookAt) bool { return h.event == e.name && h.waits == waits })
		}
		if !has(false) {
			group.Hooks = append(group.Hooks, tell)
		}
		if e.waits && !has(true) {
			group.Hooks = append(group.Hooks, wait)
		}
		if len(group.Hooks) == 0 {
			continue
		}
		item, err := json.Marshal(group)
		if err == nil {
			text, err = appendItem(text, []string{"hooks", e.name}, item)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return text, kept, nil
}

// drop takes every command of ours away, and what holds nothing else then.
func (claudeHooks) drop(text []byte, command string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	for {
		all, err := ourHooks(text, command)
		if err != nil || len(all) == 0 {
			return text, err
		}
		switch h := all[len(all)-1]; {
		case len(h.commands) > 1:
			text = dropItem(text, h.commands, h.command)
		case len(h.groups) > 1:
			text = dropItem(text, h.groups, h.group)
		default:
			if text, err = unset(text, []string{"hooks", h.event}); err != nil {
				return nil, err
			}
		}
	}
}

func (claudeHooks) ours() string { return "the commands under \"hooks\" that start " + name + " hook" }

// hookCommands are what is started when a session is told something, and what waits.
func hookCommands(command string) (tell, wait hookCommand) {
	tell = hookCommand{Type: "command", Command: shellWord(command) + " hook", Timeout: 30}
	return tell, hookCommand{Type: "command", Command: tell.Command + " --wait 55m", Timeout: 3600, AsyncRewake: true}
}

// ourHooks finds the commands of ours under all events, in their order. What is written
// in a way that no client reads has none.
func ourHooks(text []byte, command string) (all []hookAt, err error) {
	o, err := root(text)
	if err != nil {
		return nil, err
	}
	m, i := o.find("hooks")
	if i < 0 {
		return nil, nil
	}
	if o, err = scan(text, m.value); err != nil {
		return nil, err
	}
	for i, event := range o.members {
		if _, last := o.find(event.key); last != i {
			continue // one that does not count
		}
		groups, _, err := scanList(text, event.value)
		if err != nil {
			continue
		}
		for g, at := range groups {
			o, err := scan(text, at[0])
			m, i := o.find("hooks")
			if err != nil || i < 0 {
				continue
			}
			commands, _, err := scanList(text, m.value)
			if err != nil {
				continue
			}
			for c := range commands {
				h := hookAt{event: event.key, groups: groups, group: g, commands: commands, command: c}
				if h.read(text, command) {
					all = append(all, h)
				}
			}
		}
	}
	return all, nil
}

// read reads the command at its place, and says whether it is one of ours.
func (h *hookAt) read(text []byte, command string) (ours bool) {
	at := h.commands[h.command]
	o, err := scan(text, at[0])
	m, i := o.find("command")
	if err != nil || i < 0 || json.Unmarshal(text[m.value:m.valueEnd], &h.line) != nil {
		return false
	}
	h.value = [2]int{m.value, m.valueEnd}
	if h.hookLine, ours = parseHook(h.line, command); !ours {
		return false
	}
	want, wait := hookCommands(h.program.text)
	if h.waits {
		want = wait
	}
	as, err := json.Marshal(want)
	h.changed = err != nil || !same(text[at[0]:at[1]], as)
	return true
}

// appendItem puts an item behind the last of the list at a path.
func appendItem(text []byte, path []string, item json.RawMessage) ([]byte, error) {
	at, depth, unit, err := find(text, path)
	if err != nil {
		return nil, err
	}
	list := slices.Concat([]byte("["), item, []byte("]"))
	if at < 0 {
		return set(text, path, list)
	}
	items, end, err := scanList(text, at)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return splice(text, at, end, pretty(list, depth, unit)), nil
	}
	last := items[len(items)-1][1]
	return splice(text, last, last, append([]byte(",\n"+strings.Repeat(unit, depth+1)), pretty(item, depth+1, unit)...)), nil
}

// dropItem takes one of several items out of a list, with its comma.
func dropItem(text []byte, items [][2]int, i int) []byte {
	if i == 0 {
		return splice(text, items[0][0], items[1][0], nil)
	}
	return splice(text, items[i-1][1], items[i][1], nil)
}
