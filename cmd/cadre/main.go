// A short command has no use for knowing how many processors its container may use,
// and finding out is a fiftieth of its time.

//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command cadre lets agents and people work as teams on shared task lists.
package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"cadre/cli"
	"cadre/internal/proc"
)

func main() {
	proc.KeepIfAsked()
	ctx := &interruptible{Context: context.Background()}
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// interruptible is a context that an interrupt ends. It listens for one from when
// it is first asked to: a command that waits for nothing is over before, and if
// not it ends as any program does. Listening would be a twentieth of its time.
type interruptible struct {
	context.Context
	once      sync.Once
	listening atomic.Pointer[context.Context]
}

func (c *interruptible) inner() context.Context {
	if ctx := c.listening.Load(); ctx != nil {
		return *ctx
	}
	return c.Context
}

// Done listens from now on.
func (c *interruptible) Done() <-chan struct{} {
	c.once.Do(func() {
		ctx, _ := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM) // until the process ends
		c.listening.Store(&ctx)
	})
	return c.inner().Done()
}

func (c *interruptible) Err() error        { return c.inner().Err() }
func (c *interruptible) Value(key any) any { return c.inner().Value(key) }
