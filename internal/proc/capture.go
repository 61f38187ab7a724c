package proc

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

// tailKept is how much of the end of an output is kept beyond its limit, and how
// much of that is told with the exit.
const (
	tailKept = 64 << 10
	tailTold = 4 << 10
)

// capture writes a command's output to a file as it comes; one that prints nothing
// has none. Past the limit only the end is kept, in memory until the output is over.
type capture struct {
	path  string
	limit int64
	file  *os.File // from the first output on
	pipes sync.WaitGroup

	mu    sync.Mutex
	bytes int64
	last  []byte // the end of everything
	err   error

	printed *atomic.Int64 // counts what comes
}

// pipe gives what the command is to print into. Whoever wants its lines gets them.
func (c *capture) pipe(each func(line string)) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var to io.Writer = c
	cut := &cutter{each: each}
	if each != nil {
		to = io.MultiWriter(c, cut)
	}
	c.pipes.Go(func() {
		defer r.Close()
		_, err := io.Copy(to, r)
		cut.flush()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = err
		}
	})
	return w, nil
}

// lineLimit is how long a line may be that is handed on.
const lineLimit = 4 << 20

// cutter cuts what it is given into lines.
type cutter struct {
	each func(string)
	line []byte
	long bool // this line is past the limit
}

func (c *cutter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte{'\n'})
		if c.long = c.long || len(c.line)+len(part) > lineLimit; c.long {
			c.line = nil
		} else {
			c.line = append(c.line, part...)
		}
		if ended {
			c.flush()
		}
		rest = after
	}
	return len(p), nil
}

// flush hands on what there is of a line.
func (c *cutter) flush() {
	if len(c.line) > 0 {
		c.each(string(c.line))
	}
	c.line, c.long = c.line[:0], false
}

// Write keeps what is to be kept. A full disk costs the output, not the work: it is
// told with the exit.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil && c.err == nil {
		c.file, c.err = os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	if room := c.limit - c.bytes; room > 0 && c.err == nil {
		_, c.err = c.file.Write(p[:min(room, int64(len(p)))])
	}
	c.bytes += int64(len(p))
	c.printed.Add(int64(len(p)))
	if c.last = append(c.last, p...); len(c.last) > 2*tailKept {
		c.last = append([]byte(nil), c.last[len(c.last)-tailKept:]...)
	}
	return len(p), nil
}

// finish waits for the rest of the output, writes its end, and says how it was.
func (c *capture) finish(e Exit) Exit {
	c.pipes.Wait()
	c.last = c.last[max(0, len(c.last)-tailKept):]
	if over := c.bytes - c.limit; over > 0 && c.err == nil {
		last := c.last[max(0, int64(len(c.last))-over):]
		if left := over - int64(len(last)); left > 0 {
			_, c.err = fmt.Fprintf(c.file, "\n[%d bytes left out]\n", left)
		}
		if c.err == nil {
			_, c.err = c.file.Write(last)
		}
	}
	e.Bytes, e.Tail = c.bytes, strings.ToValidUTF8(string(c.last[max(0, len(c.last)-tailTold):]), "�")
	if c.file != nil {
		c.err = cmp.Or(c.err, c.file.Close())
	}
	if c.err != nil {
		e.Tail += fmt.Sprintf("\n[the output could not be kept: %v]", c.err)
	}
	return e
}
