package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	KeepIfAsked()
	os.Exit(m.Run())
}

// keepers is the one of this process.
var keepers = sync.OnceValues(NewKeepers)

// start starts a keeper that ends with the test.
func start(t *testing.T, grace time.Duration) *Keeper {
	t.Helper()
	all, err := keepers()
	if err != nil {
		t.Fatal(err)
	}
	k, err := all.Start(Options{Label: t.Name(), Heartbeat: 20 * time.Millisecond, Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.End)
	return k
}

// line is a command line in a folder of its own, with a mark that all it starts has.
func line(t *testing.T, text string) Command {
	dir := t.TempDir()
	return Command{Line: text, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), mark(t)}, Output: filepath.Join(dir, "output"), Limit: 1 << 20}
}

func mark(t *testing.T) string { return "MARK=" + t.Name() }

func run(t *testing.T, k *Keeper, c Command) Exit {
	t.Helper()
	exit, err := k.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

// waitFor waits until something is so.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestRunTellsHowItEnded(t *testing.T) {
	k := start(t, time.Second)
	for text, want := range map[string]Exit{
		"echo hello":                {Tail: "hello\n", Bytes: 6},
		"echo no >&2; exit 3":       {Code: 3, Tail: "no\n", Bytes: 3},
		"kill -9 $$":                {Code: 137, Signal: "SIGKILL"},
		"cat":                       {Tail: "from outside", Bytes: 12},
		"yes | head -n 1":           {Tail: "y\n", Bytes: 2},
		"echo \"$HOME${MARK%%/*}\"": {Tail: t.Name() + "\n", Bytes: int64(len(t.Name()) + 1)},
	} {
		c := line(t, text)
		c.Input = "from outside"
		if got := run(t, k, c); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		data, err := os.ReadFile(c.Output)
		if string(data) != want.Tail || (err != nil) != (want.Tail == "") {
			t.Errorf("%s: kept %q, %v", text, data, err)
		}
	}
	c := line(t, "true")
	c.Dir = filepath.Join(c.Dir, "missing")
	if got := run(t, k, c); !strings.Contains(got.Error, "missing") || got.OK() {
		t.Errorf("in a folder that is not there: %+v", got)
	}
	c = line(t, "echo hello")
	c.Output = filepath.Join(c.Dir, "missing", "output")
	if got := run(t, k, c); !got.OK() || !strings.HasPrefix(got.Tail, "hello\n") || !strings.Contains(got.Tail, "could not be kept") {
		t.Errorf("with nowhere to print: %+v", got)
	}
}

func TestMuchOutputIsBounded(t *testing.T) {
	k := start(t, time.Second)
	c := line(t, "yes 0123456 | head -c 50000000; echo the end")
	c.Limit = 100_000
	got := run(t, k, c)
	if want := int64(50_000_008); got.Bytes != want || !strings.HasSuffix(got.Tail, "the end\n") || len(got.Tail) > tailTold {
		t.Errorf("%d bytes, want %d; the tail has %d and ends in %q", got.Bytes, want, len(got.Tail), got.Tail[max(0, len(got.Tail)-20):])
	}
	data, err := os.ReadFile(c.Output)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 100_000+tailKept+100 || !bytes.Contains(data, []byte("bytes left out]")) || !bytes.HasSuffix(data, []byte("the end\n")) {
		t.Errorf("%d bytes are kept, ending in %q", len(data), data[len(data)-20:])
	}
}

func TestOutputJustPastTheLimitIsWhole(t *testing.T) {
	k := start(t, time.Second)
	c := line(t, "printf 0123456789")
	c.Limit = 4
	run(t, k, c)
	if data, err := os.ReadFile(c.Output); string(data) != "0123456789" {
		t.Errorf("kept %q, %v", data, err)
	}
}

func TestAFullDiskCostsTheOutputOnly(t *testing.T) {
	k := start(t, time.Second)
	c := line(t, "echo hello")
	c.Output = "/dev/full"
	if got := run(t, k, c); got.Code != 0 || !strings.Contains(got.Tail, "could not be kept") {
		t.Errorf("%+v", got)
	}
}

// children is a command that starts 200 that ignore being asked to end, half of them
// in sessions of their own, whose parents are gone.
const children = `for i in $(seq 100); do
  (trap '' TERM; exec sleep 1000) &
  (setsid sh -c 'trap "" TERM; exec sleep 1000' & )
done
`

func TestNothingOutlivesItsKeeper(t *testing.T) {
	k := start(t, 200*time.Millisecond)
	c := line(t, children+"wait")
	well := make(chan bool, 1)
	go func() { exit, err := k.Run(t.Context(), c); well <- err == nil && exit.OK() }()
	waitFor(t, "200 children", func() bool { return len(Marked(mark(t))) >= 200 })
	begun := time.Now()
	k.End()
	if left := Marked(mark(t)); len(left) > 0 {
		t.Errorf("%d are left", len(left))
	}
	t.Logf("200 children ended in %s", time.Since(begun))
	if <-well {
		t.Error("a command whose keeper ended is told to have ended well")
	}
}

func TestNothingOutlivesAKilledKeeper(t *testing.T) {
	k := start(t, 200*time.Millisecond)
	c := line(t, children+"wait")
	well := make(chan bool, 1)
	go func() { exit, err := k.Run(t.Context(), c); well <- err == nil && exit.OK() }()
	waitFor(t, "200 children", func() bool { return len(Marked(mark(t))) >= 200 })
	begun := time.Now()
	k.ID.signal(unix.SIGKILL)
	<-k.Done()
	t.Logf("200 children ended in %s", time.Since(begun))
	if left := Marked(mark(t)); len(left) > 0 {
		t.Errorf("%d are left", len(left))
	}
	if <-well || !strings.Contains(k.Why(), "killed") {
		t.Errorf("the command is told to have ended well, or the keeper without reason: %q", k.Why())
	}
	for _, s := range table() {
		if s.parent == os.Getpid() && s.zombie {
			t.Errorf("%s was adopted and not collected", s.ID)
		}
	}
}

func TestWhatACommandLeavesEndsWithIt(t *testing.T) {
	k := start(t, 200*time.Millisecond)
	run(t, k, line(t, children))
	if left := Marked(mark(t)); len(left) > 0 {
		t.Errorf("%d are left", len(left))
	}
	if got := run(t, k, line(t, "echo again")); got.Tail != "again\n" {
		t.Errorf("the next command: %+v", got)
	}
	for _, s := range table() {
		if s.parent == k.ID.PID {
			t.Errorf("%s was not collected", s.ID)
		}
	}
}

func TestACancelledCommandEnds(t *testing.T) {
	k := start(t, 100*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	c := line(t, "trap '' TERM; touch running; while :; do sleep 1; done")
	time.AfterFunc(time.Minute, cancel)
	go func() {
		waitFor(t, "the command", func() bool { _, err := os.Stat(filepath.Join(c.Dir, "running")); return err == nil })
		cancel()
	}()
	exit, err := k.Run(ctx, c)
	if err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", exit, err)
	}
	if got := run(t, k, line(t, "echo again")); got.Tail != "again\n" {
		t.Errorf("the next command: %+v", got)
	}
}

func TestAStoppedKeeperIsEnded(t *testing.T) {
	k := start(t, 100*time.Millisecond)
	<-k.Beats()
	k.ID.signal(unix.SIGSTOP)
	waitFor(t, "silence", func() bool {
		select {
		case <-k.Beats():
			return false
		case <-time.After(200 * time.Millisecond):
			return true
		}
	})
	k.End()
	if k.ID.Alive() {
		t.Error("it is still there")
	}
	if _, err := k.Run(t.Context(), line(t, "true")); err == nil {
		t.Error("a keeper that has ended runs a command")
	}
}

// TestAKilledProgramLeavesNothing starts this test binary as a program with a keeper
// and kills it: the keeper notices and ends what it keeps.
func TestAKilledProgramLeavesNothing(t *testing.T) {
	if dir := os.Getenv("PROC_PROGRAM"); dir != "" {
		k := start(t, 100*time.Millisecond)
		c := line(t, children+"wait")
		c.Env = append(c.Env, "PROGRAM="+dir)
		_, err := k.Run(t.Context(), c)
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledProgramLeavesNothing$")
	cmd.Env = append(os.Environ(), "PROC_PROGRAM="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "200 children", func() bool { return len(Marked("PROGRAM="+dir)) >= 200 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	waitFor(t, "the end of all", func() bool { return len(Marked("PROGRAM="+dir)) == 0 })
}

func TestALaterProcessOfTheSameNumberIsAnother(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	now, err := Of(cmd.Process.Pid)
	if err != nil || !now.Alive() {
		t.Fatalf("%s, %v", now, err)
	}
	boot, ticks, _ := strings.Cut(now.Start, "-")
	n, err := strconv.Atoi(ticks)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []ID{{now.PID, fmt.Sprintf("%s-%d", boot, n-1)}, {now.PID, "anotherb-" + ticks}} {
		if before.Alive() {
			t.Errorf("%s is taken for %s", now, before)
		}
		before.signal(unix.SIGKILL)
	}
	time.Sleep(20 * time.Millisecond)
	if !now.Alive() {
		t.Fatal("a signal for an earlier process of that number arrived")
	}
	now.signal(unix.SIGKILL)
	waitFor(t, "its end", func() bool { return !now.Alive() }) // a zombie until it is waited for
	_ = cmd.Wait()
	if _, err := Of(now.PID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Of() error = %v, want %v", err, fs.ErrNotExist)
	}
}

func TestAncestorsBeginWithTheParent(t *testing.T) {
	parent, err := Of(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	if all := Ancestors(); len(all) == 0 || all[0].ID != parent {
		t.Errorf("%v, want %s first", all, parent)
	}
}

func TestANameCannotForgeALine(t *testing.T) {
	got, err := parseStat(7, []byte("7 (a) Z 1 2 3 (b)) S 41 42 43 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 0"))
	if err != nil || got.parent != 41 || got.session != 43 || got.zombie || !strings.HasSuffix(got.Start, "-99") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseStat(7, []byte("7 (a) S 1")); err == nil {
		t.Error("a line that is cut off is read")
	}
}

// A command may end by itself in the moment in which it is cancelled. What comes after
// it has nothing to do with that.
func TestACancelledCommandDoesNotEndTheNext(t *testing.T) {
	k := start(t, 100*time.Millisecond)
	for i := range 80 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i%40)*100*time.Microsecond, cancel)
		if _, err := k.Run(ctx, line(t, "sleep 0.002")); err != nil {
			t.Fatal(err)
		}
		cancel()
		if exit := run(t, k, line(t, "sleep 0.001")); !exit.OK() {
			t.Fatalf("round %d: the next command: %+v", i, exit)
		}
	}
}

func TestLinesAreHandedOnAsTheyCome(t *testing.T) {
	k := start(t, time.Second)
	c := line(t, "")
	c.Args = []string{"/bin/sh", "-c", `echo "$0"; echo aside >&2; echo; head -c 5000000 /dev/zero; printf '\n\377\nthe end'`, "it's $HOME"}
	var got []string
	c.Each = func(line string) { got = append(got, line) }
	exit := run(t, k, c)
	if want := []string{"it's $HOME", "\ufffd", "the end"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if kept, err := os.ReadFile(c.Output); err != nil || !exit.OK() || !bytes.Contains(kept, []byte("aside\n")) {
		t.Errorf("%v, %v: standard error is not kept", exit, err)
	}
}
