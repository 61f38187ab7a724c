package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"cadre"
	"cadre/sqlitestore"
	"cadre/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) cadre.Store { return open(b, b.TempDir()) })
}

// BenchmarkCold is what a process that does one thing pays: open, one durable
// commit, close.
func BenchmarkCold(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "state")
			s := open(b, dir)
			for range n / 100 {
				c := command("fill")
				if _, err := s.Update(b.Context(), list, c, func(snap cadre.Snap) (events []cadre.Event, err error) {
					for i := range uint64(100) {
						id := cadre.TaskID(fmt.Sprint(max(1, snap.Head().Next) + i))
						events = append(events, cadre.Event{After: &cadre.Task{ID: id, Subject: "task " + string(id), Status: cadre.Pending}})
					}
					return events, nil
				}); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := sqlitestore.Open(dir)
				if err != nil {
					b.Fatal(err)
				}
				do(b, s, list, &cadre.TaskAdd{Subject: "cold"})
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
