package cli

import (
	"strings"
	"unicode/utf8"

	"cadre/internal/termtext"
)

// table is rows in columns, without lines between them. A column in which every
// cell is empty is left out. On a terminal the last column gives way, so that a row is
// broken only where not even eight columns are left for it; elsewhere nothing is cut.
type table struct {
	columns []column
	rows    [][]cell
	indent  string

	measured map[string]int
}

// column is a title and whether its cells stand to the right.
type column struct {
	title string
	right bool
}

// cell is text that is safe to print, and how to set it off.
type cell struct {
	text  string
	style style
}

// newTable makes a table; a title that begins with ">" stands to the right.
func newTable(titles ...string) *table {
	t := &table{}
	for _, title := range titles {
		name, right := strings.CutPrefix(title, ">")
		t.columns = append(t.columns, column{name, right})
	}
	return t
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// text is a cell of text from outside.
func text(s string) cell { return cell{text: line(s)} }

// faint is a cell that matters less.
func faint(s string) cell { return cell{line(s), dim} }

// print writes the table with its titles; an empty one writes nothing.
func (t *table) print(pg *page) {
	if len(t.rows) == 0 {
		return
	}
	widths := t.widths(pg)
	titles := make([]cell, len(t.columns))
	titled := false
	for i, c := range t.columns {
		titles[i] = cell{c.title, dim}
		titled = titled || c.title != ""
	}
	if titled {
		t.printRow(pg, titles, widths)
	}
	for _, row := range t.rows {
		t.printRow(pg, row, widths)
	}
}

// widths gives the width of each column, 0 for one that is left out.
func (t *table) widths(pg *page) []int {
	widths := make([]int, len(t.columns))
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], t.width(c.text))
		}
	}
	used, last := len(t.indent), 0
	for i, w := range widths {
		if w > 0 {
			widths[i] = max(w, termtext.Width(t.columns[i].title))
			used += widths[i] + gutter
			last = i
		}
	}
	if over := used - gutter - pg.cols; pg.cols > 0 && over > 0 {
		widths[last] = max(min(8, widths[last]), widths[last]-over)
	}
	return widths
}

// gutter is the space between columns.
const gutter = 2

func (t *table) printRow(pg *page, row []cell, widths []int) {
	pg.out.WriteString(t.indent)
	gap := 0 // written only when something follows it
	for i, c := range row {
		if widths[i] == 0 {
			continue
		}
		shown := c.text
		if pg.cols > 0 {
			shown = termtext.Cut(shown, widths[i])
		}
		space := max(0, widths[i]-t.width(shown))
		switch {
		case shown == "":
			gap += space
		case t.columns[i].right:
			pg.blank(gap + space)
			pg.out.WriteString(pg.paint(c.style, shown))
			gap = 0
		default:
			pg.blank(gap)
			pg.out.WriteString(pg.paint(c.style, shown))
			gap = space
		}
		gap += gutter
	}
	pg.out.WriteByte('\n')
}

// blank writes spaces.
func (pg *page) blank(n int) {
	const spaces = "                                "
	for ; n > len(spaces); n -= len(spaces) {
		pg.out.WriteString(spaces)
	}
	pg.out.WriteString(spaces[:max(0, n)])
}

// width measures text. States begin with a glyph, which takes long to measure,
// and there are few of them.
func (t *table) width(s string) int {
	const short = 24
	if s == "" || s[0] < utf8.RuneSelf || len(s) > short {
		return termtext.Width(s)
	}
	w, ok := t.measured[s]
	if !ok {
		w = termtext.Width(s)
		if t.measured == nil {
			t.measured = map[string]int{}
		}
		t.measured[s] = w
	}
	return w
}
