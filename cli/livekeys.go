package cli

import (
	"context"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"cadre"
)

// typed is a line that a person types while a run is shown.
type typed struct {
	ask  cadre.AskID
	text string
	no   bool // it is the reason of a no
}

// keyHelp says which keys answer an ask.
func (l *live) keyHelp(a *cadre.Ask) string {
	switch {
	case l.input != nil && l.input.no:
		return "why not? " + line(l.input.text) + "_   (Enter says no, Esc takes it back)"
	case l.input != nil:
		return "answer: " + line(l.input.text) + "_   (Enter sends it, Esc takes it back)"
	case l.back == nil:
		return "to answer: cadre ask show " + line(string(a.ID)) + " --team " + line(string(l.s.Scope))
	case a.Kind == cadre.AskQuestion:
		return "keys: a answer, s show all of it"
	case a.Kind == cadre.AskPerson:
		return "keys: y try again, n leave it, s show all of it"
	}
	return "keys: y yes, n no, s show all of it"
}

// listen takes keys until the input ends.
func (l *live) listen(in io.Reader) {
	buf := make([]byte, 256)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		for _, r := range string(buf[:n]) {
			l.key(r)
		}
	}
}

// key acts on one key.
func (l *live) key(r rune) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || len(l.now.Asks) == 0 {
		l.input = nil
		return
	}
	a := l.now.Asks[0]
	l.told = ""
	if l.input != nil && l.input.ask == a.ID {
		l.typing(r)
		l.draw()
		return
	}
	switch {
	case r == 's':
		l.say(cell{text: line(string(a.ID)) + " from " + line(a.From) + ":"})
		for text := range strings.SplitSeq(strings.TrimRight(a.Text, "\n"), "\n") {
			l.say(cell{text: "  " + line(text)})
		}
	case r == 'a' && a.Kind == cadre.AskQuestion:
		l.input = &typed{ask: a.ID}
	case r == 'y' && a.Kind != cadre.AskQuestion:
		l.answer("ask approve", &cadre.AskApprove{ID: a.ID, Digest: a.Digest})
	case r == 'n' && a.Kind != cadre.AskQuestion:
		l.input = &typed{ask: a.ID, no: true}
	}
	l.draw()
}

// typing takes one key of a line.
func (l *live) typing(r rune) {
	in := l.input
	switch {
	case r == '\r' || r == '\n':
		l.input = nil
		if in.no {
			l.answer("ask reject", &cadre.AskReject{ID: in.ask, Text: in.text})
		} else if strings.TrimSpace(in.text) != "" {
			l.answer("ask answer", &cadre.AskAnswer{ID: in.ask, Text: in.text})
		}
	case r == '\x1b':
		l.input = nil
	case r == '\x7f' || r == '\b':
		_, n := utf8.DecodeLastRuneInString(in.text)
		in.text = in.text[:len(in.text)-n]
	case unicode.IsPrint(r):
		in.text += string(r)
	}
}

// answer answers in the name of the person at the terminal.
func (l *live) answer(name string, v cadre.Change) {
	s := l.s
	if _, err := s.Do(context.Background(), name, v); err != nil {
		l.told = line(err.Error())
	}
}
