package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pipe carries one message a line. What is no message is answered with an error of the
// protocol, and the connection goes on; the SDK's own transport would end it.
type pipe struct {
	in  *bufio.Reader
	out io.Writer

	answered func() // called when everything is; may be nil

	mu    sync.Mutex
	open  map[jsonrpc.ID]bool // requests that are not answered yet
	going int                 // answers that are on their way
	turn  chan struct{}       // held by whoever writes
	lines chan line
	hung  chan struct{} // closed once the other end says nothing more
	once  sync.Once
	over  chan struct{}
}

// patience is how long a client that hung up may take to read an answer. One that does
// not read either is gone.
const patience = 3 * time.Second

// line is what was read: a message, or why there is none any more.
type line struct {
	message jsonrpc.Message
	err     error
}

var (
	_ mcp.Transport  = (*pipe)(nil)
	_ mcp.Connection = (*pipe)(nil)
)

func newPipe(in io.Reader, out io.Writer) *pipe {
	return &pipe{in: bufio.NewReaderSize(in, 64<<10), out: out, open: map[jsonrpc.ID]bool{}, turn: make(chan struct{}, 1), lines: make(chan line), hung: make(chan struct{}), over: make(chan struct{})}
}

// Connect begins to read.
func (p *pipe) Connect(context.Context) (mcp.Connection, error) {
	go p.listen()
	return p, nil
}

// listen reads until the other end hangs up; what was asked just before may still be
// answered. A read cannot be interrupted, so this may outlive the connection, until the
// process ends.
func (p *pipe) listen() {
	for {
		l := line{}
		if l.message, l.err = p.next(); l.err != nil {
			close(p.hung)
			settle(p.unanswered)
		}
		select {
		case p.lines <- l:
		case <-p.over:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// next gives the next line that is a message.
func (p *pipe) next() (jsonrpc.Message, error) {
	for {
		data, long, err := p.readLine()
		switch {
		case long:
			err = p.complain(nil, jsonrpc.CodeInvalidRequest, "a request is longer than %d bytes", maxRequest)
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(data)) == 0:
		case !json.Valid(data):
			err = p.complain(nil, jsonrpc.CodeParseError, "a line is no JSON")
		default:
			message, wrong := jsonrpc.DecodeMessage(data)
			switch {
			case wrong != nil:
				err = p.complain(idIn(data), jsonrpc.CodeInvalidRequest, "a line is no request: %v", wrong)
			case !p.opens(message): // the SDK would say nothing
				err = p.complain(nil, jsonrpc.CodeInvalidRequest, "a request has the id of one that is not answered yet")
			default:
				return message, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// opens says whether a message may pass: its id is in no use.
func (p *pipe) opens(message jsonrpc.Message) bool {
	r, ok := message.(*jsonrpc.Request)
	if !ok || !r.IsCall() {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[r.ID] {
		return false
	}
	p.open[r.ID] = true
	return true
}

// unanswered says whether a request has no answer yet.
func (p *pipe) unanswered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)+p.going > 0
}

// readLine reads a line, and of one that is too long only its end.
func (p *pipe) readLine() (data []byte, long bool, err error) {
	for {
		part, err := p.in.ReadSlice('\n')
		if long = long || len(data)+len(part) > maxRequest; long {
			data = nil
		} else {
			data = append(data, part...)
		}
		switch {
		case errors.Is(err, io.EOF) && len(data) > 0:
			return data, long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return data, long, err
		}
	}
}

// idIn is the id of a request that is wrong otherwise.
func idIn(data []byte) json.RawMessage {
	var r struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(data, &r) // then it has none
	return r.ID
}

// complain answers what is no request. Nothing is read meanwhile, not even that the
// client hung up: it has to read the answer soon.
func (p *pipe) complain(id json.RawMessage, code int, format string, args ...any) error {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return p.send(mustJSON(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": fmt.Sprintf(format, args...)}}), now)
}

// now is a moment that is there already.
var now = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// send writes a line. A write cannot be interrupted either: one to a client that does not
// read may outlive the connection, until the process ends. From a moment on the client
// is waited for no longer than patience, and the connection ends.
func (p *pipe) send(data []byte, from <-chan struct{}) error {
	written := make(chan error, 1)
	go func() {
		select {
		case p.turn <- struct{}{}:
		case <-p.over:
			return
		}
		_, err := p.out.Write(append(data, '\n'))
		<-p.turn
		written <- err
	}()
	var late <-chan time.Time
	for {
		select {
		case err := <-written:
			return err
		case <-p.over:
			return io.ErrClosedPipe
		case <-from:
			from, late = nil, time.After(patience)
		case <-late:
			return errors.Join(io.ErrClosedPipe, p.Close())
		}
	}
}

// Read gives the next message.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case l := <-p.lines:
		return l.message, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.over:
		return nil, io.EOF
	}
}

// Write sends a message.
func (p *pipe) Write(_ context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	r, answers := message.(*jsonrpc.Response)
	if answers { // whoever has read it may use the id again
		p.mu.Lock()
		delete(p.open, r.ID)
		p.going++
		p.mu.Unlock()
	}
	err = p.send(data, p.hung)
	all := false
	if answers {
		p.mu.Lock()
		p.going--
		all = len(p.open)+p.going == 0
		p.mu.Unlock()
	}
	if err == nil && all && p.answered != nil {
		p.answered()
	}
	return err
}

// Close ends the connection on this side.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.over) })
	return nil
}

// SessionID is empty: a pipe has one session.
func (p *pipe) SessionID() string { return "" }
