//go:build unix

// Command floor starts as cadre does, with everything that cadre links, and then
// does only what a durable change cannot do without: it takes a lock, appends
// some bytes and has them synced.
//
//	floor LOCK FILE BYTES
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"cadre/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 { // never so in a benchmark; it keeps what cadre links linked
		return fmt.Errorf("LOCK FILE BYTES are missing: %d", cli.Run(context.Background(), args, os.Stdin, io.Discard, io.Discard, nil))
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(args[0], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, n))
	return errors.Join(err, sync(f), f.Close())
}
