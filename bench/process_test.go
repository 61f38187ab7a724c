//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// home is a folder with everything a program may look for: nothing of whoever
// runs the benchmark is read or written. Cadre leaves Claude Code's files alone
// there, unless it is one withFiles.
type home struct {
	dir string
	env []string
}

func newHome(tb testing.TB, name string) home {
	tb.Helper()
	dir, err := os.MkdirTemp(world.dir, name+"-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	h := home{dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "CADRE_CLAUDE=off", "HOME=" + dir, "CADRE_STATE_DIR=" + filepath.Join(dir, "state"),
		"CLAUDE_CONFIG_DIR=" + filepath.Join(dir, "claude"), "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"),
		"TASKRC=" + filepath.Join(dir, "taskrc"), "TASKDATA=" + filepath.Join(dir, "tasks"),
	}}
	rc := "confirmation=off\nhooks=off\nverbose=nothing\ndata.location=" + filepath.Join(dir, "tasks") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "taskrc"), []byte(rc), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tasks"), 0o700); err != nil {
		tb.Fatal(err)
	}
	return h
}

func (h home) state() string { return filepath.Join(h.dir, "state") }

func (h home) claude() string { return filepath.Join(h.dir, "claude") }

// withFiles is the same home, in which Cadre shares Claude Code's files.
func (h home) withFiles() home {
	h.env = append(slices.Clone(h.env), "CADRE_CLAUDE=on")
	return h
}

func (h home) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	return cmd
}

// run carries out a program whose speed does not matter.
func (h home) run(tb testing.TB, program string, args ...string) string {
	tb.Helper()
	out, err := h.command(program, args...).Output()
	if err != nil {
		tb.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// used is what processes took.
type used struct{ wall, cpu samples }

// contender is a program to start again and again.
type contender struct {
	name string
	home *home                    // where it works; nil: where the race is
	args func(round int) []string // the program first
	used
}

// start runs a contender once, with its output into a pipe.
func (c *contender) start(h home, round int) error {
	if c.home != nil {
		h = *c.home
	}
	args := c.args(round)
	cmd := h.command(args[0], args[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s%s", c.name, err, out.String(), errs.String())
	}
	if round >= 0 {
		c.wall = append(c.wall, took)
		c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return nil
}

// race starts every contender in turn, and goes on from another one each round,
// so that none always follows the same one. The first round does not count.
func race(tb testing.TB, h home, rounds int, all ...*contender) {
	tb.Helper()
	for round := -1; round < rounds; round++ {
		for i := range all {
			if err := all[(i+max(round, 0))%len(all)].start(h, round); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

func fixed(args ...string) func(int) []string { return func(int) []string { return args } }

// rounds is how often something is repeated that takes a list of this size.
func rounds(size int) int {
	n := 41
	if s, err := strconv.Atoi(os.Getenv("CADRE_BENCH_ROUNDS")); err == nil && s > 0 {
		n = s
	}
	switch {
	case size >= 100_000:
		return max(1, n/6)
	case size >= 10_000:
		return max(1, n/2)
	}
	return n
}
