//go:build unix

// Command floor starts as cadre does, with everything that cadre links, and then
// does only what a durable change cannot do without: it takes a lock, appends
// some bytes and has them synced. Or, to see what a store in SQLite cannot do
// without, it adds a task to a list with SQLite alone.
//
//	floor LOCK FILE BYTES
//	floor LOCK DATABASE LIST EVENT-BYTES TASK-BYTES
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"cadre/bench/alone"
	"cadre/cli"
	"cadre/internal/sqlite"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 && len(args) != 5 { // never so in a benchmark; it keeps what cadre links linked
		return fmt.Errorf("LOCK FILE BYTES are missing: %d", cli.Run(context.Background(), args, os.Stdin, io.Discard, io.Discard, nil))
	}
	lock, err := os.OpenFile(args[0], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if len(args) == 5 {
		return add(args[1], args[2], args[3], args[4])
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, n))
	return errors.Join(err, alone.Sync(f), f.Close())
}

// maxLog is how long the write-ahead log may get, as cadre lets it: the next process
// reads all of it.
const maxLog = 400 << 10

// add adds a task, and leaves the connection to the end of the process unless the log
// has become long, as cadre does.
func add(database, list, event, task string) error {
	var size alone.Sizes
	var err1, err2 error
	size.Event, err1 = strconv.Atoi(event)
	size.Task, err2 = strconv.Atoi(task)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	c, err := sqlite.Open(database, "")
	if err != nil {
		return err
	}
	if err := alone.Add(c, list, size); err != nil {
		return err
	}
	if log, err := os.Stat(database + "-wal"); err != nil || log.Size() < maxLog {
		return err
	}
	return c.Close()
}
