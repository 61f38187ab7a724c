package soak_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cadre"
	"cadre/claudefile"
)

// withFiles is a machine whose lists stand in Claude Code's files as well.
func withFiles(t testing.TB) *machine {
	t.Helper()
	m := newMachine(t)
	m.files = true
	return m
}

// claude is Claude Code's folder, or something in it.
func (m *machine) claude(parts ...string) string {
	return filepath.Join(append([]string{m.home, "claude"}, parts...)...)
}

// logged is the same machine as one sees it who looks at the log alone.
func (m *machine) logged() *machine {
	other := *m
	other.files = false
	return &other
}

// memory is where a machine remembers what it wrote into Claude Code's folder.
func (m *machine) memory() string {
	real, err := filepath.EvalSymlinks(m.home)
	if err != nil {
		m.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(filepath.Join(real, "claude")))
	return filepath.Join(m.state, "claude", hex.EncodeToString(sum[:6]))
}

// moved gives another machine with the same files, times and memory.
func (m *machine) moved(home string) *machine {
	m.t.Helper()
	other := m.copyOf(home)
	if err := os.Rename(filepath.Join(other.state, "claude", filepath.Base(m.memory())), other.memory()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	err := filepath.WalkDir(m.claude(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(home, strings.TrimPrefix(path, m.home)), info.ModTime(), info.ModTime())
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return other
}

// differences says in what a list's files differ from its log. Nothing is taken in
// or written for that.
func (m *machine) differences(list string) []string {
	m.t.Helper()
	var out []string
	r := m.logged().run("task", "list", "--scope", list, "--json")
	var tasks []cadre.TaskView
	if r.code == 0 {
		if err := json.Unmarshal([]byte(r.out), &tasks); err != nil {
			m.t.Fatal(err)
		}
	} else if r.code != 3 { // an archived list has no tasks, and so no files
		m.t.Fatal(r)
	}
	names, err := filepath.Glob(m.claude("tasks", list, "*.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	left := map[string]bool{}
	for _, name := range names {
		left[name] = true
	}
	for _, t := range tasks {
		path := m.claude("tasks", list, string(t.ID)+".json")
		delete(left, path)
		data, err := os.ReadFile(path)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		if diff := taskDiffers(&t, data); diff != "" {
			out = append(out, diff)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out = append(out, name+" is the file of no task")
	}
	return append(out, m.mailDiffers(list)...)
}

// taskDiffers says in what a task and its file differ.
func taskDiffers(t *cadre.TaskView, data []byte) string {
	f, err := claudefile.ReadTask(data)
	if err != nil {
		return fmt.Sprintf("%s.json: %v", t.ID, err)
	}
	sorted := func(ids []cadre.TaskID) string {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		return fmt.Sprint(slices.Compact(ids))
	}
	var blocks, blockedBy []cadre.TaskID
	for _, id := range f.Blocks {
		blocks = append(blocks, cadre.TaskID(id))
	}
	for _, id := range f.BlockedBy {
		blockedBy = append(blockedBy, cadre.TaskID(id))
	}
	says := fmt.Sprintf("%q %q %q of %s %s waits %s blocks %s", f.Subject, f.Description, f.ActiveForm, f.Owner, f.Status, sorted(blockedBy), sorted(blocks))
	is := fmt.Sprintf("%q %q %q of %s %s waits %s blocks %s", t.Subject, t.Description, t.ActiveForm, t.Owner, t.Status, sorted(t.BlockedBy), sorted(t.Blocks))
	if says != is {
		return fmt.Sprintf("%s.json says %s, the log says %s", t.ID, says, is)
	}
	return ""
}

// mailDiffers says what a team's files lack: a member, or a message that waits for
// its reader.
func (m *machine) mailDiffers(list string) []string {
	m.t.Helper()
	r := m.logged().run("member", "list", "--scope", list, "--json")
	if r.code != 0 {
		return nil // a list without a team, or none at all
	}
	var members []cadre.Member
	if err := json.Unmarshal([]byte(r.out), &members); err != nil {
		m.t.Fatal(err)
	}
	if len(members) == 0 {
		return nil
	}
	var out []string
	data, err := os.ReadFile(m.claude("teams", list, "config.json"))
	if err != nil {
		return []string{err.Error()}
	}
	config, err := claudefile.ReadConfig(data)
	if err != nil {
		return []string{"config.json: " + err.Error()}
	}
	for _, member := range members {
		if member.State == cadre.StateDeparted {
			continue
		}
		if !slices.ContainsFunc(config.Members, func(c claudefile.Member) bool { return c.Name == member.Name }) {
			out = append(out, "config.json lacks "+member.Name)
		}
		box, err := os.ReadFile(m.claude("teams", list, "inboxes", member.Name+".json"))
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		entries, err := claudefile.ReadInbox(box)
		if err != nil {
			out = append(out, member.Name+".json: "+err.Error())
			continue
		}
		there := map[string]bool{}
		for _, e := range entries {
			id, _, _ := strings.Cut(strings.TrimPrefix(e.MsgID, "cadre-"), "-")
			there[id] = true
			if e.MsgID == "" { // another program wrote it
				there[e.From+": "+e.Text] = true
			}
		}
		for _, msg := range m.unread(list, member.Name) {
			if !there[string(msg.ID)] && !there[msg.From+": "+msg.Text] {
				out = append(out, fmt.Sprintf("the inbox of %s lacks %q", member.Name, msg.Text))
			}
		}
	}
	return out
}

// unread is the mail that waits for a member in the log.
func (m *machine) unread(list, name string) []*cadre.Message {
	m.t.Helper()
	byID := map[cadre.MessageID]*cadre.Message{}
	for _, e := range ask[[]cadre.Event](m.logged(), "log", "--limit", "0", "--scope", list) {
		if msg, ok := e.After.(*cadre.Message); ok && msg.To == name {
			byID[msg.ID] = msg
		}
	}
	var out []*cadre.Message
	for _, msg := range byID {
		if msg.ReadAt == nil {
			out = append(out, msg)
		}
	}
	return out
}

// locks are the lock folders in Claude Code's folder.
func (m *machine) locks() []string {
	m.t.Helper()
	var out []string
	err := filepath.WalkDir(m.claude(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasSuffix(path, ".lock") {
			out = append(out, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return out
}

// watchJSON reads every JSON file of Claude Code's folder again and again, taking
// no lock. What it is told at the end is what ever failed to parse, and how often
// it read.
func (m *machine) watchJSON() (stop func() (broken []string, reads int)) {
	end, ended := make(chan struct{}), sync.WaitGroup{}
	var broken []string
	reads := 0
	ended.Go(func() {
		for {
			for _, pattern := range []string{"tasks/*/*.json", "teams/*/*.json", "teams/*/inboxes/*.json"} {
				names, _ := filepath.Glob(m.claude(pattern)) // the pattern is good
				for _, name := range names {
					data, err := os.ReadFile(name)
					if err != nil {
						continue // removed meanwhile
					}
					if reads++; !json.Valid(data) {
						broken = append(broken, fmt.Sprintf("%s held %q", name, data))
					}
				}
			}
			select {
			case <-end:
				return
			case <-time.After(500 * time.Microsecond):
			}
		}
	})
	return func() ([]string, int) {
		close(end)
		ended.Wait()
		return broken, reads
	}
}
