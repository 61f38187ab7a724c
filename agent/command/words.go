package command

import (
	"errors"
	"strings"
)

// placeholder stands in a command line where the prompt is to be.
const placeholder = "{prompt}"

// words splits a command line as a shell does, with quotes and backslashes; nothing
// else in it means anything.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune(`"\$`+"`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case strings.ContainsRune(" \t\r\n", r):
			if inWord {
				out = append(out, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("the command line ends within quotes")
	}
	if inWord {
		out = append(out, word.String())
	}
	if len(out) == 0 {
		return nil, errors.New("there is no command to run: give one with --run 'PROGRAM ARGUMENTS'")
	}
	return out, nil
}
