//go:build unix

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cadre"
	"cadre/bench/alone"
	"cadre/claudefile"
	"cadre/internal/sqlite"
)

// BenchmarkCreators is eight processes that create tasks at once, without Claude
// Code's files and with them, beside eight that only start, lock, append as many
// bytes and sync.
func BenchmarkCreators(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	h, other := newHome(b, "creators"), newHome(b, "creators")
	const loops, each = 8, 12
	bytes := strconv.Itoa(commitBytes(b, h, addTask))
	type kind struct {
		home  home
		args  func(n, round int) []string
		said  []string
		rates []float64
	}
	add := func(n, round int) []string {
		return []string{world.cadre, "task", "add", fmt.Sprintf("task %d of round %d", n, round)}
	}
	plain, shared := &kind{home: h, args: add}, &kind{home: other.withFiles(), args: add}
	floor := &kind{home: h, args: func(int, int) []string {
		return []string{world.floor, filepath.Join(h.dir, "lock"), filepath.Join(h.dir, "appended"), bytes}
	}}
	third := newHome(b, "creators")
	third.run(b, world.cadre, "task", "add", "the first")
	database, size := measured(b, third)
	bare := &kind{home: third, args: func(int, int) []string {
		return []string{world.floor, filepath.Join(third.dir, "lock"), database, string(cadre.DefaultScope), strconv.Itoa(size.Event), strconv.Itoa(size.Task)}
	}}
	all := []*kind{plain, shared, floor, bare}
	for round := range rounds(10_000) + 1 {
		for i := range all {
			k := all[(i+round)%len(all)]
			said, rate := creators(b, k.home, loops, each, func(n int) []string { return k.args(n, round) })
			k.said = append(k.said, said...)
			if round > 0 {
				k.rates = append(k.rates, rate)
			}
		}
	}
	checkIDs(b, h, plain.said)
	checkIDs(b, other, shared.said) // a look with the files would mend what is wrong with them
	checkFiles(b, other)
	r := &world.report
	r.compare("8 processes creating", middle(plain.rates), "/s", "start, lock, append, sync", middle(floor.rates), atLeast(0.8))
	r.compare("8 processes creating, files", middle(shared.rates), "/s", "start, lock, append, sync", middle(floor.rates), atLeast(0.8))
	r.compare("8 processes, SQLite alone", middle(bare.rates), "/s", "start, lock, append, sync", middle(floor.rates), nil)
	r.compare("8 processes creating", middle(plain.rates), "/s", "SQLite alone", middle(bare.rates), nil)
}

// measured gives the database of a home, and how large its last task is.
func measured(tb testing.TB, h home) (string, alone.Sizes) {
	tb.Helper()
	database := filepath.Join(h.state(), "cadre.db")
	c, err := sqlite.Open(database, "")
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	size, err := alone.Measure(c)
	if err != nil {
		tb.Fatal(err)
	}
	return database, size
}

// creators runs a program in so many loops at once, and gives what each said.
func creators(b *testing.B, h home, loops, each int, args func(n int) []string) (said []string, rate float64) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	for l := range loops {
		wg.Go(func() {
			for i := range each {
				program := args(l*each + i)
				out, err := h.command(program[0], program[1:]...).Output()
				mu.Lock()
				if err != nil {
					b.Errorf("%s: %v", strings.Join(program, " "), err)
				}
				said = append(said, strings.TrimSpace(string(out)))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return said, float64(loops*each) / time.Since(began).Seconds()
}

// checkIDs fails when a task has an id that nobody was told, or the other way.
func checkIDs(b *testing.B, h home, told []string) {
	listed := strings.Fields(h.run(b, world.cadre, "task", "list", "--quiet"))
	slices.Sort(told)
	slices.Sort(listed)
	if !slices.Equal(told, listed) {
		b.Errorf("%d ids were told and %d are in the list, and they are not the same", len(told), len(listed))
	}
}

// checkFiles fails when the files and the log do not say the same.
func checkFiles(b *testing.B, h home) {
	var tasks []*cadre.TaskView
	if err := json.Unmarshal([]byte(h.run(b, world.cadre, "task", "list", "--json")), &tasks); err != nil {
		b.Fatal(err)
	}
	if err := sameInFiles(filepath.Join(h.claude(), "tasks", string(cadre.DefaultScope)), tasks); err != nil {
		b.Error(err)
	}
}

// sameInFiles holds a list against its folder: a file for each task that says what
// the log says, and no other.
func sameInFiles(dir string, tasks []*cadre.TaskView) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) != len(tasks) {
		return errors.Join(err, fmt.Errorf("%d files for %d tasks", len(names), len(tasks)))
	}
	for _, t := range tasks {
		data, err := os.ReadFile(filepath.Join(dir, string(t.ID)+".json"))
		if err != nil {
			return err
		}
		f, err := claudefile.ReadTask(data)
		if err != nil {
			return err
		}
		if f.ID != string(t.ID) || f.Subject != t.Subject || f.Description != t.Description || f.Owner != t.Owner || f.Status != string(t.Status) {
			return fmt.Errorf("the file of task %s says %s, and the log %q", t.ID, data, t.Subject)
		}
	}
	return nil
}

func TestSameInFiles(t *testing.T) {
	task := func(id cadre.TaskID, subject string) *cadre.TaskView {
		return &cadre.TaskView{ID: id, Subject: subject, Status: cadre.Pending}
	}
	dir := t.TempDir()
	write := func(id, subject string) {
		content := (&claudefile.Task{ID: id, Subject: subject, Status: "pending"}).Write(nil)
		if err := os.WriteFile(filepath.Join(dir, id+".json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1", "one")
	write("2", "two")
	if err := sameInFiles(dir, []*cadre.TaskView{task("1", "one"), task("2", "two")}); err != nil {
		t.Error(err)
	}
	for what, tasks := range map[string][]*cadre.TaskView{
		"a file too many": {task("1", "one")},
		"a file too few":  {task("1", "one"), task("2", "two"), task("3", "three")},
		"another name":    {task("1", "one"), task("3", "two")},
		"another subject": {task("1", "one"), task("2", "three")},
	} {
		if sameInFiles(dir, tasks) == nil {
			t.Errorf("%s was not noticed", what)
		}
	}
}
