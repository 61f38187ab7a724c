package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/internal/proc"
)

// Recipe is how one program is used.
type Recipe struct {
	name     string
	install  string                                     // what to do where it is missing
	modes    []string                                   // what it may do without asking; without any there is no such choice
	planning []string                                   // what lets it look and change nothing
	args     func(model, mode, session string) []string // its command line; nil where the member says it
	read     func(t *turn, line string)                 // takes in a line that it printed
	end      func(t *turn)                              // says what came of it once it has ended
}

// Recipes are those that there are.
func Recipes() map[cadre.Backend]Recipe {
	return map[cadre.Backend]Recipe{cadre.BackendCommand: plain, cadre.BackendClaude: claude, cadre.BackendCodex: codex}
}

// check lists the settings that the recipe cannot honour.
func (r Recipe) check(m *cadre.Member) []string {
	var no []string
	if r.args == nil {
		for _, s := range [][2]string{{"model", m.Model}, {"mode", m.Mode}} {
			if s[1] != "" {
				no = append(no, s[0]+": say it in the command that is run")
			}
		}
		if m.PlanMode {
			no = append(no, "plan mode: nothing keeps a command from changing things while it plans")
		}
		return no
	}
	if m.Run != "" {
		no = append(no, "run: a "+r.name+" member has a command line of its own")
	}
	if m.Mode != "" && !slices.Contains(r.modes, m.Mode) {
		no = append(no, fmt.Sprintf("mode: %s has no %q, only %s", r.name, m.Mode, strings.Join(r.modes, ", ")))
	}
	return no
}

// line is a member's command line, to go on with a session if there is one. What was
// asked for counts, not what the program made of it.
func (r Recipe) line(m *cadre.Member, session string) ([]string, error) {
	if r.args == nil {
		return words(m.Run)
	}
	model, mode := m.Model, m.Mode
	if m.Requested != nil {
		model, mode = m.Requested.Model, m.Requested.Mode
	}
	return r.args(model, mode, session), nil
}

// known is what a program says of itself.
type known struct{ session, model, mode string }

// turn is what is known of one run.
type turn struct {
	known
	began   bool   // it took the prompt
	text    string // what it said last
	more    int    // how many bytes of that were left out
	failed  string // why it came to nothing
	ended   bool   // it said that it was over
	limited bool
	until   time.Time
	notes   []string // what else is worth knowing
	log     string
	exit    proc.Exit
}

// textLimit is how much of what a program says is taken for the result.
const textLimit = 64 << 10

// say sets what was said last.
func (t *turn) say(text string) {
	t.text, t.more = text, 0
	if len(text) > textLimit {
		t.text, t.more = strings.ToValidUTF8(text[:textLimit], ""), len(text)-textLimit
	}
}

// summary is the result of a task.
func (t *turn) summary() string {
	var parts []string
	if t.failed != "" {
		parts = append(parts, t.failed)
	}
	if text := strings.TrimSpace(strings.ReplaceAll(t.text, "\x00", "�")); text != "" && text != t.failed {
		parts = append(parts, text)
	}
	notes := t.notes
	if t.more > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes more are in %s", t.more, t.log))
	} else if t.failed != "" && t.exit.Bytes > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes printed to %s", t.exit.Bytes, t.log))
	}
	if len(notes) > 0 {
		parts = append(parts, "["+strings.Join(notes, "; ")+"]")
	}
	return strings.Join(parts, "\n\n")
}

// tail is the end of what was printed, for a program that did not say what is wrong.
func (t *turn) tail() string {
	if tail := strings.TrimSpace(strings.ReplaceAll(t.exit.Tail, "\x00", "�")); tail != "" {
		return "\n" + tail
	}
	return ""
}

// gaveUp is how a program says in its last words that the task cannot be done.
const gaveUp = "FAILED:"

// endOfStream judges a turn of a program that says itself how it went.
func endOfStream(t *turn) {
	switch {
	case t.failed != "":
	case t.exit.Error != "":
		t.failed = t.exit.Error
	case !t.ended:
		t.failed = fmt.Sprintf("its stream broke off (%s)%s", t.exit, t.tail())
	case !t.exit.OK():
		t.failed = t.exit.String()
	default:
		t.giveUp()
	}
}

// giveUp takes the program at its word.
func (t *turn) giveUp() {
	if strings.HasPrefix(strings.TrimSpace(t.text), gaveUp) {
		t.failed = strings.TrimSpace(t.text)
	}
}

// tempFail is the exit code of programs that want to be run again later (EX_TEMPFAIL
// of sysexits.h).
const tempFail = 75

// plain is any program. What it prints is what it says.
var plain = Recipe{
	name: "command",
	read: func(t *turn, line string) {
		line += "\n"
		room := min(textLimit-len(t.text), len(line))
		t.text += line[:room]
		t.more += len(line) - room
	},
	end: func(t *turn) {
		t.began = t.exit.Error == ""
		t.limited = t.exit.Code == tempFail
		switch {
		case t.exit.OK():
			t.giveUp()
		case strings.TrimSpace(t.text) == "":
			t.failed = t.exit.String() + t.tail()
		default:
			t.failed = t.exit.String()
		}
	},
}
