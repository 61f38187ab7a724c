package proc

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KeepIfAsked makes this process a keeper if it was started as one, and then does
// not return. A program that starts keepers calls it before anything else.
func KeepIfAsked() {
	if len(os.Args) != 4 || os.Args[0] != keeperName {
		return
	}
	heartbeat, err := time.ParseDuration(os.Args[2])
	grace, err2 := time.ParseDuration(os.Args[3])
	if err := errors.Join(err, err2, subreap()); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	k := &keeper{out: json.NewEncoder(os.Stdout), grace: grace, waiting: map[int]chan syscall.WaitStatus{}, started: make(chan struct{}, 1)}
	k.serve(os.Stdin, heartbeat)
	syscall.Exit(0) // there is nothing to write out, and the race detector would take its time
}

// keeper is the process itself.
type keeper struct {
	grace   time.Duration
	started chan struct{}
	printed atomic.Int64

	mu      sync.Mutex // of what follows, and of starting anything
	running bool       // a command that can be stopped
	stops   sync.WaitGroup
	out     *json.Encoder
	waiting map[int]chan syscall.WaitStatus // who waits for the end of what
}

// serve does what it is told until nobody can tell it any more, and ends what is
// left then.
func (k *keeper) serve(in io.Reader, heartbeat time.Duration) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGHUP, unix.SIGPIPE) // not ignored: commands would inherit that
	requests := make(chan request)
	go func() {
		defer close(requests)
		for d := json.NewDecoder(in); ; {
			var r request
			if d.Decode(&r) != nil {
				return
			}
			requests <- r
		}
	}()
	go k.reap()
	beat := time.NewTicker(heartbeat)
	k.say(reply{Ready: true})
	for {
		select {
		case <-ended:
			k.endAll(k.grace)
			return
		case <-beat.C:
			k.say(reply{Printed: k.printed.Load()})
		case r, open := <-requests:
			switch {
			case !open:
				k.endAll(k.grace)
				return
			case r.Stop:
				k.stop()
			case r.Run != nil:
				k.runs(true)
				go func() {
					exit := k.run(r.Run)
					k.runs(false)
					k.stops.Wait() // it would end the next command too
					k.say(reply{Exit: &exit})
				}()
			}
		}
	}
}

func (k *keeper) runs(now bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = now
}

// stop ends the command that runs. One that ended by itself, and that was not heard of
// yet, needs no end.
func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running {
		k.stops.Go(func() { k.endAll(k.grace) })
	}
}

// say tells the program something. Where nobody reads any more, standard input ends
// too, and that is dealt with.
func (k *keeper) say(r reply) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.out.Encode(r)
}

// reap collects whatever ends here, adopted or not.
func (k *keeper) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			<-k.started
			continue
		}
		k.mu.Lock()
		if ended := k.waiting[pid]; err == nil && ended != nil {
			ended <- status
			delete(k.waiting, pid)
		}
		k.mu.Unlock()
	}
}

// run runs one command to its end, and ends what it leaves behind.
func (k *keeper) run(c *Command) Exit {
	out := &capture{path: c.Output, limit: c.Limit, printed: &k.printed}
	ended, err := k.start(c, out)
	if err != nil {
		return out.finish(Exit{Error: err.Error()})
	}
	status := <-ended
	if hasChildren() {
		k.endAll(min(k.grace, time.Second))
	}
	exit := Exit{Code: status.ExitStatus()}
	if status.Signaled() {
		exit.Code, exit.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	return out.finish(exit)
}

// start starts a command in a session of its own.
func (k *keeper) start(c *Command, out *capture) (<-chan syscall.WaitStatus, error) {
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	printed, complained, err := k.outputs(c, out)
	if err != nil {
		feed.Close()
		return nil, err
	}
	defer printed.Close()
	defer complained.Close()
	path, args := "/bin/sh", []string{"sh", "-c", c.Line}
	if len(c.Args) > 0 {
		path, args = c.Args[0], c.Args
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: []uintptr{in.Fd(), printed.Fd(), complained.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		feed.Close()
		if c.Dir != "" {
			if _, serr := os.Stat(c.Dir); serr != nil {
				err = serr
			}
		}
		return nil, err
	}
	go func() {
		_, _ = io.WriteString(feed, c.Input) // a command need not read it
		feed.Close()
	}()
	ended := make(chan syscall.WaitStatus, 1)
	k.waiting[pid] = ended
	select {
	case k.started <- struct{}{}:
	default:
	}
	return ended, nil
}

// outputs gives what a command's standard output and error go to: one pipe, which
// keeps their order, unless somebody wants the lines of the first.
func (k *keeper) outputs(c *Command, out *capture) (printed, complained *os.File, err error) {
	if !c.Lines {
		printed, err = out.pipe(nil)
		return printed, printed, err
	}
	printed, err = out.pipe(func(line string) { k.say(reply{Line: &line}) })
	if err != nil {
		return nil, nil, err
	}
	if complained, err = out.pipe(nil); err != nil {
		printed.Close()
	}
	return printed, complained, err
}

// hasChildren says whether anything is left that was started here.
func hasChildren() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil
}

// endAll ends everything that was started here. What cannot be killed is left to
// whoever adopts it.
func (k *keeper) endAll(grace time.Duration) {
	_ = End(func() []ID { return under(os.Getpid()) }, grace)
}
