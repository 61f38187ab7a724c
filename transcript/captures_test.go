package transcript

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
)

// The runs in testdata were written by real clients: 2.1.50 (v50-) and 2.1.325
// (new-). Beside the transcripts stands what the client's own files said: tasks/
// and session-tasks/ just before the team was deleted or the session ended, and
// seen.json, all members and all mail that were ever in the team's files.
type seen struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	CreatedAt   int64  `json:"createdAt"`
	Lead        string `json:"leadSessionId"`
	EverJoined  []struct {
		Name      string `json:"name"`
		AgentType string `json:"agentType"`
		Model     string `json:"model"`
		Prompt    string `json:"prompt"`
		Color     string `json:"color"`
		PlanMode  bool   `json:"planModeRequired"`
		JoinedAt  int64  `json:"joinedAt"`
		CWD       string `json:"cwd"`
	} `json:"everJoined"`
	Present []string    `json:"present"`
	Mail    []seenEntry `json:"mail"`
}

type seenEntry struct{ ID, From, To, Text, Summary, Timestamp string }

func readJSON(t testing.TB, into any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// index reads a projects folder without keeping anything.
func index(t testing.TB, projects string) *Index {
	t.Helper()
	x := Open(projects, "")
	if err := x.Update(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return x
}

// eachRun gives every recorded run with its index.
func eachRun(t *testing.T, f func(t *testing.T, dir string, x *Index, want seen)) {
	t.Helper()
	runs, err := filepath.Glob("testdata/*/seen.json")
	if err != nil || len(runs) != 4 {
		t.Fatalf("there are %d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		dir := filepath.Dir(r)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want seen
			readJSON(t, &want, r)
			f(t, dir, index(t, filepath.Join(dir, "projects")), want)
		})
	}
}

func rebuilt(t *testing.T, x *Index, name string) *Team {
	t.Helper()
	for _, team := range x.Teams() {
		if team.Name == name {
			return team
		}
	}
	t.Fatalf("%s was not rebuilt", name)
	return nil
}

// clientTask is a task as the client's file has it.
type clientTask struct {
	ID          cadre.TaskID               `json:"id"`
	Subject     string                     `json:"subject"`
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"activeForm"`
	Owner       string                     `json:"owner"`
	Status      cadre.Status               `json:"status"`
	Blocks      []cadre.TaskID             `json:"blocks"`
	BlockedBy   []cadre.TaskID             `json:"blockedBy"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
}

// compareTasks holds rebuilt tasks against a folder of the client's files, but for
// the notes that old clients make of running agents.
func compareTasks(t *testing.T, tasks []*cadre.Task, dir string) {
	t.Helper()
	var got, want []string
	for _, task := range tasks {
		if task.Status == cadre.Deleted {
			continue
		}
		c := clientTask{task.ID, task.Subject, task.Description, task.ActiveForm, task.Owner, task.Status, nil, task.BlockedBy, task.Metadata}
		for _, o := range tasks {
			if slices.Contains(o.BlockedBy, task.ID) {
				c.Blocks = append(c.Blocks, o.ID)
			}
		}
		got = append(got, c.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var c clientTask
		readJSON(t, &c, f)
		if c.Metadata["_internal"] == nil {
			want = append(want, c.String())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rebuilt:\n%s\nthe client's files:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (c clientTask) String() string {
	c.Blocks, c.BlockedBy = slices.Sorted(slices.Values(c.Blocks)), slices.Sorted(slices.Values(c.BlockedBy))
	out, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func TestRebuiltTasksAreThoseOfTheClient(t *testing.T) {
	eachRun(t, func(t *testing.T, dir string, x *Index, want seen) {
		team := rebuilt(t, x, want.Name)
		compareTasks(t, team.Tasks, filepath.Join(dir, "tasks"))
		if len(team.Gaps) > 0 {
			t.Errorf("gaps in a whole record: %q", team.Gaps)
		}
		if _, err := os.Stat(filepath.Join(dir, "session-tasks")); err == nil {
			solo := rebuilt(t, x, want.Lead)
			compareTasks(t, solo.Tasks, filepath.Join(dir, "session-tasks"))
			if !solo.Solo || len(solo.Gaps) != 1 {
				t.Errorf("a teammate took a task of the session by itself, which no call shows: solo %v, gaps %q", solo.Solo, solo.Gaps)
			}
		}
	})
}

func TestRebuiltMembersAreThoseOfTheClient(t *testing.T) {
	eachRun(t, func(t *testing.T, dir string, x *Index, want seen) {
		team := rebuilt(t, x, want.Name)
		if team.Session != want.Lead || team.Description != want.Description || team.CWD != "/home/user/project" {
			t.Errorf("the team is led by %s in %s: %s", team.Session, team.CWD, team.Description)
		}
		near(t, "the team's creation", team.Created, want.CreatedAt)
		if len(team.Members) != len(want.EverJoined) {
			t.Fatalf("%d members, want %d", len(team.Members), len(want.EverJoined))
		}
		for i, w := range want.EverJoined {
			m := team.Members[i]
			near(t, "the joining of "+w.Name, m.JoinedAt, w.JoinedAt)
			if m.Name != w.Name || m.CWD != w.CWD || m.Prompt != w.Prompt || m.Color != w.Color || m.PlanMode != w.PlanMode {
				t.Errorf("got %+v, want %+v", m, w)
			}
			if lead := w.Name == cadre.LeadName; lead != (m.Role == cadre.RoleLead) || !lead && (m.AgentType != w.AgentType || m.Model != w.Model) {
				t.Errorf("got %+v, want %+v", m, w)
			}
			here := m.State == "" || m.Since.Equal(team.Deleted)
			if here != slices.Contains(want.Present, w.Name) {
				t.Errorf("%s is %q since %s; in the last config were %q", w.Name, m.State, m.Since, want.Present)
			}
		}
	})
}

// near allows what lies between a call and its work, and before a first line.
func near(t *testing.T, what string, got time.Time, want int64) {
	t.Helper()
	if d := got.Sub(time.UnixMilli(want)).Abs(); d > 3*time.Second {
		t.Errorf("%s is %s off", what, d)
	}
}

func TestRebuiltMailIsThatOfTheClient(t *testing.T) {
	eachRun(t, func(t *testing.T, dir string, x *Index, want seen) {
		team := rebuilt(t, x, want.Name)
		used := map[int]bool{}
		for _, m := range team.Messages {
			i := slices.IndexFunc(want.Mail, func(w seenEntry) bool {
				if w.From != m.From || w.To != m.To || w.Summary != m.Summary {
					return false
				}
				sent, err := time.Parse(time.RFC3339, w.Timestamp)
				if err != nil {
					t.Fatal(err)
				}
				// An answer that was not shown is known by what its sender said.
				answer := m.Kind == cadre.MessageShutdownResponse && strings.Contains(w.Text, `"shutdown_`) && !strings.Contains(w.Text, "_request") && strings.Contains(w.Text, m.Text)
				return (w.Text == m.Text || answer) && (m.DeliveredAt != nil || sent.Sub(m.SentAt).Abs() < time.Second)
			})
			// What came and went between two snapshots is in none of them.
			if i < 0 && m.DeliveredAt == nil && m.Kind != cadre.MessageShutdownResponse {
				t.Errorf("nobody sent %+v", m)
			}
			used[i] = true
		}
		prompts := map[string]bool{}
		for _, m := range team.Members {
			prompts[m.Prompt] = true
		}
		for i, w := range want.Mail {
			notice := strings.HasPrefix(w.Text, `{"type":"idle_notification"`) || strings.HasPrefix(w.Text, `{"type":"task_assignment"`)
			if !used[i] && !notice && !prompts[w.Text] {
				t.Errorf("missing: %+v", w)
			}
		}
	})
}

// The old client's files still had all mail at the end, so there nothing may lack.
func TestAllMailOfTheOldClientIsRebuilt(t *testing.T) {
	var want seen
	readJSON(t, &want, "testdata/v50-lifecycle/seen.json")
	team := rebuilt(t, index(t, "testdata/v50-lifecycle/projects"), want.Name)
	if len(team.Messages) != len(want.Mail) {
		t.Errorf("%d messages, want %d", len(team.Messages), len(want.Mail))
	}
	for _, m := range team.Messages {
		if (m.To == "nobody") != (m.DeliveredAt == nil) {
			t.Errorf("%s to %s was shown at %v", m.Text, m.To, m.DeliveredAt)
		}
	}
}

func TestAGoneMembersTranscriptIsAGap(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/new-lifecycle/projects")); err != nil {
		t.Fatal(err)
	}
	gone, err := filepath.Glob(dir + "/*/*/subagents/agent-aworker-1-5*")
	if err != nil || len(gone) != 2 {
		t.Fatal(gone, err)
	}
	for _, g := range gone {
		if err := os.Remove(g); err != nil {
			t.Fatal(err)
		}
	}
	team := rebuilt(t, index(t, dir), "session-734472a4")
	if !slices.ContainsFunc(team.Gaps, func(g string) bool { return strings.Contains(g, "no transcript of worker-1:") }) {
		t.Errorf("gaps: %q", team.Gaps)
	}
}
