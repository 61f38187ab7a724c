//go:build unix

package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkCreators is eight processes that create tasks at once, beside eight
// that only start, lock, append as many bytes and sync.
func BenchmarkCreators(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	h := newHome(b, "creators")
	const loops, each = 8, 12
	bytes := strconv.Itoa(commitBytes(b, h))
	h.run(b, world.cadre, "task", "add", "the first")
	var ids []string
	var ours, floor []float64
	for round := range rounds(10_000) + 1 {
		create := func() {
			got, rate := creators(b, h, loops, each, func(n int) []string {
				return []string{world.cadre, "task", "add", fmt.Sprintf("task %d of round %d", n, round)}
			})
			ids = append(ids, got...)
			ours = append(ours, rate)
		}
		start := func() {
			_, rate := creators(b, h, loops, each, func(int) []string {
				return []string{world.floor, filepath.Join(h.dir, "lock"), filepath.Join(h.dir, "appended"), bytes}
			})
			floor = append(floor, rate)
		}
		if round%2 == 0 {
			create, start = start, create
		}
		create()
		start()
	}
	checkIDs(b, h, ids)
	slices.Sort(ours)
	slices.Sort(floor)
	world.report.compare("8 processes creating", ours[len(ours)/2], "/s", "start, lock, append, sync", floor[len(floor)/2], atLeast(0.8))
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
	told = append(told, "1")
	slices.Sort(told)
	slices.Sort(listed)
	if !slices.Equal(told, listed) {
		b.Errorf("%d ids were told and %d are in the list, and they are not the same", len(told), len(listed))
	}
}
