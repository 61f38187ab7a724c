package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"cadre"
)

// A command that reads sees what those before it in the same transaction wrote, however
// far behind the writing is.
func TestReadersWaitForThePen(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := add(s, "first", 1); err != nil {
		t.Fatal(err)
	}
	const commands, each = 20, 30
	var mu sync.Mutex
	var seen []int
	inside, leave := make(chan struct{}), make(chan struct{})
	update := func(id string, decide cadre.Decide) error {
		c := cadre.Command{ID: cadre.CommandID(cadre.DrawnMark + id), Actor: cadre.Self, Door: "test", Verb: "add"}
		_, err := s.Update(context.Background(), "work", c, decide)
		return err
	}
	errs := make(chan error, commands+1)
	go func() {
		errs <- update("hold", func(cadre.Snap) ([]cadre.Event, error) {
			close(inside)
			<-leave
			return nil, nil
		})
	}()
	<-inside
	for i := range commands {
		go func() {
			errs <- update(fmt.Sprint(i), func(snap cadre.Snap) (events []cadre.Event, err error) {
				n, err := snap.Count(cadre.IndexStatus, string(cadre.Pending))
				mu.Lock()
				seen = append(seen, n)
				mu.Unlock()
				for j := range each {
					id := cadre.TaskID(fmt.Sprint(n + 1 + j))
					events = append(events, cadre.Event{After: &cadre.Task{ID: id, Subject: "one more", Status: cadre.Pending}})
				}
				return events, err
			})
		}()
	}
	for len(waiting(s)) < commands {
	}
	close(leave)
	for range commands + 1 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range seen {
		if n != 1+i*each {
			t.Fatalf("the commands saw %v tasks", seen)
		}
	}
	if report, err := s.Audit(t.Context(), nil); err != nil || len(report.Findings) > 0 {
		t.Errorf("the audit found %+v, %v", report, err)
	}
}
