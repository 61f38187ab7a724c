package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"

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
