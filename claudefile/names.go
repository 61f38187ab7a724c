package claudefile

import (
	"strconv"
	"strings"
	"time"
)

// ListFolder is the client's name for a list's folder below tasks, for a task's
// file, and for an inbox and the team folder that inboxes are put in: what is not
// a letter, a digit, _ or - becomes -, and case is kept.
func ListFolder(name string) string {
	return replaced(name, func(c rune) bool { return isAlphanumeric(c) || c == '_' || c == '-' })
}

// TeamFolder is the client's name for the folder of a team's config.json below
// teams: what is not a letter or a digit becomes -, in lower case. A name that
// ListFolder makes something else of gets its files in two folders.
func TeamFolder(name string) string { return strings.ToLower(replaced(name, isAlphanumeric)) }

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func replaced(name string, keep func(rune) bool) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case keep(c):
			b.WriteRune(c)
		case c > 0xffff: // the client counts it as two characters
			b.WriteString("--")
		default:
			b.WriteByte('-')
		}
	}
	return b.String()
}

// SessionTeam is the name of the team that the newer client makes for a session.
func SessionTeam(session string) string { return "session-" + session[:min(8, len(session))] }

// ReadMark reads a .highwatermark: the largest task id that was ever deleted. As in
// the client, digits at the front count and anything else is 0, also what is more than
// a client can count to.
func ReadMark(data []byte) uint64 {
	text := strings.TrimSpace(string(data))
	end := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	if end >= 0 {
		text = text[:end]
	}
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil {
		return 0
	}
	return n
}

// WriteMark gives the content of a .highwatermark.
func WriteMark(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }

// Timestamp is a time as the client writes it, in UTC with milliseconds.
func Timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
