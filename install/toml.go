package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// table is a server in Codex's settings, which are TOML: a table of its own at the
// end, where it disturbs nothing that stands before it.
type table struct{}

// pattern is one that is compiled when it is first used: most commands never do.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// passed are the variables that say where the state is and who calls. Codex passes none
// of its own to a server, but for those that it is told.
var passed = []string{
	"CADRE_CLAUDE", "CADRE_FENCE", "CADRE_SCOPE", "CADRE_SESSION", "CADRE_STATE_DIR", "CADRE_TASK", "CADRE_TOKEN",
	"CLAUDE_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME",
}

// servers is the key of all servers, which nobody needs to quote and everybody may.
const servers = `(?:mcp_servers|"mcp_servers"|'mcp_servers')`

// ours is the table as it is written, and what else belongs to it: everything up to
// the next table. What it is called behind our name is the table of one of its keys.
var ours = pattern(`(?m)^[ \t]*\[[ \t]*` + servers + `[ \t]*\.[ \t]*(?:cadre|"cadre"|'cadre')[ \t]*(?:\.[ \t]*([^\]\n]*?)[ \t]*)?\][^\n]*\n?(?:[ \t\r]*(?:[^\[\s][^\n]*)?\n)*(?:[ \t]*[^\[\s][^\n]*\z)?`)

// remark is what may belong to the next table: the last lines, if they are empty or
// remarks.
var remark = pattern(`(?:(?m:^)[ \t\r]*(?:#[^\n]*)?(?:\n|\z))*\z`)

// elsewhere is the same server written in another way.
var elsewhere = pattern(`(?m)^[ \t]*(?:` + servers + `[ \t]*(?:\.[ \t]*["']?cadre|=)|\[[ \t]*` + servers + `[ \t]*\][^\n]*\n(?:[ \t\r]*(?:[^\[\s][^\n]*)?\n)*?[ \t]*["']?cadre["']?[ \t]*[.=])`)

// add puts the table in. In one that starts Cadre already only that is changed which
// would keep it from starting this very program.
func (table) add(text []byte, command string) ([]byte, []string, error) {
	rest, found, err := cut(text)
	if err != nil {
		return nil, nil, err
	}
	var other error
	if len(found) > 0 {
		with, kept, err := mendTable(text, found, command)
		if err == nil {
			return with, kept, nil
		}
		other = err
	}
	end := lineEnd(text)
	if len(rest) > 0 && !bytes.HasSuffix(rest, []byte("\n")) {
		rest = append(rest, end...)
	}
	if len(rest) > 0 {
		rest = append(rest, end...)
	}
	want := fmt.Sprintf("[mcp_servers.%s]\ncommand = %s\nargs = [%s]\nenv_vars = [%s]\n", name, tomlString(command), tomlList(serve), tomlList(passed))
	return append(rest, strings.ReplaceAll(want, "\n", end)...), nil, other
}

// drop takes the tables away, if they start Cadre.
func (table) drop(text []byte, command string) ([]byte, error) {
	rest, found, err := cut(text)
	if err != nil || len(found) == 0 {
		return rest, err
	}
	if _, _, other := mendTable(text, found, command); other != nil {
		return text, other
	}
	return rest, nil
}

func (table) ours() string { return "what is under mcp_servers." + name }

// lineEnd is how the lines of a text end.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// part is a table of our server: its own, or that of a key.
type part struct {
	start, end int
	key        string
}

// cut takes the tables of our server out, each with the empty line before it, and says
// where they are.
func cut(text []byte) (rest []byte, found []part, err error) {
	if wrong, ok := errors.AsType[toml.ParseError](toml.Unmarshal(text, &map[string]any{})); ok {
		before := text[:min(max(0, wrong.Position.Start), len(text))] // where a line ends too soon, its own Line is the next
		return nil, nil, &BrokenError{1 + bytes.Count(before, []byte("\n")), "TOML", wrong.Message}
	}
	plain, err := withoutStrings(text)
	if err != nil {
		return nil, nil, err
	}
	if elsewhere().Match(plain) {
		return nil, nil, ErrUnknownText
	}
	at := 0
	for _, p := range ours().FindAllSubmatchIndex(plain, -1) {
		t := part{start: p[0], end: p[1] - len(remark().Find(plain[p[0]:p[1]]))}
		if p[2] >= 0 {
			t.key = string(plain[p[2]:p[3]])
		}
		rest = append(rest, text[at:t.start]...)
		for _, empty := range []string{"\n\n", "\n\r\n"} {
			if bytes.HasSuffix(rest, []byte(empty)) {
				rest = rest[:len(rest)-len(empty)+1]
				break
			}
		}
		found, at = append(found, t), t.end
	}
	return append(rest, text[at:]...), found, nil
}

// key is one in a table, up to its value.
var key = pattern(`(?m)^[ \t]*["']?([A-Za-z0-9_-]+)["']?[ \t]*=[ \t]*`)

// mendTable puts right what is wrong in the tables of a server that starts Cadre, and
// names the keys that its user has set. A server that does not is another's.
func mendTable(text []byte, found []part, command string) (_ []byte, kept []string, err error) {
	plain, err := withoutStrings(text)
	if err != nil {
		return nil, nil, err
	}
	own := slices.IndexFunc(found, func(t part) bool { return t.key == "" })
	if own < 0 {
		return nil, nil, taken(nil, "")
	}
	t, at := found[own], map[string]int{} // where the values of its keys are
	from := func(key string) []byte {
		if at[key] == 0 {
			return nil
		}
		return text[at[key]:t.end]
	}
	for _, k := range key().FindAllSubmatchIndex(plain[t.start:t.end], -1) {
		name := string(plain[t.start+k[2] : t.start+k[3]])
		at[name] = t.start + k[1]
		vars, _ := tomlArgs(from(name))
		if name != "command" && name != "args" && (name != "env_vars" || !slices.Equal(vars, passed)) {
			kept = append(kept, name)
		}
	}
	program, end := tomlValue(from("command"))
	args, n := tomlArgs(from("args"))
	if !isCadre(program, command) {
		address, _ := tomlValue(from("url"))
		return nil, nil, taken(append([]string{program}, args...), address)
	}
	type change struct {
		from, to int
		with     string
	}
	var changes []change
	if program != command {
		changes = append(changes, change{at["command"], at["command"] + end, tomlString(command)})
	}
	switch serves := "[" + tomlList(serve) + "]"; {
	case at["args"] == 0:
		changes = append(changes, change{at["command"] + end, at["command"] + end, "\nargs = " + serves})
	case n == 0:
		return nil, nil, taken([]string{program, "…"}, "")
	case len(args) == 0 || args[0] != serve[0]:
		changes = append(changes, change{at["args"], at["args"] + n, serves})
	case !slices.Equal(args, serve):
		kept = append([]string{"args"}, kept...)
	}
	for _, t := range found {
		if t.key != "" {
			kept = append(kept, t.key)
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return b.from - a.from }) // so that the places before stay true
	for _, c := range changes {
		text = splice(text, c.from, c.to, []byte(c.with))
	}
	return text, kept, nil
}

// tomlValue reads the string that a text begins with, and says how long it is; 0 where
// there is none, or one that is written in a way that nobody writes a path.
func tomlValue(text []byte) (value string, n int) {
	if len(text) == 0 || text[0] != '"' && text[0] != '\'' {
		return "", 0
	}
	end := closing(text[1:lineLength(text)], string(text[0]))
	if end < 0 {
		return "", 0
	}
	n = 1 + end + 1
	if text[0] == '\'' {
		return string(text[1 : n-1]), n
	}
	if json.Unmarshal(text[:n], &value) != nil {
		return "", 0
	}
	return value, n
}

// tomlArgs reads the list of strings that a text begins with, and says how long it is;
// 0 where there is none.
func tomlArgs(text []byte) (args []string, n int) {
	rest, ok := bytes.CutPrefix(text, []byte("["))
	for ok {
		rest = bytes.TrimLeft(rest, ", \t\r\n")
		if bytes.HasPrefix(rest, []byte("#")) {
			rest = rest[lineLength(rest):]
			continue
		}
		value, end := tomlValue(rest)
		if end == 0 {
			break
		}
		args, rest = append(args, value), rest[end:]
	}
	if !bytes.HasPrefix(rest, []byte("]")) {
		return nil, 0
	}
	return args, len(text) - len(rest) + 1
}

// withoutStrings is a text as long as this one, in which nothing inside a string that
// goes over several lines looks like a line.
func withoutStrings(text []byte) ([]byte, error) {
	plain := bytes.Clone(text)
	for at := 0; at < len(plain); {
		rest := plain[at:]
		switch c := rest[0]; {
		case c == '#':
			at += lineLength(rest)
		case bytes.HasPrefix(rest, []byte(`"""`)) || bytes.HasPrefix(rest, []byte("'''")):
			end := closing(rest[3:], string(rest[:3]))
			if end < 0 {
				return nil, ErrUnknownText
			}
			for i := range rest[3 : 3+end] {
				rest[3+i] = 'x'
			}
			at += 3 + end + 3
		case c == '"' || c == '\'':
			end := closing(rest[1:lineLength(rest)], string(c))
			if end < 0 {
				return nil, ErrUnknownText
			}
			at += 1 + end + 1
		default:
			at++
		}
	}
	return plain, nil
}

// lineLength is how far it is to the end of the line.
func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// closing finds the end of a string; -1: it has none. In those with double quotes a
// backslash takes the meaning from what follows.
func closing(text []byte, quotes string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case quotes[0] == '"' && text[i] == '\\':
			i++
		case bytes.HasPrefix(text[i:], []byte(quotes)):
			return i
		}
	}
	return -1
}

func tomlList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = tomlString(item)
	}
	return strings.Join(quoted, ", ")
}

// tomlString writes a basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
