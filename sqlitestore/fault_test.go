package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cadre"
	"cadre/internal/sqlite"
)

// add creates n tasks in one command.
func add(s *Store, id string, n int) error {
	c := cadre.Command{ID: cadre.CommandID(id), Actor: cadre.Self, Door: "test", Verb: "add"}
	_, err := s.Update(context.Background(), "work", c, func(snap cadre.Snap) (events []cadre.Event, err error) {
		for i := range uint64(n) {
			name := cadre.TaskID(fmt.Sprint(max(1, snap.Head().Next) + i))
			events = append(events, cadre.Event{After: &cadre.Task{ID: name, Subject: strings.Repeat("long ", 80), Status: cadre.Pending}})
		}
		return events, nil
	})
	return err
}

// limited opens a store whose next command gets a connection with a setting.
func limited(t *testing.T, setting string) *Store {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := add(s, "first", 1); err != nil {
		t.Fatal(err)
	}
	c, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Row("PRAGMA " + setting); err != nil {
		t.Fatal(err)
	}
	s.release(c, true)
	return s
}

func wantFault(t *testing.T, err error, hint string) {
	t.Helper()
	e, ok := errors.AsType[*cadre.Error](err)
	if !ok || e.Code != cadre.CodeInternal || !strings.HasPrefix(e.Hint, hint) || !strings.Contains(e.Message, "writing to the database") {
		t.Fatalf("error = %v, hint %q", err, cadre.AsError(err).Hint)
	}
}

func TestFullDisk(t *testing.T) {
	s := limited(t, "max_page_count=30")
	wantFault(t, add(s, "too much", 1000), "df -h ")
	if err := add(s, "too much", 1000); err != nil {
		t.Fatalf("after the disk was made larger: %v", err)
	}
	report, err := s.Audit(t.Context(), nil)
	if err != nil || len(report.Findings) > 0 || report.Events != 1002 {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestLockedDatabase(t *testing.T) {
	s := limited(t, "busy_timeout=50")
	other, err := sqlite.Open(s.dir+"/"+dbName, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Script(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	wantFault(t, add(s, "second", 1), "fuser -v ")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := add(s, "second", 1); err != nil {
		t.Fatalf("after the lock was gone: %v", err)
	}
}

// A command that cannot be written must not take those with it that share its
// transaction.
func TestOneFailsAlone(t *testing.T) {
	s := limited(t, "max_page_count=60")
	inside, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	held := make(chan error, 1)
	go func() {
		c := cadre.Command{ID: "hold", Actor: cadre.Self, Door: "test", Verb: "hold"}
		_, err := s.Update(context.Background(), "work", c, func(cadre.Snap) ([]cadre.Event, error) {
			once.Do(func() { close(inside) }) // it is decided again, alone
			<-leave
			return nil, nil
		})
		held <- err
	}()
	<-inside
	var wg sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		wg.Go(func() {
			n := 1
			if i == 2 {
				n = 2000
			}
			errs[i] = add(s, fmt.Sprintf("command %d", i), n)
		})
	}
	for len(waiting(s)) < len(errs) {
	}
	close(leave)
	wg.Wait()
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if i == 2 {
			wantFault(t, err, "df -h ")
		} else if err != nil {
			t.Errorf("command %d: %v", i, err)
		}
	}
}

func waiting(s *Store) []*request {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.waiting
}

// Close lets the commands under way end, and refuses later ones.
func TestCloseWaits(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	results := make([]error, 40)
	for i := range results {
		wg.Go(func() { results[i] = add(s, fmt.Sprintf("command %d", i), 1) })
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for _, err := range results {
		if err != nil && !errors.Is(err, errClosed) {
			t.Error(err)
		}
	}
	if err := add(s, "late", 1); !errors.Is(err, errClosed) {
		t.Fatalf("a command after Close: %v", err)
	}
}

// Lists are decoded by plainjson where it can; it must agree with the rule book.
func FuzzDecodeObject(f *testing.F) {
	var all objects
	kinds := []cadre.Kind{cadre.KindTask, cadre.KindMessage, cadre.KindMember, cadre.KindComment}
	f.Add(0, []byte(`{"id":"5","subject":"task","description":"","status":"pending","blockedBy":["1","2"],"openBlockers":1,"lease":{"boot":"b","until":5},"version":1,"createdAt":"2026-01-02T03:04:05.06Z","updatedAt":"2026-01-02T03:04:05Z","author":"me"}`))
	f.Add(1, []byte(`{"id":"m5","n":5,"from":"a","to":"b","kind":"message","text":"\"hi\"","sentAt":"2026-01-02T03:04:05Z"}`))
	f.Add(2, []byte(`{"name":"anna","role":"teammate","process":{"pid":1,"start":"2"},"joinedAt":"2026-01-02T03:04:05Z","state":"idle","since":"2026-01-02T03:04:05Z"}`))
	f.Add(3, []byte(`{"task":"1","n":2,"author":"a","content":"c","at":"2026-01-02T03:04:05Z"}`))
	f.Fuzz(func(t *testing.T, kind int, image []byte) {
		k := kinds[uint(kind)%uint(len(kinds))]
		fast, errFast := decode(all.plan(k), k, image)
		slow, errSlow := cadre.DecodeObject(k, image)
		if (errFast == nil) != (errSlow == nil) {
			t.Fatalf("%q: %v and %v", image, errFast, errSlow)
		}
		if errFast == nil && !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%q became %+v, want %+v", image, fast, slow)
		}
	})
}
