package install

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// table is a server in Codex's settings, which are TOML: a table of its own at the
// end, where it disturbs nothing that stands before it.
type table struct{}

// pattern is one that is compiled when it is first used: most commands never do.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// ours is the table as it is written, and what else belongs to it: everything up to
// the next table.
var ours = pattern(`(?m)^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(?:cadre|"cadre"|'cadre')[ \t]*(?:\.[^\]]*)?\][^\n]*\n?(?:[ \t]*(?:[^\[\s][^\n]*)?\n)*(?:[ \t]*[^\[\s][^\n]*\z)?`)

// remark is what may belong to the next table: the last lines, if they are empty or
// remarks.
var remark = pattern(`(?:(?m:^)[ \t]*(?:#[^\n]*)?(?:\n|\z))*\z`)

// elsewhere is the same server written in another way.
var elsewhere = pattern(`(?m)^[ \t]*(?:mcp_servers[ \t]*(?:\.[ \t]*["']?cadre|=)|\[[ \t]*mcp_servers[ \t]*\][^\n]*\n(?:[ \t]*(?:[^\[\s][^\n]*)?\n)*?[ \t]*["']?cadre["']?[ \t]*[.=])`)

func (table) add(text []byte, command string) ([]byte, error) {
	want := []byte(fmt.Sprintf("[mcp_servers.%s]\ncommand = %s\nargs = [%s]\n", name, tomlString(command), tomlList(serve)))
	rest, found, err := cut(text)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(bytes.TrimSpace(found), bytes.TrimSpace(want)) {
		return text, nil
	}
	rest = bytes.TrimRight(rest, "\n")
	if len(rest) > 0 {
		rest = append(rest, "\n\n"...)
	}
	return append(rest, want...), nil
}

func (table) drop(text []byte) ([]byte, error) {
	rest, found, err := cut(text)
	if err != nil || found == nil {
		return text, err
	}
	if rest = bytes.TrimRight(rest, "\n"); len(rest) > 0 {
		rest = append(rest, '\n')
	}
	return rest, nil
}

// cut takes the tables of our server out.
func cut(text []byte) (rest, found []byte, err error) {
	plain, err := withoutStrings(text)
	if err != nil {
		return nil, nil, err
	}
	if elsewhere().Match(plain) {
		return nil, nil, ErrUnknownText
	}
	at := 0
	for _, p := range ours().FindAllIndex(plain, -1) {
		mine := plain[p[0]:p[1]]
		end := p[1] - len(remark().Find(mine))
		rest = append(rest, text[at:p[0]]...)
		found = append(found, text[p[0]:end]...)
		at = end
	}
	return append(rest, text[at:]...), found, nil
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
