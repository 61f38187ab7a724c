package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/internal/termtext"
)

// page is where a renderer writes text for people. Whatever came from outside
// goes through line or lines first.
type page struct {
	*program
	color bool
	cols  int // of the terminal; 0 where nothing may be cut
	time  time.Time
	scope cadre.Scope
	me    cadre.Actor // who looks at it

	archived func() int               // how many teams and lists are out of the way
	sessions func() map[string]string // the names that sessions have in this team
	names    map[string]string        // the same, once somebody asked; nil where it has to be asked again
}

func (p *program) page(ctx context.Context, s *coord.Session) *page {
	pg := &page{program: p, color: p.colored(), time: p.now().Wall, scope: s.Scope, me: s.Actor}
	pg.archived = func() int { return archived(ctx, s) }
	pg.sessions = func() map[string]string { return sessionNames(ctx, s) }
	if p.outTerm {
		pg.cols = p.width
	}
	return pg
}

// archived counts the archived teams and lists that the caller may see. What cannot be
// read is none.
func archived(ctx context.Context, s *coord.Session) (n int) {
	all, _ := s.Do(ctx, "team list", &coord.TeamList{All: true})
	lines, _ := all.([]*coord.TeamLine)
	for _, l := range lines {
		if l.Where == cadre.Archive {
			n++
		}
	}
	return n
}

// sessionNames reads which session is which member. What cannot be read has just no
// name.
func sessionNames(ctx context.Context, s *coord.Session) map[string]string {
	names := map[string]string{}
	_ = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		for m, err := range snap.Members() {
			if err != nil {
				return err
			}
			names[m.Session] = m.Name
		}
		team, err := snap.Team()
		if team != nil && team.Creator.Kind == cadre.ActorSession {
			names[team.Creator.Session] = cadre.LeadName
		}
		return err
	})
	return names
}

// style is a way to set text off on a terminal that has colours. The sixteen
// that every terminal has follow the person's own theme.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// paint sets text off, where there is colour.
func (pg *page) paint(s style, text string) string {
	if !pg.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// line makes text from outside safe for one line.
func line(s string) string { return termtext.Line(s) }

// block prints text from outside under an indentation, wrapped to the terminal.
func (pg *page) block(indent, text string) {
	width := 0
	if pg.cols > 0 {
		width = max(20, pg.cols-len(indent))
	}
	for _, l := range termtext.Wrap(strings.TrimRight(termtext.Lines(text), "\n"), width) {
		pg.printf("%s\n", strings.TrimRight(indent+l, " "))
	}
}

// head prints the title of a part.
func (pg *page) head(title string) { pg.printf("%s\n", pg.paint(bold, title)) }

// fit cuts a line of plain text to what is left of a terminal's line.
func (pg *page) fit(text string, used int) string {
	if pg.cols == 0 {
		return text
	}
	return termtext.Cut(text, max(8, pg.cols-used))
}

// age says how long ago something was, in one unit.
func (pg *page) age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return shortDuration(pg.time.Sub(t))
}

// ago says the same as the end of a sentence.
func (pg *page) ago(t time.Time) string {
	d := pg.time.Sub(t)
	switch {
	case d <= -time.Second:
		return "in " + shortDuration(-d)
	case d < time.Second:
		return "just now"
	}
	return shortDuration(d) + " ago"
}

// property is one line of what is known about an object.
type property struct {
	name  string
	value cell
}

// properties prints names and values in two columns. A value that is too long for
// the terminal goes on below itself: nothing of it is lost.
func (pg *page) properties(list []property) {
	width := 0
	for _, p := range list {
		if p.value.text != "" {
			width = max(width, termtext.Width(p.name))
		}
	}
	room := 0
	if pg.cols > 0 {
		room = max(20, pg.cols-width-2*gutter)
	}
	for _, p := range list {
		name := termtext.Pad(p.name, width, false)
		for i, l := range termtext.Wrap(p.value.text, room) {
			if l == "" {
				break
			}
			if i > 0 {
				name = strings.Repeat(" ", width)
			}
			pg.printf("  %s  %s\n", pg.paint(dim, name), pg.paint(p.value.style, l))
		}
	}
}

func shortDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// clock writes a moment: the time of day, with the date where it is not today. A terminal
// has room for no more of that than tells it from others.
func (pg *page) clock(t time.Time) string {
	t = t.In(pg.time.Location())
	switch {
	case t.Format(time.DateOnly) == pg.time.Format(time.DateOnly):
		return t.Format(time.TimeOnly)
	case pg.cols > 0 && t.Year() == pg.time.Year():
		return t.Format("01-02 15:04")
	}
	return t.Format(time.DateTime)
}

// count writes a number with its noun: "1 task", "3 tasks".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// join writes ids as a list.
func join[T ~string](ids []T) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = line(string(id))
	}
	return strings.Join(words, ", ")
}
