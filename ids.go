package cadre

import (
	"strconv"
	"strings"
)

type (
	// Scope names one task list with its log. It is always in the form that
	// [ParseScope] gives, which is also the name of the folder that Claude Code
	// uses for the list.
	Scope string
	// TaskID is the name of a task in its scope: decimal where Cadre made it.
	TaskID string
	// MessageID, AskID and CommandID name what their names say, in one scope.
	MessageID string
	AskID     string
	CommandID string
	// Seq is an event's place in its scope's log, from 1.
	Seq uint64
)

// DrawnMark begins the id of a command that was drawn at random for one call.
const DrawnMark = "~"

// Drawn says whether no other call can have this id: stores do not look for it.
func (id CommandID) Drawn() bool { return strings.HasPrefix(string(id), DrawnMark) }

// Host is the scope of what belongs to this machine and to no team: which
// caller works on which list, and tokens.
const Host Scope = "@host"

// DefaultScope is the list of an operator who never made a team.
const DefaultScope Scope = "default"

// maxScope keeps a scope's name, with a suffix, below what file systems allow.
const maxScope = 200

// ParseScope makes a scope of a name that came from outside, as Claude Code
// does for its folders: every character but letters, digits, - and _ becomes -, and
// one that the client counts as two becomes two. Two names with one folder are
// therefore one scope, and no name from outside means the Host scope.
func ParseScope(name string) (Scope, error) {
	if name == "" {
		return "", refuse(RuleName, "a scope needs a name").hint("cadre team list")
	}
	if len(name) > maxScope {
		return "", refuse(RuleName, "the scope name is %d bytes long, %d are allowed", len(name), maxScope)
	}
	if strings.ContainsRune(name, 0) {
		return "", refuse(RuleName, "the scope name contains a NUL character")
	}
	var folder strings.Builder
	for _, r := range name {
		if folder.WriteRune(folderRune(r)); r > 0xffff {
			folder.WriteByte('-')
		}
	}
	return Scope(folder.String()), nil
}

// TeamOf is the scope of the team whose members' tasks a list may hold. Clients spell
// the folder of a team like My_Team.X in two ways: the team itself and its lead's tasks
// are in my-team-x, its mail and the tasks of its members in My_Team-X. For the
// scope of a team it is that scope.
func TeamOf(list Scope) Scope {
	return Scope(strings.ReplaceAll(strings.ToLower(string(list)), "_", "-"))
}

func folderRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		return r
	}
	return '-'
}

// number gives a decimal id's value, and false for a foreign id. One that is larger
// than clients can count to is foreign: the next one would not be.
func (id TaskID) number() (uint64, bool) {
	if id == "" || id[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(id), 10, 53)
	return n, err == nil
}

// Compare orders ids as lists show them: by number, foreign ones last.
func (id TaskID) Compare(other TaskID) int { return strings.Compare(id.sortKey(), other.sortKey()) }

// Numeric says whether the id is one that Cadre could have made.
func (id TaskID) Numeric() bool {
	_, ok := id.number()
	return ok
}

// sortKey orders decimal ids by value and puts foreign ones after them.
func (id TaskID) sortKey() string {
	if !id.Numeric() {
		return "~" + string(id)
	}
	return string(rune('a'+len(id))) + string(id)
}

func taskIDOf(n uint64) TaskID { return TaskID(strconv.FormatUint(n, 10)) }

// parseTaskID checks an id that came from outside. A leading # is allowed,
// because that is how ids are shown.
func parseTaskID(s TaskID) (TaskID, error) {
	id := TaskID(strings.TrimPrefix(strings.TrimSpace(string(s)), "#"))
	if id == "" {
		return "", refuse(RuleName, "a task id is missing").hint("cadre task list")
	}
	if len(id) > maxScope || strings.ContainsFunc(string(id), func(r rune) bool { return folderRune(r) != r }) {
		return "", refuse(RuleName, "%q is not a task id", clip(string(id), 40)).hint("cadre task list")
	}
	return id, nil
}

// seqKey orders sequence numbers as text.
func seqKey(n uint64) string {
	s := strconv.FormatUint(n, 10)
	return string(rune('a'+len(s))) + s
}

// clip shortens text for a message, at a rune's edge.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := 0
	for j := range s {
		if j > n {
			break
		}
		i = j
	}
	return s[:i] + "…"
}
