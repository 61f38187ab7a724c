package claudedir_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"cadre"
	"cadre/claudefile"
)

// asVisible are the changes that make tasks visible which the client passes over
// without a word, and an edge that leads nowhere. mirrored is the other end of an
// edge that one file shows alone; later the client has it too.
var asVisible = []string{
	`tasks/Shared-List-1/10.json: blockedBy ["999"] is []`,
	`tasks/Shared-List-1/2.json: status "open" is "pending"`,
	`tasks/Shared-List-1/3.json: blockedBy nothing is []`,
	`tasks/Shared-List-1/3.json: blocks nothing is []`,
	`tasks/Shared-List-1/4.json: id 4 is "4"`,
	`tasks/Shared-List-1/5.json: id "50" is "5"`,
	`tasks/Shared-List-1/7.json: description nothing is ""`,
	`tasks/Shared-List-1/8.json: owner null is nothing`,
}

var mirrored = []string{`tasks/Shared-List-1/1.json: blockedBy [] is ["10"]`}

// captures are the recorded runs, and every difference that Cadre makes in them:
// those that last, and those that the client's next writes take away.
var captures = map[string]struct{ stays, passes []string }{
	"new-lifecycle": {
		stays: []string{
			`tasks/session-734472a4/1.json: blockedBy ["3"] is []`,
			`tasks/session-734472a4/3.json: blocks ["1"] is []`,
			`teams/session-734472a4/inboxes/team-lead.json: cadre adds "a file says that task 1 waits for 3, which was left out: that would be a cycle: 1 waits for 3 waits for 1"`,
		},
	},
	"new-odd-files": {stays: asVisible, passes: mirrored},
	"new-panes":     {},
	"old-lifecycle": { // at the end the client deletes the team
		passes: []string{
			`tasks/demo-team/1.json: blockedBy ["1","3"] is []`,
			`tasks/demo-team/1.json: blocks ["3","2","1"] is ["3","2"]`,
			`tasks/demo-team/3.json: blocks ["1"] is []`,
			`teams/demo-team/inboxes/team-lead.json: cadre adds "a file says that task 1 waits for 1, which was left out: task 1 cannot wait for itself; ` +
				`a file says that task 1 waits for 3, which was left out: that would be a cycle: 1 waits for 3 waits for 1"`,
		},
	},
	"old-odd-files":     {stays: asVisible, passes: mirrored},
	"old-odd-team-name": {},
	"old-plan-mode":     {},
}

// TestCaptures: Cadre looks on while a real client works alone. It takes in every
// task and message, and writes to the client's files nothing but the differences
// that are listed.
func TestCaptures(t *testing.T) {
	for name, want := range captures {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			client := map[string]string{} // the files as the client left them
			seen, made := &shown{}, map[string]bool{}
			var left []string
			for _, s := range capture(t, filepath.Join("testdata", "captures", name+".txtar")) {
				w.play(s, client)
				seen.add(t, s)
				before := w.tree()
				w.takeInAll()
				left = w.differences(client, before)
				for _, d := range left {
					made[d] = true
				}
			}
			if diff := cmp.Diff(want.stays, left); diff != "" {
				t.Errorf("the differences at the end (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(want.stays, want.passes))), slices.Sorted(maps.Keys(made))); diff != "" {
				t.Errorf("the differences on the way (-want +got):\n%s", diff)
			}
			if len(seen.tasks) == 0 {
				t.Error("the capture shows no task")
			}
			for _, lost := range seen.missing(w.inLog()) {
				t.Errorf("the log does not have %s", lost)
			}
		})
	}
}

// TestCaptureChecksNotice plants what the checks above are for.
func TestCaptureChecksNotice(t *testing.T) {
	w := newWorld(t)
	w.foreign("1", "one", nil)
	client := map[string]string{"tasks/docs/1.json": string(w.read(w.taskPath("1")))}
	before := w.tree()
	if got := w.differences(client, before); len(got) != 0 {
		t.Fatalf("nothing was touched, and it differs: %v", got)
	}
	plant := func(what, says string) {
		t.Helper()
		if got := strings.Join(w.differences(client, before), "\n"); !strings.Contains(got, says) {
			t.Errorf("%s: the differences are %q", what, got)
		}
	}
	if err := os.Rename(w.taskPath("1"), w.taskPath("2")); err != nil {
		t.Fatal(err)
	}
	plant("a file is gone", "1.json: gone")
	plant("a file is new", "2.json: new")
	w.write(w.taskPath("1"), client["tasks/docs/1.json"])
	plant("the same content again", "written again")
	w.edit("1", map[string]any{"owner": "bob"})
	plant("another key", `owner nothing is "bob"`)

	seen := &shown{}
	seen.add(t, step{written: map[string]string{
		"tasks/docs/1.json":            `{"subject":"one"}`,
		"teams/docs/inboxes/lead.json": `[{"from":"a","text":"hello"}]`,
	}})
	if got := seen.missing(w.inLog()); len(got) != 2 {
		t.Errorf("of what an empty log does not have, %v is noticed", got)
	}
}

// step is what a client changed in its folder between two looks.
type step struct {
	name    string
	written map[string]string
	removed []string
}

// capture reads the steps of a recorded run.
func capture(t *testing.T, path string) (steps []step) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		name, file, _ := strings.Cut(f.Name, " ")
		if len(steps) == 0 || steps[len(steps)-1].name != name {
			steps = append(steps, step{name: name, written: map[string]string{}})
		}
		s := &steps[len(steps)-1]
		if gone, ok := strings.CutPrefix(file, "-"); ok {
			s.removed = append(s.removed, gone)
			continue
		}
		s.written[file] = strings.TrimSuffix(string(f.Data), "\n")
	}
	return steps
}

// play does what the client did. Folders go with their last file.
func (w *world) play(s step, client map[string]string) {
	w.Helper()
	for _, file := range s.removed {
		if err := os.Remove(w.path(file)); err != nil && client[file] != "" {
			w.Fatal(err)
		}
		delete(client, file)
		for dir := filepath.Dir(file); strings.Contains(dir, string(filepath.Separator)) && os.Remove(w.path(dir)) == nil; {
			dir = filepath.Dir(dir)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(s.written)) {
		w.write(w.path(file), s.written[file])
		client[file] = s.written[file]
	}
}

// takeInAll looks at every scope there is.
func (w *world) takeInAll() {
	w.Helper()
	for info, err := range w.store.Scopes(context.Background()) {
		if err != nil {
			w.Fatal(err)
		}
		if info.Where == cadre.Live && info.Scope != cadre.Host {
			if err := w.store.Refresh(context.Background(), info.Scope); err != nil {
				w.Fatalf("%s: %v", info.Scope, err)
			}
		}
	}
}

// tree is every file in the client's folder.
func (w *world) tree() map[string]fs.FileInfo {
	w.Helper()
	files := map[string]fs.FileInfo{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(w.dir, path)
		files[filepath.ToSlash(name)], err = d.Info()
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return files
}

// differences says what is not as the client left it: key by key in tasks, entry
// by entry in inboxes. A file that says the same must not have been touched.
func (w *world) differences(client map[string]string, before map[string]fs.FileInfo) (out []string) {
	w.Helper()
	now := w.tree()
	for file, was := range client {
		info := now[file]
		if info == nil {
			out = append(out, file+": gone")
			continue
		}
		is := string(w.read(w.path(file)))
		switch {
		case is != was:
			out = append(out, inFile(file, was, is)...)
		case !os.SameFile(info, before[file]) || !info.ModTime().Equal(before[file].ModTime()):
			out = append(out, file+": written again")
		}
	}
	for file := range now {
		if _, ok := client[file]; !ok {
			out = append(out, inFile(file, "", string(w.read(w.path(file))))...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inFile says in which keys or entries two contents of a file differ.
func inFile(file, was, is string) (out []string) {
	if entries, err := claudefile.ReadInbox([]byte(is)); err == nil && strings.Contains(file, "/inboxes/") {
		theirs, _ := claudefile.ReadInbox([]byte(was))
		for _, e := range entries {
			if e.From == "cadre" {
				out = append(out, fmt.Sprintf("%s: cadre adds %q", file, e.Text))
			}
		}
		entries = slices.DeleteFunc(entries, func(e claudefile.Entry) bool { return e.From == "cadre" })
		if string(claudefile.WriteInbox(entries)) != string(claudefile.WriteInbox(theirs)) {
			out = append(out, fmt.Sprintf("%s: %s is %s", file, was, is))
		}
		return out
	}
	a, b := keys(was), keys(is)
	if was == "" || b == nil {
		return []string{file + ": new: " + is}
	}
	both := maps.Clone(a)
	maps.Copy(both, b)
	for k := range both {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s: %s %s is %s", file, k, or(a[k], "nothing"), or(b[k], "nothing")))
		}
	}
	return out
}

// keys gives an object's values as compact JSON.
func keys(content string) map[string]string {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &o) != nil {
		return nil
	}
	out := map[string]string{}
	for k, raw := range o {
		var b bytes.Buffer
		json.Compact(&b, raw)
		out[k] = b.String()
	}
	return out
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// shown is every task and message that any look at the folder showed.
type shown struct{ tasks, mail map[string]bool }

func (s *shown) add(t *testing.T, step step) {
	t.Helper()
	if s.tasks == nil {
		s.tasks, s.mail = map[string]bool{}, map[string]bool{}
	}
	for file, content := range step.written {
		parts := strings.Split(file, "/")
		name := strings.TrimSuffix(parts[len(parts)-1], ".json")
		switch {
		case parts[0] == "tasks" && strings.HasSuffix(file, ".json"):
			if task, err := claudefile.ReadTask([]byte(content)); err == nil {
				s.tasks[fmt.Sprintf("task %s of %s, %q", name, parts[1], task.Subject)] = true
			}
		case len(parts) == 4:
			entries, err := claudefile.ReadInbox([]byte(content))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				s.mail[fmt.Sprintf("mail from %s to %s: %s", e.From, name, e.Text)] = true
			}
		}
	}
}

// missing gives what was shown and is not in a log.
func (s *shown) missing(log *shown) (lost []string) {
	for k := range s.tasks {
		if !log.tasks[k] {
			lost = append(lost, k)
		}
	}
	for k := range s.mail {
		if !log.mail[k] {
			lost = append(lost, k)
		}
	}
	return lost
}

// inLog is every task and message that any log ever had.
func (w *world) inLog() *shown {
	w.Helper()
	s := &shown{tasks: map[string]bool{}, mail: map[string]bool{}}
	for info, err := range w.inner.Scopes(context.Background()) {
		if err != nil {
			w.Fatal(err)
		}
		for e, err := range w.inner.Events(context.Background(), info.Scope, cadre.Head{}, false) {
			if err != nil {
				w.Fatal(err)
			}
			switch o := e.After.(type) {
			case *cadre.Task:
				s.tasks[fmt.Sprintf("task %s of %s, %q", o.ID, info.Scope, o.Subject)] = true
			case *cadre.Message:
				text := o.Text
				if o.Raw != nil {
					text = string(o.Raw)
				}
				s.mail[fmt.Sprintf("mail from %s to %s: %s", o.From, o.To, text)] = true
			}
		}
	}
	return s
}
