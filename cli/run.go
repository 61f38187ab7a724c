// Package cli is the command line: it makes commands, flags, help and the
// reference of the registry's verbs, finds out where the state is and who calls,
// and shows the answers to people and to programs. It has no rules of its own.
//
// Standard output is data: text for people, one JSON document with --json, one
// a line with --jsonl, ids with --quiet. Standard error is talk. Text that came
// from outside never reaches a terminal with its control characters.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
	"cadre/internal/bootclock"
	"cadre/sqlitestore"
)

// Run carries out one command line and gives the exit code. The environment is
// the one passed, in the form of os.Environ; a cancelled context ends what waits.
// It is for a process that ends afterwards: the database may be left open to that.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	p := &program{
		stdin: stdin, stdout: stdout, out: bufio.NewWriterSize(stdout, 32<<10), stderr: stderr, environ: env, env: envMap(env), now: clock,
		open: openState, patience: progressAfter,
	}
	p.runtime = supervisors{p}
	p.lookAround(stdin, stdout, stderr)
	return p.run(ctx, args)
}

// openState opens the store in a folder, which keeps head records in another too where
// one is named. Where that fails there is no store: a nil
// *sqlitestore.Store in the interface would look like one, and be closed.
func openState(dir, beside string) (cadre.Store, error) {
	s, err := sqlitestore.Open(dir, sqlitestore.Brief(), sqlitestore.Beside(beside))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// program is one call of the command line.
type program struct {
	stdin   io.Reader
	stdout  io.Writer // for a door that writes to it by itself
	out     *bufio.Writer
	stderr  io.Writer
	environ []string
	env     map[string]string
	cwd     string
	now     func() cadre.Time
	open    func(dir, beside string) (cadre.Store, error)

	inTerm, outTerm, errTerm bool
	width                    int           // of the terminal on standard output
	patience                 time.Duration // how long something may take before it shows how far it is

	options
	root     *cobra.Command
	commands map[*cobra.Command]*command
	store    cadre.Store
	record   cadre.Store // the same, without Claude Code's files around it
	runtime  coord.Runtime
	borrowed string       // a folder that goes away with the program
	host     string       // what this machine is called in the record; its own name without
	verb     any          // what is carried out
	said     *transcripts // nil where Claude Code's files are left alone
}

// options are the flags that every command has.
type options struct {
	scope, team, as, color string
	json, jsonl, quiet     bool
}

func envMap(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return m
}

// clock gives the wall clock for people and the time since boot for leases.
func clock() cadre.Time {
	boot := bootclock.Now()
	return cadre.Time{Wall: time.Now(), Boot: boot.Boot, Up: boot.Up}
}

// lookAround finds out what the standard streams are and where this runs.
func (p *program) lookAround(stdin io.Reader, stdout, stderr io.Writer) {
	p.inTerm, p.errTerm = isTerminal(stdin), isTerminal(stderr)
	if p.outTerm = isTerminal(stdout); p.outTerm {
		p.width = terminalWidth(stdout, p.env)
	}
	p.cwd, _ = os.Getwd() // without one there is just no folder to be bound to
}

// run carries out a command line and tells what came of it.
func (p *program) run(ctx context.Context, args []string) int {
	err := p.execute(ctx, args)
	if err != nil && !p.json && !p.jsonl {
		p.json = wantsJSON(args) // parsing may have failed before it came to the flag
	}
	code := p.finish(ctx, err)
	if p.borrowed != "" {
		defer os.RemoveAll(p.borrowed)
	}
	if p.said != nil && p.said.index != nil {
		_ = p.said.index.Close() // what it does not keep is read again
	}
	if p.store != nil {
		if err := p.store.Close(); err != nil && code == 0 {
			return p.finish(ctx, err)
		}
	}
	return code
}

// execute parses the command line and runs the command. Only that one gets its
// flags: building those of all would cost more than most commands do.
//
// A panic becomes an error like any other, so that a program that reads the answer
// still gets its one document; where it happened goes to standard error, for
// whoever mends it. The store is then left alone: it may hold its own locks.
func (p *program) execute(ctx context.Context, args []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.store = nil
			fmt.Fprintf(p.stderr, "%s", debug.Stack())
			err = cadre.Fault(fmt.Errorf("panic: %v", r), "report this with the trace", "a mistake in the program")
		}
	}()
	all := needsWholeTree(args)
	p.buildTree(args, all)
	if all {
		p.bindAll()
	} else if cmd, _, err := p.root.Find(args); err == nil {
		p.bind(cmd)
	}
	p.root.SetArgs(args)
	return p.root.ExecuteContext(ctx)
}

// needsWholeTree says whether a command may look at the flags of others.
func needsWholeTree(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return a == "help" || a == "man" || a == cobra.ShellCompRequestCmd || a == cobra.ShellCompNoDescRequestCmd
	})
}

func wantsJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json", "--jsonl", "--json=true", "--jsonl=true":
			return true
		}
	}
	return false
}

// finish writes out what there is, tells an error, and gives the exit code.
func (p *program) finish(ctx context.Context, err error) int {
	if found, ok := errors.AsType[findings](err); ok {
		p.out.Flush()
		return int(found)
	}
	if err == nil {
		err = p.out.Flush()
	}
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = cadre.Fault(nil, "", "interrupted")
	}
	return p.fail(err)
}

// findings is the exit code of a command that did its work, gave its answer, and
// found something wrong.
type findings int

func (findings) Error() string { return "something was found" }
