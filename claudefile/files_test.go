package claudefile_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cadre/claudefile"
)

// captured gives the files of a folder of testdata. Those in created, updated,
// config and inbox were written by the real client (old is 2.1.50, new is
// 2.1.325); those in odd were put there by hand to see what it does with them.
func captured(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has %d files: %v", folder, len(paths), err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = data
	}
	return files
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %s", what, cmp.Diff(string(want), string(got)))
	}
}

func readTask(t testing.TB, data string) *claudefile.Task {
	t.Helper()
	task, err := claudefile.ReadTask([]byte(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return task
}

func TestTheClientsFilesAreWrittenAsTheClientDid(t *testing.T) {
	for _, folder := range []string{"created", "updated"} {
		for path, data := range captured(t, folder) {
			task := readTask(t, string(data))
			if task.Invisible != "" {
				t.Errorf("%s: the client wrote it and would not see it: %s", path, task.Invisible)
			}
			same(t, path, task.Write(data), data)
			// through a change and back, so that every byte is written anew
			subject := task.Subject
			task.Subject = "another"
			between := task.Write(data)
			task.Subject = subject
			same(t, path+" changed and back", task.Write(between), data)
			if folder == "created" {
				same(t, path+" anew", task.Write(nil), data)
			}
		}
	}
	for path, data := range captured(t, "config") {
		config, err := claudefile.ReadConfig(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		same(t, path, config.Write(data), data)
		config.Members[0].CWD += "/x"
		between := config.Write(data)
		if bytes.Equal(between, data) {
			t.Errorf("%s: a changed folder was not written", path)
		}
		config.Members[0].CWD = strings.TrimSuffix(config.Members[0].CWD, "/x")
		same(t, path+" changed and back", config.Write(between), data)
		if len(config.Members) == 1 { // what both clients write when a team begins
			same(t, path+" anew", config.Write(nil), data)
		}
	}
	for path, data := range captured(t, "inbox") {
		entries, err := claudefile.ReadInbox(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, e := range entries {
			if e.Invalid != "" {
				t.Errorf("%s: the client wrote it and would drop it: %s", path, e.Invalid)
			}
		}
		same(t, path, claudefile.WriteInbox(entries), data)
	}
}

// TestWhatTheClientDoesNotSee holds the files that were put before the real client
// against what it showed.
func TestWhatTheClientDoesNotSee(t *testing.T) {
	want := map[string]string{
		"1": "", "10": "", "5": "", "abc": "",
		"2": `status is "open", not pending, in_progress or completed`,
		"3": "blocks is missing; blockedBy is missing",
		"4": "id is not a string",
		"7": "description is missing",
		"8": "owner is not a string",
	}
	for path, data := range captured(t, "odd") {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "new-"), "-1.json")
		task, err := claudefile.ReadTask(data)
		if name == "6" {
			if err == nil {
				t.Errorf("%s was read: %s", path, data)
			}
			continue
		}
		why, known := want[name]
		if err != nil || !known || task.Invisible != why {
			t.Errorf("%s: invisible for %q, want %q: %v", path, task.Invisible, why, err)
			continue
		}
		same(t, path+" unchanged", task.Write(data), data)
		task.ID, task.Status, task.Invisible = name, "pending", ""
		if again := readTask(t, string(task.Write(data))); again.Invisible != "" {
			t.Errorf("%s: mended, and still invisible: %s", path, again.Invisible)
		}
	}
}

func TestReadTaskLeavesEmptyWhatHasTheWrongType(t *testing.T) {
	task := readTask(t, `{"id":4,"subject":["x"],"description":null,"activeForm":1,"owner":{},"status":true,"blocks":[1],"blockedBy":[null],"metadata":[]}`)
	wrong := task.Invisible
	task.Invisible = ""
	if diff := cmp.Diff(&claudefile.Task{}, task); diff != "" {
		t.Errorf("%s", diff)
	}
	for _, key := range []string{"id", "subject", "description", "activeForm", "owner", "status", "blocks", "blockedBy", "metadata"} {
		if !strings.Contains(wrong, key+" is not ") {
			t.Errorf("nothing is said about %s: %s", key, wrong)
		}
	}
}

func TestTaskWriteTouchesOnlyWhatChanged(t *testing.T) {
	const old = `{"zz":1.50,"id":"1","subject":"s","owner":"ann","description":"<d>\u2028","status":"pending","blocks":["2"],"blockedBy":[],` +
		`"metadata":{"b":{"x":[ ]},"a":1e2,"c":true},"extra":{"k":[1,{}]}}`
	task := readTask(t, old)
	task.Status, task.Owner, task.ActiveForm = "in_progress", "", "doing \"it\"\x01"
	task.Blocks = nil
	task.Metadata["c"] = json.RawMessage(`"<&>"`)
	task.Metadata["0"] = json.RawMessage(`null`)
	delete(task.Metadata, "a")
	want := `{
  "zz": 1.50,
  "id": "1",
  "subject": "s",
  "description": "<d>` + "\u2028" + `",
  "status": "in_progress",
  "blocks": [],
  "blockedBy": [],
  "metadata": {
    "b": {
      "x": []
    },
    "c": "<&>",
    "0": null
  },
  "extra": {
    "k": [
      1,
      {}
    ]
  },
  "activeForm": "doing \"it\"\u0001"
}`
	same(t, "changed", task.Write([]byte(old)), []byte(want))
	task.Metadata = nil
	if got := string(task.Write([]byte(want))); strings.Contains(got, "metadata") {
		t.Errorf("metadata that became empty was kept: %s", got)
	}
	same(t, "over a broken file", task.Write([]byte("{broken")), task.Write(nil))
}

func TestConfigWriteKeepsWhatItDoesNotKnow(t *testing.T) {
	const old = `{"name":"t","createdAt":1.5,"hiddenPaneIds":["%1"],"leadAgentId":"team-lead@t","leadSessionId":"s","members":[` +
		`{"agentId":"team-lead@t","name":"team-lead","joinedAt":1,"tmuxPaneId":"","cwd":"/a","subscriptions":[]},null,` +
		`{"agentId":"ann@t","name":"ann","worktreePath":"/w","isActive":true,"joinedAt":2,"tmuxPaneId":"%1","cwd":"/a","subscriptions":[]},` +
		`{"agentId":"bob@t","name":"bob","x":{},"joinedAt":3,"tmuxPaneId":"%2","cwd":"/a","subscriptions":[]}]}`
	config, err := claudefile.ReadConfig([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "unchanged", config.Write([]byte(old)), []byte(old))
	config.Members = slices.Delete(config.Members, 0, 1)
	config.Members[0].IsActive, config.Members[0].AgentID = new(false), "ann@u"
	config.Members = append(config.Members, claudefile.Member{AgentID: "eve@t", Name: "eve", PlanModeRequired: true, JoinedAt: 4, Subscriptions: []string{}})
	want := `{
  "name": "t",
  "createdAt": 1.5,
  "hiddenPaneIds": [
    "%1"
  ],
  "leadAgentId": "team-lead@t",
  "leadSessionId": "s",
  "members": [
    {
      "agentId": "ann@u",
      "name": "ann",
      "worktreePath": "/w",
      "isActive": false,
      "joinedAt": 2,
      "tmuxPaneId": "%1",
      "cwd": "/a",
      "subscriptions": []
    },
    {
      "agentId": "bob@t",
      "name": "bob",
      "x": {},
      "joinedAt": 3,
      "tmuxPaneId": "%2",
      "cwd": "/a",
      "subscriptions": []
    },
    {
      "agentId": "eve@t",
      "name": "eve",
      "planModeRequired": true,
      "joinedAt": 4,
      "tmuxPaneId": "",
      "cwd": "",
      "subscriptions": []
    }
  ]
}`
	same(t, "changed", config.Write([]byte(old)), []byte(want))
}

func TestInbox(t *testing.T) {
	for _, empty := range []string{"", " \n", "[]"} {
		if entries, err := claudefile.ReadInbox([]byte(empty)); err != nil || len(entries) > 0 {
			t.Errorf("%q: %v, %v", empty, entries, err)
		}
	}
	for _, bad := range []string{"{}", "[", "null", `[{"from":"\xff"}]`} {
		if _, err := claudefile.ReadInbox([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	const file = `[{"x":1,"from":"ann","text":"hi","timestamp":"T","read":false,"msgV":1},7,{"from":"bob","text":"t","timestamp":"T","color":null,"read":false}]`
	entries, err := claudefile.ReadInbox([]byte(file))
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	if entries[0].Invalid != "" || entries[1].Invalid == "" || entries[2].Invalid != "color is not a string" {
		t.Errorf("%+v", entries)
	}
	entries[0].Read = true
	entries = append(entries, claudefile.Entry{From: "eve", Text: "new", Summary: "s", Timestamp: "T", Color: "red"})
	want := `[
  {
    "x": 1,
    "from": "ann",
    "text": "hi",
    "timestamp": "T",
    "read": true,
    "msgV": 1
  },
  7,
  {
    "from": "bob",
    "text": "t",
    "timestamp": "T",
    "color": null,
    "read": false
  },
  {
    "from": "eve",
    "text": "new",
    "summary": "s",
    "timestamp": "T",
    "color": "red",
    "read": false
  }
]`
	same(t, "changed", claudefile.WriteInbox(entries), []byte(want))
	same(t, "nothing", claudefile.WriteInbox(nil), []byte("[]"))
}

func TestEntryKey(t *testing.T) {
	a := claudefile.Entry{From: "a", Timestamp: "T", Text: "x"}
	read, other := a, a
	read.Read, other.Text = true, "y"
	if a.Key() != read.Key() || a.Key() == other.Key() {
		t.Error("the key is not that of sender, time and text")
	}
	if got := (claudefile.Entry{MsgID: "m", Text: "x"}).Key(); got != "m" {
		t.Errorf("the key of a message with an id is %q", got)
	}
}

// TestControlMessagesAreWrittenAsTheClientDid reads every control message that was
// captured and writes it again from what was read.
func TestControlMessagesAreWrittenAsTheClientDid(t *testing.T) {
	seen := map[string]int{}
	for path, data := range captured(t, "inbox") {
		entries, err := claudefile.ReadInbox(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			m := claudefile.ReadTyped(e.Text)
			if m == nil {
				continue
			}
			at, err := time.Parse(time.RFC3339, m.Timestamp)
			if err != nil {
				t.Fatal(err)
			}
			var text string
			switch m.Type {
			case "task_assignment":
				text = claudefile.TaskAssignment(m.TaskID, m.Subject, m.Description, m.AssignedBy, at)
			case "idle_notification":
				text = claudefile.IdleNotification(m.From, m.IdleReason, m.Summary, m.Result, at)
			case "shutdown_request":
				text = claudefile.ShutdownRequest(m.RequestID, m.From, m.Reason, at)
			case "shutdown_approved":
				text = claudefile.ShutdownApproved(m.RequestID, m.From, m.PaneID, m.BackendType, at)
			case "shutdown_rejected":
				text = claudefile.ShutdownRejected(m.RequestID, m.From, m.Reason, at)
			case "plan_approval_request":
				text = claudefile.PlanApprovalRequest(m.From, m.PlanFilePath, m.PlanContent, m.RequestID, at)
			case "plan_approval_response":
				text = claudefile.PlanApprovalResponse(m.RequestID, *m.Approved, m.Feedback, m.PermissionMode, at)
			}
			same(t, path, []byte(text), []byte(e.Text))
			seen[m.Type]++
		}
	}
	want := []string{
		"idle_notification", "plan_approval_request", "plan_approval_response",
		"shutdown_approved", "shutdown_rejected", "shutdown_request", "task_assignment",
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("the captures have %v, want %v", got, want)
	}
}

func TestReadTyped(t *testing.T) {
	for _, text := range []string{"hello", "", "{", `{"type":7}`, `{"a":"b"}`, `["type"]`} {
		if m := claudefile.ReadTyped(text); m != nil {
			t.Errorf("%q is %+v", text, m)
		}
	}
	request := claudefile.ReadTyped(`{"type":"permission_request","request_id":"perm-1","agent_id":"ann","tool_name":"Bash","tool_use_id":"tu","description":"d","input":{"command":"ls"},"permission_suggestions":[]}`)
	if request.RequestID != "perm-1" || request.From != "ann" || request.ToolName != "Bash" || request.ToolUseID != "tu" || string(request.Input) != `{"command":"ls"}` || request.Approved != nil {
		t.Errorf("%+v", request)
	}
	granted := claudefile.PermissionGranted("perm-1", json.RawMessage(`{"command": "ls <x>"}`))
	same(t, "granted", []byte(granted), []byte(`{"type":"permission_response","request_id":"perm-1","subtype":"success","response":{"updated_input":{"command":"ls <x>"}}}`))
	same(t, "granted as asked", []byte(claudefile.PermissionGranted("p", nil)), []byte(`{"type":"permission_response","request_id":"p","subtype":"success","response":{}}`))
	denied := claudefile.PermissionDenied("perm-1", "no")
	same(t, "denied", []byte(denied), []byte(`{"type":"permission_response","request_id":"perm-1","subtype":"error","error":"no"}`))
	for text, want := range map[string]*bool{
		granted: new(true), denied: new(false),
		`{"type":"sandbox_permission_response","requestId":"r","host":"h","allow":true}`: new(true),
		`{"type":"shutdown_rejected","requestId":"r"}`:                                   new(false),
		`{"type":"permission_response","request_id":"r"}`:                                nil,
		`{"type":"something_new","approved":true}`:                                       nil,
	} {
		if m := claudefile.ReadTyped(text); m == nil || !cmp.Equal(m.Approved, want) {
			t.Errorf("%s is %+v", text, m)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ name, list, team string }{
		{"My_Team.X", "My_Team-X", "my-team-x"},
		{"Shared List/1", "Shared-List-1", "shared-list-1"},
		{"../é😀", "---" + "-" + "--", "---" + "-" + "--"},
		{"", "", ""},
	} {
		if got := claudefile.ListFolder(tt.name); got != tt.list {
			t.Errorf("ListFolder(%q) = %q, want %q", tt.name, got, tt.list)
		}
		if got := claudefile.TeamFolder(tt.name); got != tt.team {
			t.Errorf("TeamFolder(%q) = %q, want %q", tt.name, got, tt.team)
		}
	}
	if got := claudefile.SessionTeam("734472a4-d30c"); got != "session-734472a4" {
		t.Error(got)
	}
	if got := claudefile.SessionTeam("x"); got != "session-x" {
		t.Error(got)
	}
}

func TestMark(t *testing.T) {
	for text, want := range map[string]uint64{"11\n": 11, " 4": 4, "": 0, "x": 0, "12abc": 12, "-3": 0, "99999999999999999999999": 0, "9007199254740991": 1<<53 - 1, "9007199254740992": 0, "18446744073709551615": 0} {
		if got := claudefile.ReadMark([]byte(text)); got != want {
			t.Errorf("ReadMark(%q) = %d, want %d", text, got, want)
		}
	}
	same(t, "mark", claudefile.WriteMark(12), []byte("12"))
}
