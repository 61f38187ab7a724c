package doctor_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cadre/claudefile"
	"cadre/doctor"
)

// newDoctor makes a doctor for an empty folder, on a machine where the process 1 is
// gone, 2 is alive, and tmux has the pane %1.
func newDoctor(t *testing.T) (*doctor.Doctor, folder) {
	d := &doctor.Doctor{
		Folder: t.TempDir(), State: t.TempDir(),
		Now:     func() time.Time { return time.Now().Add(3 * time.Second) }, // no file is so fresh that it may be half of one
		Process: func(p doctor.Process) (gone, known bool) { return p.PID == 1, p.PID == 1 || p.PID == 2 },
		Panes:   func(context.Context) (map[string]bool, bool) { return map[string]bool{"%1": true}, true },
		Used: func(_ context.Context, list string) uint64 {
			return map[string]uint64{"given-7": 7, "given-8": 8, "given-9": 9}[list]
		},
	}
	return d, folder{t, d.Folder}
}

// folder is a folder of Claude Code in which things are planted.
type folder struct {
	t   *testing.T
	dir string
}

func (f folder) put(path, content string) {
	f.t.Helper()
	full := filepath.Join(f.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o640); err != nil {
		f.t.Fatal(err)
	}
}

// lock makes a lock of some age.
func (f folder) lock(path string, age time.Duration) {
	f.t.Helper()
	full := filepath.Join(f.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(full, 0o700); err != nil {
		f.t.Fatal(err)
	}
	f.date(path, age)
}

func (f folder) date(path string, age time.Duration) {
	f.t.Helper()
	at := time.Now().Add(-age)
	if err := os.Chtimes(filepath.Join(f.dir, filepath.FromSlash(path)), at, at); err != nil {
		f.t.Fatal(err)
	}
}

// task puts a task: its status and owner, what it blocks and what it waits for.
func (f folder) task(list, id, status, owner string, blocks, blockedBy []string) {
	f.t.Helper()
	task := claudefile.Task{ID: id, Subject: "task " + id, Status: status, Owner: owner, Blocks: blocks, BlockedBy: blockedBy}
	f.put("tasks/"+list+"/"+id+".json", string(task.Write(nil)))
}

// team puts a config with a lead of process pid and members.
func (f folder) team(folder, name string, pid int, members ...claudefile.Member) {
	f.t.Helper()
	c := claudefile.Config{
		Name: name, LeadAgentID: "team-lead@" + name, LeadSessionID: "uuid-of-" + name,
		LeadProcess: fmt.Appendf(nil, `{"pid":%d,"pidSpace":"host#pid:[1]","procStart":"7"}`, pid),
		Members:     append([]claudefile.Member{{AgentID: "team-lead@" + name, Name: "team-lead", BackendType: "in-process"}}, members...),
	}
	f.put("teams/"+folder+"/config.json", string(c.Write(nil)))
}

func member(name, backend, pane string) claudefile.Member {
	return claudefile.Member{AgentID: name + "@team", Name: name, BackendType: backend, TmuxPaneID: pane}
}

func mail(read bool) string {
	return string(claudefile.WriteInbox([]claudefile.Entry{{From: "ann", Text: "hi", Timestamp: "2026-11-15T02:38:35.210Z", Read: read}}))
}

func examine(t *testing.T, d *doctor.Doctor) *doctor.Report {
	t.Helper()
	r, err := d.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.What == "" || f.Client == "" || (f.Repair == "") == (f.Advice == "") {
			t.Errorf("it does not say everything, or too much: %+v", f)
		}
	}
	return r
}

func fix(t *testing.T, d *doctor.Doctor) *doctor.Report {
	t.Helper()
	r, err := d.Fix(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func findings(r *doctor.Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, f.Code+" "+f.Place)
	}
	slices.Sort(list)
	return list
}

// contents gives every file of a folder: its mode, size and content.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Size() <= claudefile.MaxFile {
			data, err = os.ReadFile(path)
		}
		files[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%s %d %s", info.Mode(), info.Size(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// planted has, for everything that the doctor knows, a folder in which it is: what
// is found, and how much of that is left when it was mended.
var planted = []struct {
	name        string
	plant       func(folder)
	found, left []string
}{
	{"a circle", func(f folder) {
		f.task("l", "1", "pending", "", []string{"2"}, []string{"10"})
		f.task("l", "2", "pending", "", []string{"10"}, []string{"1"})
		f.task("l", "10", "pending", "", []string{"1"}, []string{"2"})
	}, []string{"cycle tasks/l/1.json"}, nil},
	{"two circles through one task", func(f folder) {
		f.task("l", "1", "pending", "", []string{"2", "3"}, []string{"2", "3"})
		f.task("l", "2", "pending", "", []string{"1"}, []string{"1"})
		f.task("l", "3", "pending", "", []string{"1"}, []string{"1"})
	}, []string{"cycle tasks/l/1.json", "cycle tasks/l/1.json"}, nil},
	{"a task that waits for itself", func(f folder) {
		f.task("l", "1", "pending", "", []string{"1"}, []string{"1"})
	}, []string{"self-block tasks/l/1.json"}, nil},
	{"an edge on one side", func(f folder) {
		f.task("l", "1", "pending", "", []string{"2"}, nil)
		f.task("l", "2", "pending", "", nil, nil)
		f.task("l", "3", "pending", "", nil, []string{"1"})
	}, []string{"edge-one-sided tasks/l/1.json", "edge-one-sided tasks/l/3.json"}, nil},
	{"an edge on one side that closes a circle", func(f folder) {
		f.task("l", "1", "pending", "", []string{"2"}, []string{"2"})
		f.task("l", "2", "pending", "", nil, []string{"1"})
	}, []string{"cycle tasks/l/1.json", "edge-one-sided tasks/l/1.json"}, nil},
	{"edges to nothing", func(f folder) {
		f.task("l", "1", "pending", "", []string{"7"}, []string{"8"})
	}, []string{"edge-dangling tasks/l/1.json", "edge-dangling tasks/l/1.json"}, nil},
	{"an edge to what cannot be read is none to nothing", func(f folder) {
		f.task("l", "1", "pending", "", nil, []string{"2"})
		f.put("tasks/l/2.json", "{broken")
	}, []string{"task-broken tasks/l/2.json"}, []string{"task-broken tasks/l/2.json"}},
	{"legacy states", func(f folder) {
		f.task("l", "1", "open", "", nil, nil)
		f.task("l", "2", "resolved", "", nil, nil)
		f.task("l", "3", "abandoned", "", nil, nil)
	}, []string{"task-invisible tasks/l/1.json", "task-invisible tasks/l/2.json", "task-invisible tasks/l/3.json"}, []string{"task-invisible tasks/l/3.json"}},
	{
		"types that are not the client's", func(f folder) {
			f.put("tasks/l/1.json", `{"id":1,"subject":"s","status":"open","blocks":[2],"owner":null,"activeForm":null,"metadata":null,"x":[1.50]}`)
			f.put("tasks/l/2.json", `{"id":"2","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":["1"]}`)
			f.put("tasks/l/3.json", `{"id":"3","subject":7,"description":"d","status":"pending","blocks":[],"blockedBy":[]}`)
			f.put("tasks/l/4.json", `{"id":"4","subject":"s","description":{},"status":"pending","blocks":[],"blockedBy":[]}`)
			f.put("tasks/l/5.json", `{"id":"5","subject":"s","description":"d","status":"pending","blocks":[{}],"blockedBy":[]}`)
		},
		[]string{"task-invisible tasks/l/1.json", "task-invisible tasks/l/3.json", "task-invisible tasks/l/4.json", "task-invisible tasks/l/5.json"},
		[]string{"task-invisible tasks/l/3.json", "task-invisible tasks/l/4.json", "task-invisible tasks/l/5.json"},
	},
	{"an id that is not the name", func(f folder) {
		f.put("tasks/l/5.json", `{"id":"50","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[]}`)
		f.put("tasks/l/a-b.json", `{"id":"a b","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[]}`)
	}, []string{"task-id tasks/l/5.json"}, nil},
	{"owners that are nobody", func(f folder) {
		f.team("team", "team", 2, member("ann", "in-process", ""))
		f.task("team", "1", "in_progress", "eve", nil, nil)
		f.task("team", "2", "pending", "eve", nil, nil)
		f.task("team", "3", "completed", "eve", nil, nil)
		f.task("team", "4", "in_progress", "ann", nil, nil)
		f.task("team", "5", "in_progress", "ann@team", nil, nil)
		f.task("other", "1", "in_progress", "eve", nil, nil)
	}, []string{"owner-unknown tasks/team/1.json", "owner-unknown tasks/team/2.json"}, []string{"owner-unknown tasks/team/2.json"}},
	{"locks", func(f folder) {
		f.lock("tasks/l/.lock.lock", time.Minute)
		f.lock("tasks/l/2.json.lock", 5*time.Second)
		f.lock("tasks/l/3.json.lock", -time.Second)
		f.put("tasks/l/4.json.lock", "")
		f.put("tasks/l/5.json.lock/x", "")
		f.date("tasks/l/5.json.lock", time.Minute)
		f.put("tasks/l/.lock", "")
		f.lock("teams/team/config.json.lock", time.Minute)
		f.lock("teams/team/inboxes/ann.json.lock", time.Minute)
	}, []string{
		"lock-stale tasks/l/.lock.lock", "lock-stale teams/team/config.json.lock",
		"lock-stale teams/team/inboxes/ann.json.lock", "lock-stuck tasks/l/4.json.lock", "lock-stuck tasks/l/5.json.lock",
	}, []string{"lock-stuck tasks/l/4.json.lock", "lock-stuck tasks/l/5.json.lock"}},
	{
		"inboxes that nobody reads", func(f folder) {
			f.team("team", "team", 2, member("ann b", "in-process", ""))
			f.put("teams/team/inboxes/ann-b.json", mail(false))
			f.put("teams/team/inboxes/team-lead.json", "")
			f.put("teams/team/inboxes/eve.json", mail(false))
			f.put("teams/team/inboxes/bob.json", mail(true))
			f.put("teams/list/inboxes/bob.json", "[]")
		},
		[]string{"inbox-orphan teams/list/inboxes/bob.json", "inbox-orphan teams/team/inboxes/bob.json", "inbox-orphan teams/team/inboxes/eve.json"},
		[]string{"inbox-orphan teams/team/inboxes/eve.json"},
	},
	{
		"inboxes and a config that cannot be read", func(f folder) {
			f.put("teams/team/config.json", "{")
			f.put("teams/team/inboxes/ann.json", mail(true))
			f.put("teams/team/inboxes/bob.json", `{"from":"x"}`)
		},
		[]string{"config-broken teams/team/config.json", "inbox-broken teams/team/inboxes/bob.json"},
		[]string{"config-broken teams/team/config.json", "inbox-broken teams/team/inboxes/bob.json"},
	},
	{
		"messages that are none", func(f folder) {
			f.team("team", "team", 2)
			f.put("teams/team/inboxes/team-lead.json", `[7,{"from":"a","text":"t","timestamp":"T","color":null,"read":false}]`)
		},
		[]string{"inbox-entry teams/team/inboxes/team-lead.json", "inbox-entry teams/team/inboxes/team-lead.json"},
		[]string{"inbox-entry teams/team/inboxes/team-lead.json", "inbox-entry teams/team/inboxes/team-lead.json"},
	},
	{"a large inbox", func(f folder) {
		f.team("team", "team", 2)
		f.put("teams/team/inboxes/team-lead.json", string(claudefile.WriteInbox([]claudefile.Entry{{Text: strings.Repeat("x", 1<<20)}})))
	}, []string{"inbox-large teams/team/inboxes/team-lead.json"}, []string{"inbox-large teams/team/inboxes/team-lead.json"}},
	{"a name that makes two folders", func(f folder) {
		f.team("my-team-x", "My_Team.X", 2, member("ann", "in-process", ""))
		f.put("teams/My_Team-X/inboxes/ann.json", mail(true))
		f.task("My_Team-X", "1", "in_progress", "ann", nil, nil)
	}, []string{"team-split teams/my-team-x/config.json"}, []string{"team-split teams/my-team-x/config.json"}},
	{"a lead that is gone", func(f folder) {
		f.team("team", "team", 1, member("ann", "in-process", ""), member("bob", "tmux", "%1"))
		f.put("teams/team/inboxes/ann.json", mail(true))
		f.task("team", "1", "in_progress", "ann", nil, nil)
		f.task("team", "2", "in_progress", "bob", nil, nil)
		f.task("uuid-of-team", "1", "pending", "", nil, nil)
	}, []string{
		"inbox-orphan teams/team/inboxes/ann.json", "lead-gone teams/team/config.json",
		"member-dead teams/team/config.json", "owner-unknown tasks/team/1.json",
	}, []string{"lead-gone teams/team/config.json"}},
	{"a pane that is gone", func(f folder) {
		f.team("team", "team", 2, member("ann", "tmux", "%1"), member("bob", "tmux", "%2"), member("eve", "in-process", ""))
		f.team("far", "far", 3, member("bob", "tmux", "%2"))
	}, []string{"member-dead teams/team/config.json"}, nil},
	{
		"tasks that an idle teammate takes", func(f folder) {
			f.team("team", "team", 2)
			f.task("team", "1", "pending", "", nil, nil)
			f.task("uuid-of-team", "1", "pending", "", []string{"3"}, nil)
			f.task("uuid-of-team", "2", "completed", "", []string{"4"}, nil)
			f.task("uuid-of-team", "3", "pending", "", nil, []string{"1"})
			f.task("uuid-of-team", "4", "pending", "", nil, []string{"2"})
			f.task("uuid-of-team", "5", "pending", "bob", nil, nil)
		},
		[]string{"auto-claim tasks/uuid-of-team/1.json", "auto-claim tasks/uuid-of-team/4.json"},
		[]string{"auto-claim tasks/uuid-of-team/1.json", "auto-claim tasks/uuid-of-team/4.json"},
	},
	{"marks", func(f folder) {
		f.task("l", "12", "pending", "", nil, nil)
		f.put("tasks/l/.highwatermark", "many")
		f.task("m", "12", "pending", "", nil, nil)
		f.put("tasks/m/.highwatermark", "4\n") // as the client leaves it
		f.put("tasks/n/.highwatermark", "")
	}, []string{"mark-unreadable tasks/l/.highwatermark", "mark-unreadable tasks/n/.highwatermark"}, nil},
	{"marks below an id that was given", func(f folder) {
		f.task("given-7", "5", "pending", "", nil, nil)
		f.put("tasks/given-7/.highwatermark", "6")
		f.task("given-8", "8", "pending", "", nil, nil)
		f.put("tasks/given-8/.highwatermark", "4") // its file counts as well
		f.task("given-9", "2", "pending", "", nil, nil)
	}, []string{"mark-low tasks/given-7/.highwatermark", "mark-low tasks/given-9/.highwatermark"}, []string{"mark-low tasks/given-9/.highwatermark"}},
	{"what was left behind", func(f folder) {
		f.team("team", "team", 2)
		f.put("teams/team/inboxes/team-lead.json.tmp.0a1b2c3d", "[")
		f.date("teams/team/inboxes/team-lead.json.tmp.0a1b2c3d", time.Minute)
		f.put("teams/team/inboxes/team-lead.json.tmp.ffffffff", "[")
		f.put("teams/session-1.deleted-0f/config.json", "{}")
		f.put("teams/session-1.deleted-0f/inboxes/ann.json", mail(false))
		f.put("teams/session-2.deleted-0f/a/b/c/d", "too deep to be a team")
	}, []string{
		"leftover-file teams/team/inboxes/team-lead.json.tmp.0a1b2c3d", "leftover-team teams/session-1.deleted-0f", "leftover-team teams/session-2.deleted-0f",
	}, []string{"leftover-team teams/session-2.deleted-0f"}},
	{
		"links and folders that are none", func(f folder) {
			f.put("teams", "a file")
			f.task("l", "1", "pending", "", nil, nil)
			for from, to := range map[string]string{"tasks/l/2.json": "1.json", "tasks/m": "l", "tasks/l/3.json": "/etc/passwd"} {
				if err := os.Symlink(to, filepath.Join(f.dir, from)); err != nil {
					f.t.Fatal(err)
				}
			}
		},
		[]string{"irregular tasks/l/2.json", "irregular tasks/l/3.json", "irregular tasks/m", "irregular teams"},
		[]string{"irregular tasks/l/2.json", "irregular tasks/l/3.json", "irregular tasks/m", "irregular teams"},
	},
	{
		"files that are too much", func(f folder) {
			f.put("tasks/l/1.json", "")
			if err := os.Truncate(filepath.Join(f.dir, "tasks/l/1.json"), 2<<30); err != nil {
				f.t.Fatal(err)
			}
			f.put("tasks/l/2.json", strings.Repeat(`{"a":`, 200_000))
			f.put("tasks/l/3.json", strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100))
			f.task("l", "4", "open", "", nil, nil)
		},
		[]string{"task-broken tasks/l/2.json", "task-broken tasks/l/3.json", "task-invisible tasks/l/4.json", "too-large tasks/l/1.json"},
		[]string{"task-broken tasks/l/2.json", "task-broken tasks/l/3.json", "too-large tasks/l/1.json"},
	},
	{"names that differ by case", func(f folder) {
		f.task("l", "a", "pending", "", nil, nil)
		f.task("l", "A", "pending", "", nil, nil)
		f.task("L", "1", "pending", "", nil, nil)
	}, []string{"case-clash tasks/l", "case-clash tasks/l/a.json"}, []string{"case-clash tasks/l", "case-clash tasks/l/a.json"}},
}

func TestPlanted(t *testing.T) {
	for _, tt := range planted {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, f := newDoctor(t)
			tt.plant(f)
			before := contents(t, d.Folder)
			if diff := cmp.Diff(tt.found, findings(examine(t, d))); diff != "" {
				t.Errorf("found: %s", diff)
			}
			dry, err := d.Fix(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, contents(t, d.Folder)); diff != "" {
				t.Errorf("a dry run wrote: %s", diff)
			}
			if len(contents(t, d.State)) > 0 {
				t.Error("a dry run made copies")
			}
			fixed := fix(t, d)
			if diff := cmp.Diff(tt.left, findings(fixed)); diff != "" {
				t.Errorf("left: %s", diff)
			}
			for _, c := range fixed.Changes {
				if !c.Done || c.Left != "" {
					t.Errorf("not done: %+v", c)
				}
			}
			if len(dry.Changes) != len(fixed.Changes) || (len(fixed.Changes) == 0) != (len(tt.found) == len(tt.left)) {
				t.Errorf("%d changes were announced, %d made", len(dry.Changes), len(fixed.Changes))
			}
			if again := fix(t, d); len(again.Changes) > 0 {
				t.Errorf("mended twice: %+v", again.Changes)
			}
			if fixed.Backup == "" {
				return
			}
			restored, err := d.Restore(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, contents(t, d.Folder)); diff != "" {
				t.Errorf("put back: %s", diff)
			}
			if !restored.Healthy() {
				t.Errorf("not put back: %+v", restored.Changes)
			}
		})
	}
}

// Taking such a lock away takes as long as a lock must be watched to be known as
// left behind, so it is only looked at here.
func TestLockFromTheFuture(t *testing.T) {
	d, f := newDoctor(t)
	f.lock("tasks/l/1.json.lock", -time.Hour)
	dry, err := d.Fix(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lock-stuck tasks/l/1.json.lock"}, findings(dry)); diff != "" || len(dry.Changes) != 1 {
		t.Errorf("%s, %+v", diff, dry.Changes)
	}
}

func TestHealthyFolders(t *testing.T) {
	d, f := newDoctor(t)
	d.Folder = filepath.Join(d.Folder, "not there")
	if r := examine(t, d); !r.Healthy() {
		t.Errorf("no folder: %v", findings(r))
	}
	d.Folder = f.dir
	f.put("settings.json", "{")
	f.put("tasks/.DS_Store", "x")
	f.team("team", "team", 2, member("ann", "tmux", "%1"), member("bob", "iterm2", "x"))
	f.put("teams/team/inboxes/ann.json", mail(false))
	f.put("teams/team/inboxes/team-lead.json", "[]")
	f.put("tasks/team/.lock", "")
	f.put("tasks/team/.highwatermark", "7")
	f.lock("tasks/team/.lock.lock", 0)
	f.task("team", "1", "completed", "gone", []string{"2"}, nil)
	f.task("team", "2", "in_progress", "ann", nil, []string{"1"})
	f.task("uuid-of-nobody", "1", "pending", "", nil, nil)
	r := examine(t, d)
	if !r.Healthy() {
		t.Errorf("%v", findings(r))
	}
	if r.Lists != 2 || r.Tasks != 3 || r.Teams != 1 || r.Inboxes != 2 {
		t.Errorf("%+v", r)
	}
	if fixed := fix(t, d); fixed.Backup != "" || len(fixed.Changes) > 0 {
		t.Errorf("%+v", fixed)
	}
}

// TestEveryCodeIsPlanted makes sure that no finding is without its case and its line
// in the documentation. What needs a file without rights has its test elsewhere.
func TestEveryCodeIsPlanted(t *testing.T) {
	source, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, tt := range planted {
		all.WriteString(strings.Join(tt.found, "\n") + "\n")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	for _, name := range source {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range strings.Split(string(data), "x.find(\"")[1:] {
			code, _, _ := strings.Cut(call, `"`)
			codes++
			if code != "unreadable" && !strings.Contains(all.String(), code+" ") {
				t.Errorf("%s: %s has no planted case", name, code)
			}
			if !strings.Contains(string(page), "| "+code+" |") {
				t.Errorf("%s: %s is not explained", name, code)
			}
		}
	}
	if codes < 20 {
		t.Errorf("only %d codes were found in the source", codes)
	}
}
