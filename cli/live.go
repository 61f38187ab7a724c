package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"cadre"
	"cadre/coord"
	"cadre/internal/termtext"
)

// live shows a run while it goes on, on standard error: on a terminal a few lines that
// are drawn again and again below what has happened, elsewhere one line for each thing
// that happens. With --jsonl it writes the events to standard output instead.
type live struct {
	*program
	draws bool // on a terminal
	speak bool // to people

	mu    sync.Mutex
	s     *coord.Session
	now   *coord.Standing
	names map[cadre.TaskID]string
	asked map[cadre.AskID]bool // those that the bell rang for
	began time.Time
	drawn int // lines that stand there now
	input *typed
	told  string        // what came of the last key
	over  chan struct{} // closed at the end; nil where nothing is drawn any more
	back  func()        // gives the keyboard back
}

func (p *program) newLive(attended bool) *live {
	l := &live{program: p, names: map[cadre.TaskID]string{}, asked: map[cadre.AskID]bool{}, began: p.now().Wall}
	l.speak = !p.json && !p.jsonl && !p.quiet
	l.draws = l.speak && p.errTerm && p.env["TERM"] != "dumb"
	if !l.draws {
		return l
	}
	ticker, over := time.NewTicker(time.Second), make(chan struct{})
	l.over = over
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				l.mu.Lock()
				l.draw()
				l.mu.Unlock()
			case <-over:
				return
			}
		}
	}()
	if in, ok := p.stdin.(*os.File); ok && attended {
		if back, err := keyByKey(in); err == nil {
			l.back = back
			go l.listen(in)
		}
	}
	return l
}

// close takes the drawing away and gives the terminal back.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		close(l.over)
		l.over = nil
	}
	l.erase()
	l.draws = false
	if l.back != nil {
		l.back()
		l.back = nil
	}
}

// Saw tells what happened.
func (l *live) Saw(s *coord.Session, e cadre.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s = s
	if l.jsonl {
		if err := l.writeLine(e); err == nil {
			_ = l.out.Flush() // an error comes again with the report
		}
	}
	if t, ok := e.After.(*cadre.Task); ok {
		l.names[t.ID] = taskName(&cadre.TaskView{ID: t.ID, Key: t.Key})
	}
	if said := l.note(e); said.text != "" && l.speak {
		l.say(said)
	}
}

// tell says something that no event says.
func (l *live) tell(c cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.speak {
		l.say(c)
	}
}

// say prints a line that stays.
func (l *live) say(c cell) {
	l.erase()
	text := c.text
	if l.draws {
		cols, _ := l.size()
		text = termtext.Cut(text, cols-1)
	}
	fmt.Fprintln(l.stderr, l.paint(c.style, text))
	l.draw()
}

func (l *live) paint(s style, text string) string {
	pg := &page{program: l.program, color: l.draws && l.env["NO_COLOR"] == "" && l.color != "never"}
	return pg.paint(s, text)
}

// Stands shows how things stand.
func (l *live) Stands(s *coord.Session, now *coord.Standing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s, l.now = s, now
	for _, t := range now.Open {
		l.names[t.ID] = taskName(t)
	}
	for _, a := range now.Asks {
		if l.draws && !l.asked[a.ID] {
			l.asked[a.ID] = true
			fmt.Fprint(l.stderr, "\a")
		}
	}
	l.draw()
}

// size is what the terminal has room for.
func (l *live) size() (cols, rows int) {
	if f, ok := l.stderr.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return defaultWidth, 24
}

// erase takes away what was drawn.
func (l *live) erase() {
	if l.drawn > 0 {
		fmt.Fprintf(l.stderr, "\x1b[%dA\r\x1b[J", l.drawn)
		l.drawn = 0
	}
}

func (l *live) draw() {
	if !l.draws || l.now == nil {
		return
	}
	cols, rows := l.size()
	frame := l.frame(l.program.now().Wall, cols, rows)
	l.erase()
	fmt.Fprintln(l.stderr, strings.Join(frame, "\n"))
	l.drawn = len(frame)
}

// note says what an event means to somebody who watches a run, or nothing.
func (l *live) note(e cadre.Event) cell {
	switch after := e.After.(type) {
	case *cadre.Task:
		before, _ := e.Before.(*cadre.Task)
		return l.noteTask(e.Verb, before, after)
	case *cadre.Member:
		before, _ := e.Before.(*cadre.Member)
		if before == nil || before.State == after.State || after.Role == cadre.RoleLead {
			return cell{}
		}
		switch after.State {
		case cadre.StateDead, cadre.StateUnreachable, cadre.StateStalled, cadre.StateRateLimited:
			state := memberState(after.State)
			return cell{line(after.Name) + " is " + string(after.State) + ": " + line(after.Evidence), state.style}
		}
	case *cadre.Ask:
		if after.ForPerson() && e.Before == nil {
			return cell{"! " + l.askLine(after), yellow}
		}
		if e.Before != nil && after.State != cadre.AskOpen && after.State != cadre.AskVoid && after.Kind != cadre.AskShutdown {
			words := askState(after.State).text + " by " + line(after.AnsweredBy) + ": " + l.askAbout(after)
			if after.Answer != "" {
				words += ": " + line(after.Answer)
			}
			return cell{words, askState(after.State).style}
		}
	}
	return cell{}
}

func (l *live) noteTask(verb string, before, after *cadre.Task) cell {
	name := line(l.names[after.ID])
	switch {
	case before == nil || after.Kind != cadre.KindPlan:
		return cell{}
	case before.Status != cadre.Completed && after.Status == cadre.Completed:
		took := ""
		if after.StartedAt != nil && after.CompletedAt != nil {
			took = " in " + seconds(after.CompletedAt.Sub(*after.StartedAt))
		}
		return cell{"✓ " + name + " done by " + line(after.Owner) + took, green}
	case after.Attempts > before.Attempts && before.Owner != "":
		why := "its member was lost"
		if after.Result != nil && verb == "task fail" {
			why = resultLine(&cadre.TaskView{Result: after.Result})
		}
		return cell{fmt.Sprintf("✗ %s failed, attempt %d by %s: %s", name, after.Attempts, line(before.Owner), line(why)), red}
	case before.Status != cadre.InProgress && after.Status == cadre.InProgress:
		return cell{"● " + name + " started by " + line(after.Owner), plain}
	}
	return cell{}
}

func (l *live) askAbout(a *cadre.Ask) string {
	if a.Task != "" {
		return line(string(a.Kind)) + " for " + line(l.names[a.Task])
	}
	return line(string(a.Kind)) + " of " + line(a.From)
}

func (l *live) askLine(a *cadre.Ask) string {
	return line(string(a.ID)) + ", " + l.askAbout(a) + ": " + line(strings.Join(strings.Fields(a.Text), " "))
}

// frame is what is drawn: how far it is, who does what, what waits for an answer.
func (l *live) frame(wall time.Time, cols, rows int) []string {
	out := []string{l.progressLine(wall, cols)}
	room := max(3, rows-6)
	for i, m := range l.now.Members {
		if m.State == cadre.StateDeparted && len(l.now.Members) > room {
			continue
		}
		if len(out) > room {
			out = append(out, l.paint(dim, fmt.Sprintf("  and %d more", len(l.now.Members)-i)))
			break
		}
		out = append(out, l.memberLine(m, wall, cols))
	}
	if len(l.now.Asks) > 0 {
		a := l.now.Asks[0]
		out = append(out, l.paint(yellow, termtext.Cut("! "+l.askLine(a), cols-1)))
		out = append(out, termtext.Cut("  "+l.keyHelp(a), cols-1))
	}
	if l.told != "" {
		out = append(out, termtext.Cut("  "+l.told, cols-1))
	}
	return out
}

func (l *live) progressLine(wall time.Time, cols int) string {
	n := l.now
	cells := max(10, min(30, cols-50))
	full := 0
	if n.Total > 0 {
		full = cells * n.Done / n.Total
	}
	words := fmt.Sprintf(" %d/%d done, %d running", n.Done, n.Total, len(n.Works))
	if len(n.Asks) > 0 {
		words += fmt.Sprintf(", %d for you", len(n.Asks))
	}
	words = termtext.Cut(words+"  "+shortDuration(max(time.Second, wall.Sub(l.began))), cols-1-cells)
	return l.paint(green, strings.Repeat("█", full)) + l.paint(dim, strings.Repeat("░", cells-full)) + words
}

// memberLine is one member: state, name, what it works on, for how long.
func (l *live) memberLine(m *cadre.Member, wall time.Time, cols int) string {
	state := memberState(m.State)
	what, since := line(m.Evidence), m.Since
	if t := l.now.Works[m.Name]; t != nil {
		what = line(taskName(t) + ": " + t.Subject)
		if t.StartedAt != nil {
			since = *t.StartedAt
		}
	}
	age := termtext.Pad(shortDuration(max(time.Second, wall.Sub(since))), 4, true)
	head := termtext.Pad(state.text, 13, false) + " " + termtext.Pad(line(m.Name), 12, false) + " "
	room := cols - 1 - termtext.Width(head) - len(age) - 1
	return l.paint(state.style, head) + termtext.Pad(termtext.Cut(what, max(8, room)), max(8, room), false) + " " + l.paint(dim, age)
}
