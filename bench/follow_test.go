//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
)

// BenchmarkFollow is somebody else who writes to a task's file in place while a
// process follows the list: from the end of the write to the line in the pipe.
func BenchmarkFollow(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	few, many := newFollowed(b, 100), newFollowed(b, 10_000)
	const turns = 10
	for range turns {
		for _, f := range []*followed{few, many} {
			f.write(b, max(5, rounds(0)))
		}
	}
	const limit = 5 * time.Millisecond
	for _, f := range []*followed{few, many} {
		name := fmt.Sprintf("a foreign write is seen, %d tasks", f.tasks)
		world.report.times(name+", p50", f.took.median(), "5 ms", limit, nil)
		world.report.times(name+", p99", f.took.at(0.99), "5 ms", limit, atMost(1))
	}
}

// followed is a list in files, and a process that follows it.
type followed struct {
	tasks, n int
	list     string // its folder
	lines    <-chan time.Time
	took     samples
}

func newFollowed(b *testing.B, tasks int) *followed {
	h := newHome(b, "follow").withFiles()
	fillOurs(b, h, tasks)
	f := &followed{tasks: tasks, list: filepath.Join(h.claude(), "tasks", string(cadre.DefaultScope))}
	f.lines = follow(b, h, cadre.DefaultScope, func() { f.change(b) })
	return f
}

// change writes to the next task's file as older clients do.
func (f *followed) change(b *testing.B) {
	f.n++
	id := strconv.Itoa(f.n%f.tasks + 1)
	task := &claudefile.Task{ID: id, Subject: fmt.Sprint("their change number ", f.n), Description: "what somebody else thinks of it", Status: "pending"}
	if err := os.WriteFile(filepath.Join(f.list, id+".json"), task.Write(nil), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (f *followed) write(b *testing.B, times int) {
	for range times {
		f.change(b)
		written := time.Now()
		heard, ok := <-f.lines
		if !ok {
			b.Fatal("the follower ended")
		}
		f.took = append(f.took, max(0, heard.Sub(written)))
		time.Sleep(3 * time.Millisecond) // it waits again
	}
}

// follow starts a process that follows a list and notes when it says a line. What
// makes it say one is done until it does.
func follow(b *testing.B, h home, list cadre.Scope, something func()) <-chan time.Time {
	cmd := h.command(world.cadre, "watch", "--scope", string(list), "--jsonl")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stop(cmd) })
	lines := make(chan time.Time, 16)
	go func() {
		defer close(lines)
		for r := bufio.NewReaderSize(out, 1<<20); ; {
			if _, err := r.ReadSlice('\n'); err != nil {
				return
			}
			lines <- time.Now()
		}
	}()
	for ready := false; !ready; { // it is ready when it hears something
		something()
		select {
		case <-lines:
			ready = true
		case <-time.After(300 * time.Millisecond):
		}
	}
	for drained := false; !drained; {
		select {
		case <-lines:
		case <-time.After(300 * time.Millisecond):
			drained = true
		}
	}
	return lines
}
