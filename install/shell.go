package install

import "strings"

// word is one of a command line, and where it stands there.
type word struct {
	text       string
	start, end int
}

// special is what means more to a shell than a word does.
const special = "&;|<>()$`*?[]{}#~!\n"

// shellWords takes a command line apart as a shell would. One that is more than a
// program and its arguments is refused: it is somebody's own.
func shellWords(line string) (words []word, ok bool) {
	var text strings.Builder
	start, quotes := -1, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		blank := quotes == 0 && (c == ' ' || c == '\t')
		if blank && start >= 0 {
			words = append(words, word{text.String(), start, i})
			text.Reset()
			start = -1
		}
		if blank {
			continue
		}
		if start < 0 {
			start = i
		}
		switch {
		case c == quotes:
			quotes = 0
		case quotes == '\'':
			text.WriteByte(c)
		case c == '\\' && i+1 < len(line) && (quotes == 0 || strings.IndexByte("\"\\$`", line[i+1]) >= 0):
			i++
			text.WriteByte(line[i])
		case quotes == 0 && (c == '\'' || c == '"'):
			quotes = c
		case quotes == '"' && (c == '$' || c == '`'), quotes == 0 && strings.IndexByte(special, c) >= 0:
			return nil, false
		default:
			text.WriteByte(c)
		}
	}
	if start >= 0 {
		words = append(words, word{text.String(), start, len(line)})
	}
	return words, quotes == 0
}

// assignment is a word that sets a variable for the program behind it.
var assignment = pattern(`^[A-Za-z_][A-Za-z0-9_]*=`)

// hookLine is a command line that starts `cadre hook`.
type hookLine struct {
	program word
	waits   bool
}

// parseHook reads a command line, and says whether it is such a one.
func parseHook(line, command string) (h hookLine, ok bool) {
	words, ok := shellWords(line)
	for len(words) > 0 && assignment().MatchString(words[0].text) {
		words = words[1:]
	}
	if !ok || len(words) < 2 || !isCadre(words[0].text, command) || words[1].text != "hook" {
		return h, false
	}
	h.program = words[0]
	for _, w := range words[2:] {
		h.waits = h.waits || w.text == "--wait" || strings.HasPrefix(w.text, "--wait=")
	}
	return h, true
}

// isCadre says whether a program is Cadre: this one, or one of that name elsewhere.
func isCadre(program, command string) bool {
	base := program[strings.LastIndexAny(program, `/\`)+1:]
	return program == command || base == name || base == name+".exe"
}

// shellWord quotes a path for the shell that starts hooks.
func shellWord(path string) string {
	if strings.ContainsAny(path, special+" \t\"'\\") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
