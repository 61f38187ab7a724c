package cli

import (
	"os"
	"strconv"

	"golang.org/x/term"
)

// defaultWidth is how wide a terminal is that does not say.
const defaultWidth = 80

// isTerminal says whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is the number of columns of a terminal.
func terminalWidth(stream any, env map[string]string) int {
	if f, ok := stream.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(env["COLUMNS"]); err == nil && w > 0 {
		return w
	}
	return defaultWidth
}

// colored says whether the answer is in colour: on a terminal, unless told
// otherwise, and never under NO_COLOR.
func (p *program) colored() bool {
	switch {
	case p.env["NO_COLOR"] != "", p.color == "never":
		return false
	case p.color == "always":
		return true
	}
	return p.outTerm && p.env["TERM"] != "dumb"
}
