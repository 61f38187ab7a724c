// Command cadre lets agents and people work as teams on shared task lists.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"cadre/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
