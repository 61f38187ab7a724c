package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"cadre"
)

// maxImportLine is how long a line may be without its history. Whatever an export
// writes of a task must come in again: every field at its limit, a good number of
// the longest comments, and all of it escaped, which makes six bytes of one.
const maxImportLine = 6 * (2*cadre.MaxDescription + 4*cadre.MaxMetadata + (2*1000+cadre.MaxLabels)*4096 + 256*cadre.MaxComment)

var errLineTooLong = errors.New("the line is too long")

// lineReader gives the lines of a file without the value of their "history" member:
// an export may have it, an import has no use for it, and it may be longer than
// everything else together. It never holds more of a line than limit bytes.
type lineReader struct {
	in    *bufio.Reader
	limit int

	line    []byte
	key     []byte // of the outermost object, as far as it was read
	depth   int    // of objects and lists
	text    bool   // in a string
	escaped bool   // after a backslash in it
	isKey   bool   // the string, or the next one, is a key of the outermost object
	skip    bool   // in the value that is left out
	odd     string // a key that is none of a task's, and nearly one
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), limit: limit}
}

// next gives a line, until the next call, and io.EOF after the last.
func (r *lineReader) next() ([]byte, error) {
	*r = lineReader{in: r.in, limit: r.limit, line: r.line[:0], key: r.key[:0]}
	for n := 0; ; n++ {
		c, err := r.in.ReadByte()
		switch {
		case err != nil && (err != io.EOF || n == 0):
			return nil, err
		case err != nil || c == '\n':
			return bytes.TrimSpace(r.line), nil
		}
		if r.take(c); len(r.line) > r.limit {
			return nil, errLineTooLong
		}
	}
}

// take follows the structure of the line far enough to know where the history
// begins and ends. What is no JSON is kept: whoever decodes it says so.
func (r *lineReader) take(c byte) {
	if r.text {
		r.takeText(c)
		return
	}
	switch c {
	case '"':
		r.text = true
		r.key = r.key[:0]
	case '{', '[':
		r.depth++
		r.isKey = r.depth == 1 && c == '{'
	case '}', ']':
		r.depth--
		r.skip = r.skip && r.depth >= 1
	case ',':
		if r.depth == 1 {
			r.isKey, r.skip = true, false
		}
	case ':':
		if r.depth == 1 && r.isKey {
			r.isKey = false
			if r.odd == "" && misspelt(string(r.key)) != "" {
				r.odd = string(r.key)
			}
			if string(r.key) == "history" {
				r.line = append(r.line, ":null"...)
				r.skip = true
			}
		}
	}
	r.keep(c)
}

func (r *lineReader) takeText(c byte) {
	switch {
	case r.escaped:
		r.escaped = false
	case c == '\\':
		r.escaped = true
	case c == '"':
		r.text = false
	}
	if r.text && r.isKey && r.depth == 1 && len(r.key) < 64 {
		r.key = append(r.key, c)
	}
	r.keep(c)
}

func (r *lineReader) keep(c byte) {
	if !r.skip {
		r.line = append(r.line, c)
	}
}

// taskNames are the names that a line may have: those that an import reads, and those
// of a task's JSON that it has no use for.
var taskNames = sync.OnceValue(func() []string {
	var names []string
	for _, t := range []reflect.Type{reflect.TypeFor[cadre.ExportLine](), reflect.TypeFor[cadre.TaskView]()} {
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
})

// misspelt gives the name that a key was most likely meant to be, empty for one that is
// right, or that has nothing to do with a task. What it says would be lost.
func misspelt(key string) string {
	if len(key) < 4 || slices.Contains(taskNames(), key) { // mostly
		return ""
	}
	if slices.ContainsFunc(taskNames(), func(name string) bool { return strings.EqualFold(name, key) }) {
		return ""
	}
	return nearest(key, taskNames())
}
