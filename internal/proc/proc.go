// Package proc starts processes so that nothing they start can get away. Between a
// program and the commands it runs stands a keeper: a small process of its own that
// adopts whatever the commands leave behind, also what made itself a session of its
// own, and that ends all of it when it is told to or when the program dies. What a
// killed keeper leaves is adopted, and ended, by the program itself.
//
// It needs what Linux offers: child subreapers, process file descriptors and /proc.
// Elsewhere everything says ErrUnsupported, or finds nothing.
package proc

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnsupported says that this system cannot keep processes together.
var ErrUnsupported = errors.New("this system has no child subreaper and no /proc, so processes cannot be kept together here: use Linux")

// ID names a process. When it started tells it from a later one that got the same
// number.
type ID struct {
	PID   int
	Start string
}

// Ancestor is a process that another descends from. The other is apart if what the
// ancestor started on the way to it is in another session: it was kept together with
// whatever else ran there, or adopted.
type Ancestor struct {
	ID
	Apart bool
}

func (id ID) String() string { return fmt.Sprintf("%d-%s", id.PID, id.Start) }

// Command is what a keeper is to run.
type Command struct {
	Line   string   `json:"line,omitempty"` // for the shell
	Args   []string `json:"args,omitempty"` // or a program, by its path, and its arguments
	Dir    string   `json:"dir"`
	Env    []string `json:"env"`
	Input  string   `json:"input,omitempty"` // what it reads from standard input
	Output string   `json:"output"`          // the file that gets what it prints, and is made then
	Limit  int64    `json:"limit"`           // how much of that is kept, besides the end

	// Each gets every line of standard output as it is printed, without those that
	// are longer than lineLimit. It is called by the goroutine that runs the command.
	Each  func(line string) `json:"-"`
	Lines bool              `json:"lines,omitempty"` // there is somebody who wants them
}

// Exit is how a command ended.
type Exit struct {
	Code   int    `json:"code"`             // 128 and the signal's number for one that a signal ended, as shells say it
	Signal string `json:"signal,omitempty"` // the signal's name
	Error  string `json:"error,omitempty"`  // why it could not be started at all
	Tail   string `json:"tail,omitempty"`   // the end of what it printed
	Bytes  int64  `json:"bytes"`            // how much it printed
}

// OK says whether the command did what it was to do.
func (e Exit) OK() bool { return e.Code == 0 && e.Error == "" }

func (e Exit) String() string {
	switch {
	case e.Error != "":
		return e.Error
	case e.Signal != "":
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Options are how a keeper is started.
type Options struct {
	Label     string        // shown in lists of processes
	Heartbeat time.Duration // how often it says that it is alive
	Grace     time.Duration // how long what it keeps may take to end by itself
}
