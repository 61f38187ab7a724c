package soak_test

import (
	"bytes"
	"context"
	"debug/elf"
	le "encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/internal/bootclock"
	"cadre/sqlitestore"
)

// TestSoakClockOfProcesses gives the same commands to two machines, each command a
// process of the built program. On one every process has a wall clock of its own, an
// hour ahead, an hour back, or right. What is answered must be the same, and so must
// the order of everything at the end. The time since boot is the machine's own for
// both: what must run out is waited for.
//
// The system has no such clock to give: a time namespace moves only the others, and a
// static program loads no library in between. So the code that the kernel lends each
// process for reading clocks is replaced before its first instruction.
func TestSoakClockOfProcesses(t *testing.T) {
	t.Parallel()
	commands := count(t, "commands in processes whose clock is wrong", 60, 600)
	seed := rand.Uint64()
	steady, wrong := newOffset(t, seed, false), newOffset(t, seed, true)
	for i := range commands {
		if one, two := steady.step(), wrong.step(); one != two {
			t.Fatalf("seed %d, command %d: with the right clock\n%s\nwith a wrong one\n%s", seed, i, one, two)
		}
	}
	one, two := steady.everything(), wrong.everything()
	if one != two {
		t.Fatalf("seed %d: with the right clock there is\n%s\nwith a wrong one\n%s", seed, one, two)
	}
	if steady.backward() != 0 {
		t.Error("the clock went back on the machine on which it is right")
	}
	back := wrong.backward()
	t.Logf("%d events are older than the one before by their times; done: %v; no answer and no order changed", back, wrong.done)
	if back == 0 {
		t.Error("the clock was never wrong")
	}
	steady.audited()
	wrong.audited()
}

// offset is a machine whose processes have a wrong clock.
type offset struct {
	*machine
	rand  *rand.Rand
	wrong bool
	steps int
	done  map[string]int // how often a command was done
}

func newOffset(t *testing.T, seed uint64, wrong bool) *offset {
	t.Helper()
	o := &offset{machine: newMachine(t), rand: rand.New(rand.NewPCG(seed, 2)), wrong: wrong, done: map[string]int{}}
	o.do("team", "create", "docs")
	o.do("team", "policy", "question", "deny", "--after", "8000h") // a deadline is a time of day, for people
	for _, name := range []string{"ann", "ben"} {
		o.do("team", "join", "docs", "--name", name)
		o.do("task", "add", "of "+name, "--as", name)
	}
	return o
}

// step is the next of a round of commands, with random parts.
func (o *offset) step() string {
	r := o.rand
	who, id := []string{"ann", "ben"}[r.IntN(2)], fmt.Sprint(1+r.IntN(8))
	o.steps++
	switch o.steps % 12 {
	case 1, 2:
		return o.do("task", "add", fmt.Sprint("task ", r.IntN(1000)), "--as", who)
	case 3, 9:
		return o.do("task", "claim", id, "--as", who)
	case 4:
		return o.leased("ann", time.Millisecond)
	case 5:
		return o.leased("ben", 50*time.Minute) // who holds one lease holds all on it, for the longest
	case 6:
		return o.do("task", "done", id, "--as", who)
	case 7:
		return o.do("task", "release", id, "--as", who)
	case 8:
		return o.do("msg", "send", []string{"ann", "ben", "team-lead"}[r.IntN(3)], fmt.Sprint("text ", r.IntN(1000)), "--as", who)
	case 10:
		return o.do("msg", "inbox", "--as", who)
	case 11:
		first := o.do("ask", "for", "question", fmt.Sprint("is it ", r.IntN(1000), "?"), "--as", who)
		second := o.do("ask", "for", "question", fmt.Sprint("or is it ", r.IntN(1000), "?"), "--as", who)
		return first + second + o.do("ask", "answer", askID.FindStringSubmatch(second)[1], "it is")
	}
	return o.do("log")
}

// leased has the runtime's part claim a new task for a time, which no command can say, and
// another member claim it after that: a lease that is over gives it up, whatever the
// time of day, and one that is not does not.
func (o *offset) leased(who string, lease time.Duration) string {
	o.t.Helper()
	id := cadre.TaskID(o.must("task", "add", "for "+who))
	store, err := sqlitestore.Open(o.state)
	if err != nil {
		o.t.Fatal(err)
	}
	now := func() cadre.Time {
		up := bootclock.Now()
		return cadre.Time{Wall: time.Now(), Boot: up.Boot, Up: up.Up}
	}
	s := &coord.Session{Coord: &coord.Coord{Store: store, Now: now}, Actor: as(who), Door: "test", Scope: "docs"}
	_, err = s.Do(context.Background(), "task claim", &cadre.TaskClaim{ID: id, Lease: lease})
	if err := errors.Join(err, store.Close()); err != nil {
		o.t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
	other := map[string]string{"ann": "ben", "ben": "ann"}[who]
	out := o.do("task", "claim", string(id), "--as", other)
	if lost := strings.Contains(out, ": exit 0 "); lost != (lease < time.Second) {
		o.t.Errorf("%s has task %s for %s, and %s claims it: %s", who, id, lease, other, out)
	}
	return out
}

// do runs a command under a clock and gives its answer without times.
func (o *offset) do(args ...string) string {
	o.t.Helper()
	hours := o.rand.IntN(3) - 1
	if !o.wrong {
		hours = 0
	}
	r := o.under(time.Duration(hours)*time.Hour, append(args, "--json")...)
	if r.code == 1 || r.code == 2 || r.code < 0 {
		o.t.Fatal(r)
	}
	if r.code == 0 {
		o.done[strings.Join(args[:min(2, len(args))], " ")]++
	}
	return fmt.Sprintf("%s: exit %d %s", strings.Join(args, " "), r.code, plainAnswer(r.out))
}

// unlike are the parts of an answer in which two logs never agree.
var unlike = regexp.MustCompile(`"(hash|prev|command|boot|until|epoch|token|digest|cwd)":("[^"]*"|\d+),?|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

func plainAnswer(out string) string {
	return unlike.ReplaceAllString(moment.ReplaceAllString(out, ""), "")
}

// everything is all that the machine tells, seen with the right clock.
func (o *offset) everything() string {
	o.t.Helper()
	var out strings.Builder
	for _, args := range [][]string{
		{"log"},
		{"task", "list"},
		{"ask", "list", "--all"},
		{"msg", "inbox", "ann", "--all"},
		{"msg", "inbox", "ben", "--all"},
		{"msg", "inbox", "team-lead", "--all"},
		{"task", "next", "--as", "ann"},
		{"task", "next", "--as", "ben"},
	} {
		r := o.run(append(args, "--json")...)
		fmt.Fprintln(&out, strings.Join(args, " "), r.code, plainAnswer(r.out))
	}
	return out.String()
}

// backward counts the events whose time is before that of the event before them.
func (o *offset) backward() (n int) {
	o.t.Helper()
	events := ask[[]cadre.Event](o.machine, "log", "--limit", "0")
	for i, e := range events[1:] {
		if e.Time.Before(events[i].Time) {
			n++
		}
	}
	return n
}

// under runs a command whose wall clock is off by so much.
func (o *offset) under(off time.Duration, args ...string) result {
	o.t.Helper()
	if off == 0 {
		return o.run(args...)
	}
	var out, talk bytes.Buffer
	c := o.command(o.t.(*testing.T).Context(), args...)
	c.Stdout, c.Stderr = &out, &talk
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	began := time.Now()
	runtime.LockOSThread() // only the thread that started it may touch it
	err := c.Start()
	if err == nil {
		err = setClock(c.Process.Pid, off)
	}
	runtime.UnlockOSThread()
	if err != nil {
		o.t.Fatal(err)
	}
	_ = c.Wait() // the state says how it ended
	return result{args: args, out: out.String(), err: talk.String(), code: c.ProcessState.ExitCode(), took: time.Since(began)}
}

// setClock takes a process that has not begun yet, replaces what it reads the clocks
// with by a call of the kernel that adds to the wall clock, and lets it go.
func setClock(pid int, off time.Duration) error {
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		return err
	}
	base, err := kernelCode(pid)
	if err != nil {
		return err
	}
	image := make([]byte, 8192)
	if _, err := syscall.PtracePeekData(pid, base, image); err != nil {
		return err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	code := []byte{
		0xb8, 0xe4, 0, 0, 0, // mov $228 (clock_gettime), %eax
		0x0f, 0x05, // syscall
		0x85, 0xff, // test %edi, %edi: which clock?
		0x75, 0x07, // jne, over the next
		0x48, 0x81, 0x06, 0, 0, 0, 0, // addq $seconds, (%rsi)
		0xc3, // ret
	}
	le.LittleEndian.PutUint32(code[14:], uint32(int32(off/time.Second)))
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			if _, err := syscall.PtracePokeData(pid, base+uintptr(s.Value), code); err != nil {
				return err
			}
			return syscall.PtraceDetach(pid)
		}
	}
	return fmt.Errorf("the kernel lends no code for reading clocks among %d", len(symbols))
}

// kernelCode is where the code stands that the kernel lends a process.
func kernelCode(pid int) (uintptr, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	const sysinfoEHDR = 33
	for ; len(data) >= 16; data = data[16:] {
		if le.LittleEndian.Uint64(data) == sysinfoEHDR {
			return uintptr(le.LittleEndian.Uint64(data[8:])), nil
		}
	}
	return 0, fmt.Errorf("a process without the kernel's code: %w", err)
}
