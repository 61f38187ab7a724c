//go:build unix

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"cadre"
	"cadre/memstore"
)

// BenchmarkCommands is durable commands in one process: one caller beside a loop
// of the system calls alone, and many beside one and beside a store in memory.
func BenchmarkCommands(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	h := newHome(b, "commands")
	const many = 64
	disk, memory := newCaller(openStore(b, h.state()), "writer"), newCaller(memstore.New(), "writer")
	calls := newSyscalls(b, h, commitBytes(b, h))
	add := func(c *caller) func(int) error {
		return func(i int) error {
			return c.do("task add", &cadre.TaskAdd{Subject: fmt.Sprint("a task of caller ", i)})
		}
	}
	all := []struct {
		callers int
		one     func(int) error
		rates   []float64
	}{{1, add(&disk), nil}, {1, calls.one, nil}, {many, add(&disk), nil}, {many, add(&memory), nil}}
	for round := range rounds(10_000) + 1 {
		disk.scope = cadre.Scope(fmt.Sprint("round-", round)) // one list would become full
		memory.scope = disk.scope
		for i := range all {
			c := &all[(i+round)%len(all)]
			if got := rate(b, c.callers, 150*time.Millisecond, c.one); round > 0 {
				c.rates = append(c.rates, got)
			}
		}
	}
	median := func(i int) float64 {
		sorted := slices.Sorted(slices.Values(all[i].rates))
		return sorted[len(sorted)/2]
	}
	r := &world.report
	r.compare("one caller, commands", median(0), "/s", "its system calls alone", median(1), atLeast(0.7))
	// The goal is the lesser of five times one caller and half of what memory gives.
	five, half := 5*median(0), median(3)/2
	if five < half {
		r.compare("64 callers, commands", median(2), "/s", "one caller", median(0), atLeast(5))
		r.compare("64 callers, commands", median(2), "/s", "64 callers in memory", median(3), nil)
	} else {
		r.compare("64 callers, commands", median(2), "/s", "one caller", median(0), nil)
		r.compare("64 callers, commands", median(2), "/s", "64 callers in memory", median(3), atLeast(0.5))
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
		s.wal.Sync(),
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
