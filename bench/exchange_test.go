//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkExchange is durable changes, in one process, of tasks that stand in
// Claude Code's files, beside loops of the system calls alone. Each caller has a
// task of its own: a file is exchanged for every change.
func BenchmarkExchange(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	h := newHome(b, "exchange")
	const many = 64
	c := newCaller(openFiles(b, h), "writer")
	for i := range many {
		if err := addTask(c, i); err != nil {
			b.Fatal(err)
		}
	}
	commit, exchange := newSyscalls(b, h, commitBytes(b, h, changeTask)), newExchanges(b, h)
	change := func(i int) error { return changeTask(c, i) }
	one, together := &pace{callers: 1, one: change}, &pace{callers: many, one: change}
	both := &pace{callers: 1, one: func(i int) error {
		if err := commit.one(i); err != nil {
			return err
		}
		return exchange.one(i)
	}}
	files := &pace{callers: 1, one: exchange.one}
	paces(b, func(int) {}, one, both, together, files)
	r := &world.report
	r.compare("one caller, files", one.rate(), "/s", "its system calls alone", both.rate(), atLeast(0.6))
	r.compare("64 callers, files", together.rate(), "/s", "the file exchanges alone", files.rate(), atLeast(0.6))
}

// exchanges does what a change of a task asks of the system besides the commit, as
// strace shows it: a new file beside the old one, dated, exchanged with it; then
// the old one is read and removed, and what is known about the file is noted.
type exchanges struct {
	dir     int
	slots   *os.File
	content []byte
}

func newExchanges(tb testing.TB, h home) *exchanges {
	tb.Helper()
	path := filepath.Join(h.dir, "exchanges")
	if err := os.Mkdir(path, 0o700); err != nil {
		tb.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(h.claude(), "tasks", string(scope), "1.json"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "1.json"), content, 0o600); err != nil {
		tb.Fatal(err)
	}
	e := &exchanges{content: content}
	if e.slots, err = os.Create(filepath.Join(h.dir, "slots")); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.slots.Close() })
	if e.dir, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { unix.Close(e.dir) })
	return e
}

func (e *exchanges) one(int) error {
	const name, temp = "1.json", ".new.tmp"
	if _, err := e.read(name); err != nil {
		return err
	}
	fd, err := unix.Openat(e.dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, e.content); err != nil {
		return err
	}
	now := unix.NsecToTimespec(time.Now().UnixNano())
	if err := unix.UtimesNanoAt(e.dir, temp, []unix.Timespec{now, now}, 0); err != nil {
		return err
	}
	if err := unix.Renameat2(e.dir, temp, e.dir, name, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	old, err := e.read(temp)
	if err != nil || old != len(e.content) {
		return fmt.Errorf("the old file has %d bytes: %w", old, err)
	}
	if err := unix.Unlinkat(e.dir, temp, 0); err != nil {
		return err
	}
	_, err = e.slots.WriteAt(e.content[:64], 0)
	return err
}

func (e *exchanges) read(name string) (int, error) {
	fd, err := unix.Openat(e.dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return unix.Pread(fd, make([]byte, st.Size), 0)
}
