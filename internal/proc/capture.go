package proc

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
)

// tailKept is how much of the end of an output is kept beyond its limit, and how
// much of that is told with the exit.
const (
	tailKept = 64 << 10
	tailTold = 4 << 10
)

// capture writes a command's output to a file as it comes. Past the limit only the
// end is kept, in memory until the output is over.
type capture struct {
	file  *os.File
	limit int64
	bytes int64
	last  []byte // the end of everything
	done  chan struct{}
	err   error

	printed *atomic.Int64 // counts what comes
}

func newCapture(path string, limit int64) (*capture, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	return &capture{file: f, limit: limit}, err
}

// pipe gives what the command is to print into.
func (c *capture) pipe() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		defer r.Close()
		if _, err := io.Copy(c, r); c.err == nil {
			c.err = err
		}
	}()
	return w, nil
}

// Write keeps what is to be kept. A full disk costs the output, not the work: it is
// told with the exit.
func (c *capture) Write(p []byte) (int, error) {
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
	if c.done != nil {
		<-c.done
	}
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
	if err := c.file.Close(); c.err == nil {
		c.err = err
	}
	if c.err != nil {
		e.Tail += fmt.Sprintf("\n[the output could not be kept: %v]", c.err)
	}
	return e
}
