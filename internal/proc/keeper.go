package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// keeperName is what a keeper is called in place of the program's own name.
const keeperName = "cadre-keeper"

// request is what a keeper is told, one JSON document a line.
type request struct {
	Run  *Command `json:"run,omitempty"`
	Stop bool     `json:"stop,omitempty"` // end what runs
}

// reply is what a keeper says, in the same form. One that is neither ready nor a
// line nor an exit is a heartbeat.
type reply struct {
	Ready   bool    `json:"ready,omitempty"`
	Line    *string `json:"line,omitempty"`
	Exit    *Exit   `json:"exit,omitempty"`
	Printed int64   `json:"printed,omitempty"` // by all commands so far, in bytes
}

// Keepers are the keepers that this process started. There is one of it in a
// process, which adopts what a killed keeper leaves. Whatever else the process
// starts must stay in its session.
type Keepers struct {
	mu   sync.Mutex
	pids map[int]bool
}

// NewKeepers makes this process fit to start keepers.
func NewKeepers() (*Keepers, error) {
	return &Keepers{pids: map[int]bool{}}, subreap()
}

// Keeper is one of them. Its methods may be called from any goroutine; one command
// runs at a time.
type Keeper struct {
	ID ID

	all   *Keepers
	cmd   *exec.Cmd
	grace time.Duration
	mu    sync.Mutex // of in
	in    io.WriteCloser
	turn  chan struct{} // whoever runs a command has it
	lines chan string
	exits chan Exit
	beats chan struct{}
	done  chan struct{}
	why   string

	printed atomic.Int64
}

// readyWithin is how long a keeper may take to begin.
const readyWithin = 20 * time.Second

// Start starts a keeper and waits until it is ready.
func (all *Keepers) Start(o Options) (*Keeper, error) {
	k := &Keeper{
		all: all, grace: o.Grace, turn: make(chan struct{}, 1), lines: make(chan string), exits: make(chan Exit, 1), beats: make(chan struct{}, 1), done: make(chan struct{}),
		cmd: &exec.Cmd{
			Path: "/proc/self/exe", Args: []string{keeperName, o.Label, o.Heartbeat.String(), o.Grace.String()},
			Env: []string{}, SysProcAttr: OwnSession(), Stderr: os.Stderr,
		},
	}
	var err error
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	all.mu.Lock()
	err = k.cmd.Start()
	if err == nil {
		all.pids[k.cmd.Process.Pid] = true
	}
	all.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("starting a keeper: %w", err)
	}
	k.ID, err = Of(k.cmd.Process.Pid)
	ready := make(chan struct{})
	go k.listen(out, ready)
	if err != nil {
		k.End()
		return nil, err
	}
	select {
	case <-ready:
		return k, nil
	case <-k.done:
		return nil, fmt.Errorf("the keeper ended before it began: %s", k.why)
	case <-time.After(readyWithin):
		k.End()
		return nil, fmt.Errorf("the keeper was not ready after %s", readyWithin)
	}
}

// listen hears what the keeper says until it has ended, and then ends what it left.
func (k *Keeper) listen(out io.Reader, ready chan<- struct{}) {
	defer close(k.done)
	for d := json.NewDecoder(bufio.NewReader(out)); ; {
		var r reply
		if d.Decode(&r) != nil {
			break
		}
		switch {
		case r.Ready:
			close(ready)
		case r.Line != nil:
			k.lines <- *r.Line // Run is there until the exit
		case r.Exit != nil:
			k.exits <- *r.Exit
		default:
			k.printed.Store(r.Printed)
		}
		select {
		case k.beats <- struct{}{}: // whatever it says, it is alive
		default:
		}
	}
	k.why = "it ended"
	if err := k.cmd.Wait(); err != nil {
		k.why = err.Error()
	}
	if err := k.all.endAdopted(k.cmd.Process.Pid, min(k.grace, orphanGrace)); err != nil {
		k.why += "; " + err.Error()
	}
}

// orphanGrace is how long what a dead keeper left may take to end by itself: whoever
// waits for it should hear of the death soon.
const orphanGrace = 300 * time.Millisecond

// endAdopted forgets a keeper that has ended, and ends what keepers left that did not
// end in peace. Everything that a keeper starts is in another session than this
// process; what lives in one, is a child of this process and is no keeper was adopted.
func (all *Keepers) endAdopted(pid int, grace time.Duration) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.pids, pid)
	return End(func() []ID { return adopted(all.pids) }, grace)
}

// Run runs a command and waits for its end. When the context ends, so do the
// command and all it started.
func (k *Keeper) Run(ctx context.Context, c Command) (Exit, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-k.done:
		return Exit{}, k.gone()
	}
	c.Lines = c.Each != nil
	if err := k.tell(request{Run: &c}); err != nil {
		return Exit{}, err
	}
	stop := ctx.Done()
	for {
		select {
		case line := <-k.lines:
			c.Each(line)
		case exit := <-k.exits:
			return exit, nil
		case <-k.done:
			return Exit{}, k.gone()
		case <-stop:
			stop = nil
			_ = k.tell(request{Stop: true}) // one that does not listen is about to end
		}
	}
}

func (k *Keeper) tell(r request) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := json.NewEncoder(k.in).Encode(r); err != nil {
		return fmt.Errorf("the keeper does not listen any more: %w", err)
	}
	return nil
}

func (k *Keeper) gone() error { return errors.New("the keeper has ended: " + k.why) }

// Beats says that the keeper was alive a moment ago, each time that it says so.
func (k *Keeper) Beats() <-chan struct{} { return k.beats }

// Progress is how much its commands had printed, in bytes, when it was last heard of.
func (k *Keeper) Progress() int64 { return k.printed.Load() }

// Done is closed once the keeper and everything it kept has ended.
func (k *Keeper) Done() <-chan struct{} { return k.done }

// Why says how the keeper ended, once it has.
func (k *Keeper) Why() string { return k.why }

// End ends the keeper and everything it keeps, and returns when nothing is left: what
// does not end within the grace time is killed, the keeper too.
func (k *Keeper) End() {
	k.mu.Lock()
	_ = k.in.Close() // twice is no harm
	k.mu.Unlock()
	select {
	case <-k.done:
	case <-time.After(k.grace + time.Second):
		_ = k.cmd.Process.Kill()
		<-k.done
	}
}
