//go:build unix

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/bench/alone"
	"cadre/internal/sqlite"
	"cadre/memstore"
)

// BenchmarkCommands is durable commands in one process: one caller beside a loop
// of the system calls alone, and many beside one and beside a store in memory.
func BenchmarkCommands(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	h := newHome(b, "commands")
	const many = 64
	disk, memory := newCaller(openStore(b, h.state()), "writer"), newCaller(memstore.New(), "writer")
	calls := newSyscalls(b, h, commitBytes(b, h, addTask))
	add := func(c *caller) func(int) error { return func(i int) error { return addTask(*c, i) } }
	one, floor, together, inMemory := &pace{callers: 1, one: add(&disk)}, &pace{callers: 1, one: calls.one}, &pace{callers: many, one: add(&disk)}, &pace{callers: many, one: add(&memory)}
	bare := &pace{callers: 1, one: withSQLite(b)}
	paces(b, func(round int) {
		disk.scope = cadre.Scope(fmt.Sprint("round-", round)) // one list would become full
		memory.scope = disk.scope
	}, one, floor, bare, together, inMemory)
	r := &world.report
	r.compare("one caller, commands", one.rate(), "/s", "its system calls alone", floor.rate(), atLeast(0.7))
	r.compare("one caller, SQLite alone", bare.rate(), "/s", "its system calls alone", floor.rate(), nil)
	r.compare("one caller, commands", one.rate(), "/s", "SQLite alone", bare.rate(), nil)
	// The goal is the lesser of five times one caller and half of what memory gives.
	five, half := atLeast(5), atLeast(0.5)
	if 5*one.rate() < inMemory.rate()/2 {
		half = nil
	} else {
		five = nil
	}
	r.compare("64 callers, commands", together.rate(), "/s", "one caller", one.rate(), five)
	r.compare("64 callers, commands", together.rate(), "/s", "64 callers in memory", inMemory.rate(), half)
}

// withSQLite adds tasks to a list of some hundred with SQLite alone.
func withSQLite(b *testing.B) func(int) error {
	h := newHome(b, "alone")
	c := newCaller(openStore(b, h.state()), "writer")
	for i := range 400 {
		if err := addTask(c, i); err != nil {
			b.Fatal(err)
		}
	}
	database, size := measured(b, h)
	conn, err := sqlite.Open(database, "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return func(int) error { return alone.Add(conn, string(scope), size) }
}

// pace is something that so many callers do again and again.
type pace struct {
	callers int
	one     func(caller int) error
	rates   []float64
}

func (p *pace) rate() float64 { return middle(p.rates) }

// paces measures them in turn, and begins with another one each round. The first
// round does not count.
func paces(tb testing.TB, before func(round int), all ...*pace) {
	tb.Helper()
	for round := range rounds(10_000) + 1 {
		before(round)
		for i := range all {
			p := all[(i+round)%len(all)]
			if got := rate(tb, p.callers, 150*time.Millisecond, p.one); round > 0 {
				p.rates = append(p.rates, got)
			}
		}
	}
}

// syscalls does what a commit of one command asks of the system, and nothing
// else, as strace shows it: take the lock, lock the log's index, write the frames
// of the log, sync, unlock, write the head record, give the lock back. Checkpoints
// are left out: there is one in a hundred commits.
type syscalls struct {
	lock, wal, shm *os.File
	head           string
	frames         int // of one commit
	at             int // where the log goes on
	page           []byte
}

const (
	pageSize    = 4096
	frameHeader = 24
	headRecord  = 640
	logLength   = 1000 // frames, after which it begins anew
)

func newSyscalls(tb testing.TB, h home, bytes int) *syscalls {
	tb.Helper()
	dir := filepath.Join(h.dir, "syscalls")
	if err := os.Mkdir(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	s := &syscalls{head: filepath.Join(dir, "head"), frames: (bytes - headRecord) / (pageSize + frameHeader), page: make([]byte, pageSize)}
	for name, f := range map[string]**os.File{"lock": &s.lock, "wal": &s.wal, "shm": &s.shm} {
		var err error
		if *f, err = os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { (*f).Close() })
	}
	if err := os.WriteFile(s.head, s.page[:headRecord], 0o600); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *syscalls) one(int) error {
	return errors.Join(
		syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB),
		s.locks(syscall.F_WRLCK, syscall.F_UNLCK, syscall.F_RDLCK, syscall.F_WRLCK),
		s.append(),
		alone.Sync(s.wal),
		s.locks(syscall.F_UNLCK, syscall.F_UNLCK),
		s.writeHead(),
		syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN),
	)
}

func (s *syscalls) locks(kinds ...int16) error {
	for _, k := range kinds {
		if err := syscall.FcntlFlock(s.shm.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: k, Start: 120, Len: 1}); err != nil {
			return err
		}
	}
	return nil
}

func (s *syscalls) append() error {
	if s.at+s.frames > logLength {
		s.at = 0
	}
	for range s.frames {
		at := int64(s.at * (pageSize + frameHeader))
		_, err := s.wal.WriteAt(s.page[:frameHeader], at)
		_, err2 := s.wal.WriteAt(s.page, at+frameHeader)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		s.at++
	}
	return nil
}

func (s *syscalls) writeHead() error {
	f, err := os.OpenFile(s.head, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(s.page[:headRecord], 0)
	return errors.Join(err, f.Close())
}
