//go:build unix

package soak_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cadre"
)

// plant is something that somebody put into Claude Code's folder to do harm.
type plant struct {
	name    string
	put     func(m *machine, outside string) error
	noIDs   bool // no id can be reserved, so that no task can be made
	noFiles bool // the list's own files cannot be reached
}

// linked puts a link to something outside in place of what stands at a path.
func linked(target string, path ...string) func(*machine, string) error {
	return func(m *machine, outside string) error {
		return instead(m.claude(path...), func(at string) error { return os.Symlink(filepath.Join(outside, target), at) })
	}
}

func piped(path ...string) func(*machine, string) error {
	return func(m *machine, _ string) error {
		return instead(m.claude(path...), func(at string) error { return syscall.Mkfifo(at, 0o600) })
	}
}

func folder(path ...string) func(*machine, string) error {
	return func(m *machine, _ string) error {
		return instead(m.claude(path...), func(at string) error { return os.MkdirAll(filepath.Join(at, "inside"), 0o700) })
	}
}

// sparse is a file of 2 GB that takes up no space.
func sparse(path ...string) func(*machine, string) error {
	return holding(func(at string) error { return os.Truncate(at, 2<<30) }, "", path...)
}

// deep is a file of JSON that is nested a million times.
func deep(path ...string) func(*machine, string) error {
	text := strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000)
	return holding(nil, text, path...)
}

func text(content string, path ...string) func(*machine, string) error {
	return holding(nil, content, path...)
}

func holding(then func(string) error, content string, path ...string) func(*machine, string) error {
	return func(m *machine, _ string) error {
		return instead(m.claude(path...), func(at string) error {
			err := os.WriteFile(at, []byte(content), 0o600)
			if err == nil && then != nil {
				err = then(at)
			}
			return err
		})
	}
}

// remembered does something to a file in the folder where the machine remembers.
func remembered(name string, put func(at, outside string) error) func(*machine, string) error {
	return func(m *machine, outside string) error {
		return instead(filepath.Join(m.memory(), name), func(at string) error { return put(at, outside) })
	}
}

func instead(path string, put func(string) error) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return put(path)
}

// unreadable takes all rights away from something, making a file where nothing is.
// For root that means nothing, so root's commands run without its power over files.
func unreadable(paths ...[]string) func(*machine, string) error {
	return func(m *machine, _ string) error {
		if os.Geteuid() == 0 {
			m.by = []string{"setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"}
		}
		for _, path := range paths {
			at := m.claude(path...)
			if _, err := os.Lstat(at); err != nil {
				if err := os.WriteFile(at, []byte(taskText), 0o600); err != nil {
					return err
				}
			}
			if err := os.Chmod(at, 0); err != nil {
				return err
			}
			m.t.Cleanup(func() { _ = os.Chmod(at, 0o700) }) // so that it can be removed
		}
		return nil
	}
}

func each(puts ...func(*machine, string) error) func(*machine, string) error {
	return func(m *machine, outside string) error {
		for _, put := range puts {
			if err := put(m, outside); err != nil {
				return err
			}
		}
		return nil
	}
}

const taskText = `{"id":"5","subject":"planted","description":"","status":"pending","blocks":[],"blockedBy":[]}`

var plants = []plant{
	{name: "link as a new task", put: linked("task.json", "tasks", "docs", "5.json")},
	{name: "link as a task of ours", put: linked("task.json", "tasks", "docs", "1.json")},
	{name: "dangling link as a task", put: linked("none", "tasks", "docs", "5.json")},
	{name: "link as an inbox", put: linked("inbox.json", "teams", "docs", "inboxes", "ann.json")},
	{name: "link as the team's file", put: linked("config.json", "teams", "docs", "config.json")},
	{name: "link as the list's lock", put: linked("empty", "tasks", "docs", ".lock.lock"), noIDs: true},
	{name: "link as what is locked", put: linked("task.json", "tasks", "docs", ".lock")},
	{name: "link as an inbox's lock", put: linked("empty", "teams", "docs", "inboxes", "ann.json.lock")},
	{name: "link as the mark", put: linked("mark", "tasks", "docs", ".highwatermark"), noIDs: true},
	{name: "link as the list", put: linked("list", "tasks", "docs"), noIDs: true, noFiles: true},
	{name: "link as tasks", put: linked("tasks", "tasks"), noIDs: true, noFiles: true},
	{name: "link as the team", put: linked("team", "teams", "docs")},
	{name: "link as the inboxes", put: linked("inboxes", "teams", "docs", "inboxes")},
	{name: "link as teams", put: linked("teams", "teams")},
	{name: "link as another list and team", put: each(linked("list", "tasks", "evil"), linked("team", "teams", "evil"))},
	{name: "link as the whole memory", put: func(m *machine, outside string) error {
		return instead(filepath.Join(m.state, "claude"), func(at string) error { return os.Symlink(filepath.Join(outside, "empty"), at) })
	}, noIDs: true, noFiles: true},
	{name: "link as this folder's memory", put: remembered("", func(at, outside string) error { return os.Symlink(filepath.Join(outside, "empty"), at) }), noIDs: true, noFiles: true},
	{name: "links in the memory", put: each(
		remembered("docs.queue", func(at, outside string) error { return os.Symlink(filepath.Join(outside, "mark"), at) }),
		remembered("docs.files", func(at, outside string) error { return os.Symlink(filepath.Join(outside, "mark"), at) }),
		remembered("docs.slots", func(at, outside string) error { return os.Symlink(filepath.Join(outside, "mark"), at) }),
	), noIDs: true, noFiles: true},
	{name: "damaged memory", put: each(
		remembered("docs.files", func(at, _ string) error { return os.WriteFile(at, []byte("cadre-files 12"), 0o600) }),
		remembered("docs.slots", func(at, _ string) error { return os.WriteFile(at, []byte(strings.Repeat("x", 1000)), 0o600) }),
		remembered("docs.queue", func(at, _ string) error { return os.WriteFile(at, []byte(strings.Repeat("9 ", 4000)), 0o600) }),
	)},
	{name: "pipe as a new task", put: piped("tasks", "docs", "5.json")},
	{name: "pipe as a task of ours", put: piped("tasks", "docs", "1.json")},
	{name: "pipe as an inbox", put: piped("teams", "docs", "inboxes", "ann.json")},
	{name: "pipe as the team's file", put: piped("teams", "docs", "config.json")},
	{name: "pipe as the mark", put: piped("tasks", "docs", ".highwatermark"), noIDs: true},
	{name: "pipe as the list's lock", put: piped("tasks", "docs", ".lock.lock"), noIDs: true},
	{name: "pipe as another list and team", put: each(piped("tasks", "evil"), piped("teams", "evil"), piped("teams", "worse", "config.json"))},
	{name: "folders where files should be", put: each(folder("tasks", "docs", "5.json"), folder("tasks", "docs", "1.json"), folder("teams", "docs", "inboxes", "ann.json"))},
	{name: "folder as the team's file", put: folder("teams", "docs", "config.json")},
	{name: "folder as the mark", put: folder("tasks", "docs", ".highwatermark"), noIDs: true},
	{name: "full folder as the list's lock", put: folder("tasks", "docs", ".lock.lock"), noIDs: true},
	{name: "2 GB as tasks", put: each(sparse("tasks", "docs", "5.json"), sparse("tasks", "docs", "1.json"))},
	{name: "2 GB as an inbox", put: sparse("teams", "docs", "inboxes", "ann.json")},
	{name: "2 GB as the team's file", put: sparse("teams", "docs", "config.json")},
	{name: "2 GB as the mark", put: sparse("tasks", "docs", ".highwatermark")},
	{name: "2 GB as another team", put: sparse("teams", "evil", "config.json")},
	{name: "deep JSON as tasks", put: each(deep("tasks", "docs", "5.json"), deep("tasks", "docs", "1.json"))},
	{name: "deep JSON as an inbox and the team's file", put: each(deep("teams", "docs", "inboxes", "ann.json"), deep("teams", "docs", "config.json"))},
	{name: "names that differ by case", put: each(
		text(taskText, "tasks", "DOCS", "5.json"), text(taskText, "tasks", "Docs", "5.json"), text(taskText, "tasks", "docs", "A.json"), text(taskText, "tasks", "docs", "a.json"),
		text("[]", "teams", "docs", "inboxes", "Ann.json"), text("[]", "teams", "docs", "inboxes", "ANN.json"),
	)},
	{name: "names with control characters", put: each(
		text(taskText, "tasks", "docs", "5\n.json"), text(taskText, "tasks", "docs", "\x1b[31m6.json"), text(taskText, "tasks", "docs", "a\u202eb.json"), text(taskText, "tasks", "docs", "\xff.json"),
		text(taskText, "tasks", "evil\x1b[2J", "1.json"), text("[]", "teams", "docs", "inboxes", "\x1b[31m.json"), text(`{"name":"\u001b[2J","members":[]}`, "teams", "evil\n", "config.json"),
	)},
	{name: "texts with control characters", put: each(
		text(`{"id":"5","subject":"\u001b[2J\u202e","description":"\u0000","owner":"\u001b]0;x\u0007","status":"\u001b[31m","blocks":["\n"],"blockedBy":["\u001b"]}`, "tasks", "docs", "5.json"),
		text(`[{"from":"\u001b[2J","text":"\u001b[31m","timestamp":"\n","color":"\u001b","summary":"\r","read":false}]`, "teams", "docs", "inboxes", "ann.json"),
		text(`{"name":"\u001b[2J","description":"\u001b[31m","members":[{"name":"\u001b[2J","agentId":"x"}]}`, "teams", "evil", "config.json"),
	)},
	{name: "ids past every number", put: each(
		text(taskText, "tasks", "docs", "9223372036854775807.json"), text(taskText, "tasks", "docs", "18446744073709551615.json"),
		text(taskText, "tasks", "docs", "99999999999999999999999.json"), text("99999999999999999999999", "tasks", "docs", ".highwatermark"),
	)},
	{name: "unreadable tasks", put: unreadable([]string{"tasks", "docs", "5.json"}, []string{"tasks", "docs", "1.json"})},
	{name: "unreadable inbox", put: unreadable([]string{"teams", "docs", "inboxes", "ann.json"})},
	{name: "unreadable team's file", put: unreadable([]string{"teams", "docs", "config.json"})},
	{name: "unreadable mark", put: unreadable([]string{"tasks", "docs", ".highwatermark"}), noIDs: true},
	{name: "unreadable team", put: unreadable([]string{"teams", "docs"})},
	{name: "unreadable list", put: unreadable([]string{"tasks", "docs"}), noIDs: true, noFiles: true},
	{name: "thousands of inboxes", put: func(m *machine, _ string) error {
		for i := range inboxes() {
			if err := os.WriteFile(m.claude("teams", "docs", "inboxes", fmt.Sprintf("stranger-%d.json", i)), []byte("[]"), 0o600); err != nil {
				return err
			}
		}
		return nil
	}},
}

// TestSoakHostileFolders plants links, pipes, folders, huge and deep files, and
// names that are none, all over Claude Code's folder and the memory of it. Nothing
// outside is touched, nothing hangs, no control character comes through, a command
// fails only where no id can be reserved, and the good files are still served.
func TestSoakHostileFolders(t *testing.T) {
	t.Parallel()
	prepared := withFiles(t)
	for _, args := range [][]string{
		{"team", "create", "docs"},
		{"team", "join", "docs", "--name", "ann"},
		{"task", "add", "one", "--scope", "docs"},
		{"task", "add", "two", "--scope", "docs"},
		{"task", "add", "three", "--blocked-by", "1", "--scope", "docs"},
	} {
		prepared.must(args...)
	}
	warned := 0
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			m := prepared.moved(filepath.Join(t.TempDir(), "home"))
			m.t = t
			outside := victims(t)
			if err := p.put(m, outside); err != nil {
				t.Fatal(err)
			}
			before := listing(t, outside, "")
			warned += m.besieged(p)
			if after := listing(t, outside, ""); after != before {
				t.Errorf("something outside changed:\n%s\nwas\n%s", after, before)
			}
		})
	}
	t.Logf("%d things planted, %d commands warned", len(plants), warned)
}

func inboxes() int {
	if full() {
		return 10_000
	}
	return 1000
}

// victims is a folder outside with everything a link could lead to.
func victims(t *testing.T) string {
	t.Helper()
	outside := t.TempDir()
	for path, content := range map[string]string{
		"task.json": taskText, "inbox.json": `[{"from":"eve","text":"outside","timestamp":"2026-01-01T00:00:00.000Z","read":false}]`, "mark": "41",
		"config.json": `{"name":"docs","members":[{"name":"outsider","agentId":"outsider@docs"}]}`, "list/7.json": taskText, "tasks/docs/8.json": taskText,
		"team/config.json": `{"name":"evil","members":[]}`, "team/inboxes/ann.json": "[]", "inboxes/ann.json": "[]", "teams/docs/config.json": `{"name":"docs","members":[]}`, "empty/keep": "",
	} {
		path = filepath.Join(outside, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return outside
}

// besieged runs commands on a machine where something was planted, and says how
// many of them warned.
func (m *machine) besieged(p plant) (warned int) {
	t := m.t
	t.Helper()
	if !p.noFiles { // a good file is still taken in
		path := m.claude("tasks", "docs", "2.json")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"two"`, `"two of another program"`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := ""
	for _, args := range [][]string{
		{"task", "list", "--scope", "docs"},
		{"task", "add", "more", "--scope", "docs"},
		{"task", "done", "1", "--scope", "docs", "--as", "ann"},
		{"msg", "send", "ann", "hello", "--scope", "docs"},
		{"msg", "inbox", "ann", "--scope", "docs"},
		{"team", "list"},
		{"member", "list", "--scope", "docs"},
		{},
		{"task", "update", "2", "--metadata", "k=v", "--scope", "docs"},
		{"task", "list", "--scope", "docs"},
	} {
		r := m.run(args...)
		noID := p.noIDs && r.code == 1 && strings.Contains(r.err, "no task id could be reserved")
		if r.code != 0 && !noID {
			t.Errorf("a command fails: %s", r)
		}
		if len(args) > 1 && args[1] == "add" {
			made = strings.TrimSpace(r.out)
		}
		if c, ok := control(r.out + r.err); ok {
			t.Errorf("the control character %q comes through: %s", c, r)
		}
		if strings.Contains(r.err, "behind") {
			warned++
		}
		if strings.Contains(r.out+r.err, "outside") && !strings.Contains(p.name, "memory") || strings.Contains(r.out, "outsider") {
			t.Errorf("something outside was read: %s", r)
		}
	}
	two := ask[cadre.TaskView](m, "task", "show", "2", "--scope", "docs")
	if want := map[bool]string{false: "two of another program", true: "two"}[p.noFiles]; two.Subject != want {
		t.Errorf("task 2 is %q, want %q", two.Subject, want)
	}
	if p.noFiles {
		return warned
	}
	for _, id := range slices.DeleteFunc([]string{"2", made}, func(id string) bool { return id == "" }) {
		view := ask[cadre.TaskView](m, "task", "show", id, "--scope", "docs")
		data, err := os.ReadFile(m.claude("tasks", "docs", id+".json"))
		if err != nil {
			t.Error(err)
		} else if diff := taskDiffers(&view, data); diff != "" {
			t.Error(diff)
		}
	}
	if r := m.run("audit", "verify", "--json"); r.code != 0 || !json.Valid([]byte(r.out)) {
		t.Errorf("the record does not hold: %s", r)
	}
	return warned
}
