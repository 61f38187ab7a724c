// Package termtext prepares text from outside for a terminal: it makes control
// characters visible, so that no subject, name or message can move the cursor or
// change what stands elsewhere on the screen, and it measures and cuts text by
// the cells it takes, not by its bytes.
package termtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Line makes text safe to print on one line: line breaks and tabs become visible
// too.
func Line(s string) string { return clean(s, false) }

// Lines makes text safe to print and keeps its line breaks and tabs.
func Lines(s string) string { return clean(s, true) }

func clean(s string, lines bool) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case lines && r == '\r' && strings.HasPrefix(s[i:], "\r\n"): // a line break of another system
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case Hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// isPlain says whether the text is printable ASCII, as most of it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Hidden says whether a character beyond ASCII would act on the terminal, turn
// the direction of the text around it, or be there without being seen. Joiners
// stay: emoji and several scripts are written with them.
func Hidden(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, // C1 controls, one of which begins an escape sequence
		r == 0x2028, r == 0x2029, // line and paragraph separators
		r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // direction overrides and isolates
		r == 0x200b, r == 0x2060, r == 0xfeff, r == 0xad, // invisible spaces
		r >= 0xfff9 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}

// Width is the number of cells that text takes on a terminal.
func Width(s string) int {
	if isPlain(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}

// Cut shortens text to at most width cells; what was cut is marked with "…".
func Cut(s string, width int) string {
	if width < 1 || Width(s) <= width {
		return s
	}
	used, end, state := 0, 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > width-1 {
			break
		}
		used, end = used+w, end+len(cluster)
	}
	return strings.TrimRight(s[:end], " ") + "…"
}

// Pad adds spaces up to width cells, before the text where right is set.
func Pad(s string, width int, right bool) string {
	n := width - Width(s)
	switch {
	case n <= 0:
		return s
	case right:
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}

// Wrap breaks text at spaces into lines of at most width cells. A word that is
// longer stands on a line of its own. Without a width only the text's own line
// breaks count.
func Wrap(s string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if width < 1 || Width(line) <= width {
			out = append(out, line)
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		current := ""
		for word := range strings.FieldsSeq(line) {
			switch {
			case current == "":
				current = indent + word
			case Width(current)+1+Width(word) > width:
				out = append(out, current)
				current = indent + word
			default:
				current += " " + word
			}
		}
		out = append(out, current)
	}
	return out
}
