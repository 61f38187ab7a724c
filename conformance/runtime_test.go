package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestRuntimeTest01Creation(t *testing.T) {
	s := newMachine(t).session(leadSession)
	want(t, "the id", s.do("task", "add", "Direct task creation", "-d", "in full", "--active-form", "Testing"), "1")
	var raw map[string]any
	if err := json.Unmarshal([]byte(s.do("task", "show", "1", "--json")), &raw); err != nil {
		t.Fatal(err)
	}
	want[any](t, "id", raw["id"], "1")
	if _, text := raw["id"].(string); !text {
		t.Errorf("the id is a %T", raw["id"])
	}
	want[any](t, "blocks", raw["blocks"], []any{})
	want[any](t, "blockedBy", raw["blockedBy"], []any{})
	want[any](t, "status", raw["status"], "pending")
	want[any](t, "activeForm", raw["activeForm"], "Testing")
}

func TestRuntimeTest02StatusWordsAndMovesAreChecked(t *testing.T) {
	lead, worker := newMachine(t).crew()
	lead.do("task", "add", "work")
	created := lead.show("1")
	for _, status := range []string{"in_progress", "completed"} {
		worker.do("task", "update", "1", "--status", status)
		want(t, "the status", worker.show("1").Status, status)
	}
	says(t, worker.no(usage, "task", "update", "1", "--status", "almost"), "almost", "pending, in_progress, completed or deleted")
	worker.no(notAllowed, "task", "update", "1", "--status", "pending") // not its author
	worker.no(blocked, "task", "start", "1")                            // no such move
	lead.do("task", "update", "1", "--status", "pending")
	got := lead.show("1")
	want(t, "reopened", got.Status, "pending")
	if got.CreatedAt.IsZero() || !got.CreatedAt.Equal(created.CreatedAt) || !got.UpdatedAt.After(got.CreatedAt) {
		t.Errorf("created %v, updated %v", got.CreatedAt, got.UpdatedAt)
	}
}

func TestRuntimeTest03AnEdgeIsSeenFromBothSides(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "one")
	s.do("task", "add", "two", "--blocked-by", "1")
	want(t, "2 is blocked by", s.show("2").BlockedBy, []string{"1"})
	want(t, "1 blocks", s.show("1").Blocks, []string{"2"})
}

func TestRuntimeTest04CircularDependenciesAreRefused(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "one")
	s.do("task", "add", "two", "--blocked-by", "1")
	s.do("task", "add", "three", "--blocked-by", "2")
	says(t, s.no(blocked, "task", "block", "1", "--by", "3"), "1 waits for 3 waits for 2 waits for 1")
	s.no(blocked, "task", "update", "1", "--add-blocked-by", "2")
	s.no(blocked, "task", "update", "3", "--add-blocks", "1")
	s.no(blocked, "task", "block", "1", "--by", "1")
	want(t, "1 is blocked by", len(s.show("1").BlockedBy), 0)
	want(t, "ready", subjects(get[[]task](s, "task", "ready")), "1 one")
}

func TestRuntimeTest05ReferencesToNothingAreRefused(t *testing.T) {
	s := newMachine(t).session(leadSession)
	says(t, s.no(notFound, "task", "add", "work", "--blocked-by", "999"), "999")
	want(t, "tasks", len(s.list()), 0)
	s.do("task", "add", "work")
	s.no(notFound, "task", "block", "1", "--by", "999")
	s.no(notFound, "task", "update", "1", "--reference", "999")
	s.no(notFound, "task", "update", "1", "--parent", "999")
}

func TestRuntimeTest06AllBlockersMustComplete(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "one")
	s.do("task", "add", "two")
	s.do("task", "add", "three", "--blocked-by", "1,2")
	s.do("task", "done", "1")
	want(t, "it waits for", s.show("3").WaitingOn, []string{"2"})
	says(t, s.no(blocked, "task", "start", "3"), "2")
	want(t, "freed", get[task](s, "task", "done", "2").Freed, []string{"3"})
	want(t, "the edges stay", s.show("3").BlockedBy, []string{"1", "2"})
	s.do("task", "start", "3")
}

func TestRuntimeTest07DeletingLeavesNoBrokenReference(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "one")
	s.do("task", "add", "two", "--blocked-by", "1")
	says(t, s.no(blocked, "task", "rm", "1"), "2 (two)", "--unblock")
	s.do("task", "rm", "1", "--unblock")
	two := s.show("2")
	want(t, "2 is blocked by", len(two.BlockedBy), 0)
	want(t, "2 says so", two.Flags, []string{"unblocked"})
	want(t, "the list", subjects(s.list()), "2 two")
	want(t, "the removed task", s.show("1").Status, "deleted")
	want(t, "a new id", s.do("task", "add", "three"), "3")
	s.do("task", "restore", "1")
	want(t, "2 is blocked again by", s.show("2").BlockedBy, []string{"1"})
	s.do("task", "update", "3", "--status", "deleted")
	want(t, "after deleting the newest", s.do("task", "add", "four"), "4")
}

func TestRuntimeTest08Metadata(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "work", "--metadata", `tags=["urgent","backend"]`, "--metadata", "priority=high",
		"--metadata", "assignee=subagent-1", "--metadata", "estimatedHours=4", "--metadata", `deep={"a":{"b":[1,null]}}`)
	got := s.show("1")
	want(t, "metadata", fmt.Sprint(got.Metadata),
		"map[assignee:subagent-1 deep:map[a:map[b:[1 <nil>]]] estimatedHours:4 priority:high tags:[urgent backend]]")
	want(t, "what it sets", fmt.Sprint(got.Priority, got.Labels), "10 [urgent backend]")
	s.do("task", "update", "1", "--metadata", "estimatedHours=null", "--metadata", "more=true")
	got = s.show("1")
	if _, there := got.Metadata["estimatedHours"]; there || got.Metadata["more"] != true || got.Metadata["assignee"] != "subagent-1" {
		t.Errorf("merged to %v", got.Metadata)
	}
}

func TestRuntimeTest09TasksOutliveTheirSession(t *testing.T) {
	m := newMachine(t)
	m.session(leadSession).do("task", "add", "work")
	want(t, "the same session later", subjects(m.session(leadSession).list()), "1 work")
	other := m.session(workerSession)
	want(t, "another session", len(other.list()), 0)
	want(t, "another session that knows the id", subjects(other.list("--scope", leadSession)), "1 work")
	other.no(notAllowed, "task", "done", "1", "--scope", leadSession)
	m.operator("--scope", leadSession).do("task", "done", "1")
}

func TestRuntimeTest10ConcurrentWritesLoseNothing(t *testing.T) {
	m := newMachine(t)
	lead, _ := m.crew()
	lead.do("task", "add", "work")
	const writers = 8
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { lead.do("task", "update", "1", "--metadata", fmt.Sprintf("k%d=%d", i, i)) })
	}
	all.Wait()
	want(t, "keys", len(lead.show("1").Metadata), writers)
	want(t, "versions", lead.show("1").Version, 1+writers)

	var winners atomic.Int32
	for i := range writers {
		all.Go(func() {
			_, talk, code := m.as(fmt.Sprint("m", i)).try("", "task", "claim", "1")
			switch {
			case code == 0:
				winners.Add(1)
			case code != conflict || !strings.Contains(talk, "m"):
				t.Errorf("a loser was told %q with exit code %d", talk, code)
			}
		})
	}
	all.Wait()
	want(t, "winners", winners.Load(), 1)

	version := fmt.Sprint(lead.show("1").Version)
	lead.do("task", "update", "1", "--subject", "newer")
	says(t, lead.no(conflict, "task", "update", "1", "--subject", "older", "--if-version", version), "subject")
	lead.do("task", "update", "1", "--active-form", "Working", "--if-version", version) // other fields
}

func TestRuntimeCautionTransitiveBlockersAreShown(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "one")
	s.do("task", "add", "two", "--blocked-by", "1")
	s.do("task", "add", "three", "--blocked-by", "2")
	says(t, s.do("task", "why", "3"), "two", "one", "cadre task start 1")
	says(t, s.do("task", "graph"), "1 → 2 → 3")
}

func TestRuntimeCautionUnblockingWithoutDeleting(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "one")
	s.do("task", "add", "two", "--blocked-by", "1")
	s.do("task", "unblock", "2", "--by", "1")
	s.do("task", "start", "2")
	want(t, "1 is still there and blocks", len(s.show("1").Blocks), 0)
}

func TestRuntimeTheSchemaIsEnforced(t *testing.T) {
	s := newMachine(t).session(leadSession)
	s.do("task", "add", strings.Repeat("ä", 500))
	for name, args := range map[string][]string{
		"no subject":     {"task", "add", ""},
		"long subject":   {"task", "add", strings.Repeat("ä", 501)},
		"unknown status": {"task", "update", "1", "--status", "blocked"},
		"a path as id":   {"task", "show", "../1"},
		"unknown flag":   {"task", "add", "x", "--colour", "red"},
		"bad metadata":   {"task", "add", "x", "--metadata", "nokey"},
	} {
		if _, _, code := s.try("", args...); code != usage {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
	want(t, "tasks", len(s.list()), 1)
}

func TestRuntimeNobodyWritesElsewhere(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.session(leadSession), m.session(workerSession)
	lead.do("task", "add", "in my own list")
	lead.do("team", "create", "crew")
	lead.do("task", "add", "in the team")
	for _, scope := range []string{leadSession, "crew"} {
		worker.no(notAllowed, "task", "add", "x", "--scope", scope)
		worker.no(notAllowed, "task", "done", "1", "--scope", scope)
		worker.no(notAllowed, "task", "comment", "1", "x", "--scope", scope)
	}
	worker.no(notAllowed, "team", "delete", "crew", "--force")
}

func TestRuntimeTheStateFolderIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are those of unix")
	}
	s := newMachine(t).session(leadSession)
	s.do("task", "add", "work")
	err := filepath.WalkDir(filepath.Join(s.dir, "state"), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRuntimeEveryChangeIsRecorded(t *testing.T) {
	m := newMachine(t)
	lead, worker := m.crew()
	lead.do("task", "add", "work")
	worker.do("task", "start", "1")
	lead.do("task", "update", "1", "--subject", "more work")
	events := get[[]event](lead, "log", "--limit", "0")
	for i, e := range events {
		if e.Seq != i+1 || e.Time.IsZero() || e.Actor.Kind == "" || e.Hash == "" || i > 0 && e.Prev != events[i-1].Hash {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	says(t, lead.do("blame", "1"), "more work", "analyst")
	says(t, lead.do("blame", "1", "--json"), "session-22222222")
	last := fmt.Sprint(events[len(events)-1].Seq)
	lead.do("undo", last)
	want(t, "undone", lead.show("1").Subject, "work")
	m.operator().do("audit", "verify")
}

func TestRuntimeAThousandTasks(t *testing.T) {
	s := newMachine(t).session(leadSession)
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"subject":"task %d"`, i)
		if i > 0 {
			fmt.Fprintf(&lines, `,"blockedBy":["@%d"]`, i)
		}
		lines.WriteString("}\n")
	}
	if out, talk, code := s.try(lines.String(), "import", "-"); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, talk)
	}
	want(t, "tasks", len(s.list()), 1000)
	want(t, "the only ready one", subjects(get[[]task](s, "task", "ready")), "1 task 0")
	want(t, "freed", get[task](s, "task", "done", "1").Freed, []string{"2"})
	says(t, s.no(blocked, "task", "block", "2", "--by", "1000"), "waits for")
}
