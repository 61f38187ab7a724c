package claudedir_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
)

// The tables of docs/claude-code.md are these tests' data: each row names a case,
// and says what then is in the log, in the files, flagged, and told to the lead.

// cases do what the rows say. Each begins with a team of ours in which ann works,
// and with task 1, called one.
var cases = map[string]func(w *world){
	// Intake.
	"writes a new task":              func(w *world) { w.foreign("5", "five", nil) },
	"sets owner and status":          func(w *world) { w.edit("1", map[string]any{"owner": "ann", "status": "in_progress"}) },
	"names an owner with its team":   func(w *world) { w.edit("1", map[string]any{"owner": "ann@docs"}) },
	"names an owner nobody knows":    func(w *world) { w.edit("1", map[string]any{"owner": "eve"}) },
	"starts a task for nobody":       func(w *world) { w.edit("1", map[string]any{"status": "in_progress"}) },
	"starts a task that still waits": func(w *world) { w.second(); w.edit("2", map[string]any{"status": "in_progress", "owner": "ann"}) },
	"completes a task that still waits": func(w *world) {
		w.second()
		w.edit("2", map[string]any{"status": "completed", "owner": "ann"})
	},
	"completes it, and later its blocker": func(w *world) {
		w.second()
		w.edit("2", map[string]any{"status": "completed", "owner": "ann"})
		w.task("2")
		w.edit("1", map[string]any{"status": "completed", "owner": "ann"})
	},
	"completes a task whose plan nobody approved": func(w *world) {
		w.must(&cadre.TaskAdd{Subject: "two", Plan: true})
		w.edit("2", map[string]any{"status": "completed", "owner": "ann"})
	},
	"completes a task over a live lease": func(w *world) { w.leased(); w.edit("1", map[string]any{"status": "completed"}) },
	"takes a task from a live lease":     func(w *world) { w.leased(); w.edit("1", map[string]any{"owner": "bob"}) },
	"takes it a second time": func(w *world) {
		w.leased()
		w.edit("1", map[string]any{"owner": "bob"})
		w.task("1")
		w.edit("1", map[string]any{"owner": "bob", "activeForm": "taking it"})
	},
	"reopens a completed task": func(w *world) {
		w.ago(time.Minute, &cadre.TaskDone{ID: "1"})
		w.edit("1", map[string]any{"status": "pending"})
	},
	"rewords a task": func(w *world) { w.edit("1", map[string]any{"subject": "words"}) },
	"writes back words that Cadre replaced less than 2 s ago": func(w *world) {
		at := w.ago(time.Minute, &cadre.TaskUpdate{ID: "1", Subject: new("new")})
		w.edit("1", map[string]any{"subject": "one", "owner": "ann"})
		w.stamp("1", at.Add(1900*time.Millisecond))
	},
	"writes back words that Cadre replaced longer ago": func(w *world) {
		at := w.ago(time.Minute, &cadre.TaskUpdate{ID: "1", Subject: new("new")})
		w.edit("1", map[string]any{"subject": "one"})
		w.stamp("1", at.Add(2100*time.Millisecond))
	},
	"writes back metadata that Cadre replaced less than 10 min ago": func(w *world) { w.oldMetadata(9 * time.Minute) },
	"writes back metadata that Cadre replaced longer ago":           func(w *world) { w.oldMetadata(11 * time.Minute) },
	"takes priority and labels out of the metadata": func(w *world) {
		w.ago(time.Hour, &cadre.TaskUpdate{ID: "1", Priority: new(cadre.Level("high")), Labels: &[]string{"api"}})
		w.edit("1", map[string]any{"metadata": nil})
	},
	"writes a copy from before an edge, less than 10 s ago": func(w *world) { w.oldEdge(9 * time.Second) },
	"writes a copy from before an edge, longer ago":         func(w *world) { w.oldEdge(11 * time.Second) },
	"adds an edge in one of two files": func(w *world) {
		w.foreign("2", "two", nil)
		w.edit("1", map[string]any{"blocks": []string{"2"}})
	},
	"closes a cycle": func(w *world) { w.second(); w.edit("1", map[string]any{"blockedBy": []string{"2"}}) },
	"lets a task wait for itself": func(w *world) {
		w.edit("1", map[string]any{"blocks": []string{"1"}, "blockedBy": []string{"1"}})
	},
	"lets a task wait for one that is not there": func(w *world) { w.edit("1", map[string]any{"blockedBy": []string{"77"}}) },
	"deletes the file of an open task":           func(w *world) { w.second(); w.rm("1") },
	"clears a completed task away":               func(w *world) { w.must(&cadre.TaskDone{ID: "1"}); w.rm("1") },
	"brings the file of a removed task back": func(w *world) {
		w.clock = time.Now().Add(-time.Minute)
		w.must(&cadre.TaskRemove{ID: "1"})
		w.clock = time.Time{}
		w.foreign("1", "one", nil)
	},
	"writes another task under the number of a removed one": func(w *world) {
		w.clock = time.Now().Add(-time.Minute)
		w.second()
		w.must(&cadre.TaskRemove{ID: "1", Unblock: true})
		w.clock = time.Time{}
		w.foreign("1", "other", nil)
	},
	"writes a status nobody knows":   func(w *world) { w.edit("1", map[string]any{"status": "paused"}) },
	"writes open":                    func(w *world) { w.foreign("5", "five", map[string]any{"status": "open"}) },
	"writes resolved":                func(w *world) { w.edit("1", map[string]any{"status": "resolved"}) },
	"leaves out a key that it needs": func(w *world) { w.write(w.taskPath("5"), `{"id":"5","subject":"five","status":"pending"}`) },
	"writes another id into a file":  func(w *world) { w.edit("1", map[string]any{"id": "10"}) },
	"names a file with letters":      func(w *world) { w.foreign("abc", "letters", nil) },
	"adds a key of its own":          func(w *world) { w.edit("1", map[string]any{"theirs": 1}) },
	"breaks the file of a task":      func(w *world) { w.write(w.taskPath("1"), `{"id":`); w.age(w.taskPath("1")) },
	"writes a file that is no task":  func(w *world) { w.write(w.taskPath("5"), `not JSON`); w.age(w.taskPath("5")) },
	"empties a file and fills it a moment later": func(w *world) {
		now := strings.Replace(string(w.read(w.taskPath("1"))), "one", "whole", 1)
		w.write(w.taskPath("1"), "")
		go func() {
			time.Sleep(50 * time.Millisecond)
			os.WriteFile(w.taskPath("1"), []byte(now), 0o600)
		}()
	},
	"writes more than a limit allows": func(w *world) { w.edit("1", map[string]any{"subject": strings.Repeat("x", cadre.MaxSubject+1)}) },

	// Projection.
	"adds a task":            func(w *world) { w.add("two") },
	"adds a task that waits": func(w *world) { w.second() },
	"claims a task":          func(w *world) { w.asAnn(&cadre.TaskClaim{ID: "1"}) },
	"sets priority, labels and a result": func(w *world) {
		w.must(&cadre.TaskUpdate{ID: "1", Priority: new(cadre.Level("high")), Labels: &[]string{"api"}})
		w.must(&cadre.TaskDone{ID: "1", Result: "fine"})
	},
	"comments on a task": func(w *world) { w.must(&cadre.TaskComment{ID: "1", Text: "a note"}) },
	"removes a task":     func(w *world) { w.must(&cadre.TaskRemove{ID: "1"}) },
	"restores a task":    func(w *world) { w.must(&cadre.TaskRemove{ID: "1"}); w.must(&cadre.TaskRestore{ID: "1"}) },
	"changes a task that the client cleared away": func(w *world) {
		w.must(&cadre.TaskDone{ID: "1"})
		w.rm("1")
		w.must(&cadre.TaskComment{ID: "1", Text: "a note"})
	},
	"reopens a task that the client cleared away": func(w *world) {
		w.must(&cadre.TaskDone{ID: "1"})
		w.rm("1")
		w.must(&cadre.TaskUpdate{ID: "1", Status: new("pending")})
	},
	"changes a task whose status nobody knows": func(w *world) {
		w.edit("1", map[string]any{"status": "paused"})
		w.must(&cadre.TaskUpdate{ID: "1", Subject: new("new")})
	},
}

// second adds task 2, which waits for task 1.
func (w *world) second() { w.Helper(); w.add("two", "1") }

func (w *world) asAnn(verb any) {
	w.Helper()
	if _, err := w.as("ann", verb); err != nil {
		w.Fatal(err)
	}
}

// leased has ann work on task 1 with a lease.
func (w *world) leased() { w.Helper(); w.asAnn(&cadre.TaskStart{ID: "1", Lease: time.Hour}) }

// ago carries out a verb some time ago, and says when.
func (w *world) ago(d time.Duration, verb any) time.Time {
	w.Helper()
	at := time.Now().Add(-d)
	w.clock = at
	w.must(verb)
	w.clock = time.Time{}
	return at
}

// stamp says when a task's file was written.
func (w *world) stamp(id cadre.TaskID, at time.Time) {
	w.Helper()
	if err := os.Chtimes(w.taskPath(id), at, at); err != nil {
		w.Fatal(err)
	}
}

func (w *world) rm(id cadre.TaskID) {
	w.Helper()
	if err := os.Remove(w.taskPath(id)); err != nil {
		w.Fatal(err)
	}
}

// oldMetadata has a client write metadata that Cadre replaced so long before.
func (w *world) oldMetadata(before time.Duration) {
	w.Helper()
	w.ago(time.Hour, &cadre.TaskUpdate{ID: "1", Metadata: map[string]json.RawMessage{"step": json.RawMessage("1")}})
	old := w.read(w.taskPath("1"))
	at := w.ago(30*time.Minute, &cadre.TaskUpdate{ID: "1", Metadata: map[string]json.RawMessage{"step": json.RawMessage("2")}})
	w.write(w.taskPath("1"), string(old))
	w.stamp("1", at.Add(before))
}

// oldEdge has a client write a copy from before an edge that Cadre added so long
// before.
func (w *world) oldEdge(before time.Duration) {
	w.Helper()
	w.add("two")
	old := w.read(w.taskPath("2"))
	at := w.ago(time.Minute, &cadre.TaskBlock{ID: "2", By: []cadre.TaskID{"1"}})
	w.write(w.taskPath("2"), string(old))
	w.stamp("2", at.Add(before))
}

// tableRow is one row: what a case leads to.
type tableRow struct{ name, state, file, flag, notice string }

// tableRows reads the tables of the page that have these columns.
func tableRows(t *testing.T) (rows []tableRow) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "claude-code.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := false
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			table = false
		case len(cells) == 7 && strings.TrimSpace(cells[2]) == "State":
			table = true
		case table && !strings.HasPrefix(line, "|---"):
			for i := range cells {
				cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
			}
			rows = append(rows, tableRow{cells[1], cells[2], cells[3], cells[4], cells[5]})
		}
	}
	return rows
}

func TestTheTables(t *testing.T) {
	shown := map[string]bool{}
	for _, row := range tableRows(t) {
		if cases[row.name] == nil || shown[row.name] {
			t.Errorf("the page has a row %q without a case, or twice", row.name)
			continue
		}
		shown[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, fault := range row.hold(t) {
				t.Error(fault)
			}
		})
	}
	for name := range cases {
		if !shown[name] {
			t.Errorf("no row of the page tells of %q", name)
		}
	}
}

// TestTheTableCheckNotices changes each cell of a good row.
func TestTheTableCheckNotices(t *testing.T) {
	good := tableRow{"names an owner nobody knows", "1 one: pending, eve", "same", "1 unknown-owner", ""}
	if faults := good.hold(t); len(faults) != 0 {
		t.Fatalf("a true row has faults: %v", faults)
	}
	for _, bad := range []tableRow{
		{good.name, "1 one: pending", good.file, good.flag, good.notice},
		{good.name, good.state, "1 one: pending", good.flag, good.notice},
		{good.name, good.state, good.file, "", good.notice},
		{good.name, good.state, good.file, good.flag, "somebody came"},
	} {
		if faults := bad.hold(t); len(faults) != 1 {
			t.Errorf("%+v has the faults %v", bad, faults)
		}
	}
}

// hold carries a case out and gives what is not as the row says.
func (r tableRow) hold(t *testing.T) (faults []string) {
	t.Helper()
	w := newWorld(t)
	w.must(&cadre.TeamCreate{Name: string(list)})
	w.must(&cadre.TeamJoin{Name: "ann"})
	w.ago(time.Hour, &cadre.TaskAdd{Subject: "one"})
	cases[r.name](w)
	w.ids()
	var state, visible, flags []string
	err := w.inner.View(context.Background(), list, func(s cadre.Snap) error {
		for task, err := range s.Tasks(cadre.TaskQuery{}) {
			if err != nil {
				return err
			}
			line := say(string(task.ID), task.Subject, string(task.Status), task.Owner, nil, task.BlockedBy, task.Metadata)
			state = append(state, line)
			if task.Status != cadre.Deleted {
				visible = append(visible, line)
			}
			for _, f := range task.Flags {
				flags = append(flags, fmt.Sprintf("%s %s", task.ID, f))
			}
		}
		return cadre.CheckInvariants(s)
	})
	if err != nil {
		t.Fatal(err)
	}
	files := w.sayFiles()
	switch files {
	case "":
		files = "none"
	case strings.Join(visible, "; "):
		files = "same"
	}
	var told []string
	for _, m := range w.mail("team-lead") {
		told = append(told, m.Text)
	}
	differ := func(what, want, got string) {
		if want != got {
			faults = append(faults, fmt.Sprintf("the %s is %q, the page says %q", what, got, want))
		}
	}
	differ("state", r.state, strings.Join(state, "; "))
	differ("file", r.file, files)
	differ("flag", r.flag, strings.Join(flags, ", "))
	if notice := strings.Join(told, "; "); r.notice == "" && notice != "" || !strings.Contains(notice, r.notice) {
		faults = append(faults, fmt.Sprintf("the lead is told %q, the page says %q", notice, r.notice))
	}
	return faults
}

// sayFiles tells of the task files in the words of the page.
func (w *world) sayFiles() string {
	w.Helper()
	paths, err := filepath.Glob(w.taskPath("*"))
	if err != nil {
		w.Fatal(err)
	}
	files := map[string]*claudefile.Task{}
	var lines []string
	for _, path := range paths {
		name := cadre.TaskID(strings.TrimSuffix(filepath.Base(path), ".json"))
		task, err := claudefile.ReadTask(w.read(path))
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s %s", name, w.read(path)))
			continue
		}
		files[string(name)] = task
	}
	for name, task := range files {
		var alone []string // what it blocks, where the other file does not say so
		for _, id := range task.Blocks {
			if files[id] == nil || !slices.Contains(files[id].BlockedBy, name) {
				alone = append(alone, id)
			}
		}
		lines = append(lines, say(task.ID, task.Subject, task.Status, task.Owner, alone, task.BlockedBy, task.Metadata))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// say puts a task into the words of the page.
func say[ID ~string](id, subject, status, owner string, blocks []string, after []ID, metadata map[string]json.RawMessage) string {
	if len(subject) > 20 {
		subject = subject[:3] + "…"
	}
	s := fmt.Sprintf("%s %s: %s", id, subject, status)
	if owner != "" {
		s += ", " + owner
	}
	for _, id := range after {
		s += ", after " + string(id)
	}
	for _, id := range blocks {
		s += ", blocks " + id
	}
	if len(metadata) > 0 {
		text, _ := json.Marshal(metadata)
		s += ", " + string(text)
	}
	return s
}
