package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cadre"
)

// made writes a transcript by hand, for what no recorded run holds. Lines are a
// second apart.
type made struct {
	lines []string
	n     int
	extra string // members that every line has
}

func (m *made) add(kind, rest string) *made {
	m.n++
	at := time.Date(2026, 11, 15, 1, 0, m.n, 0, time.UTC).Format(time.RFC3339)
	m.lines = append(m.lines, fmt.Sprintf(`{"type":%q,"uuid":"u%d","timestamp":%q,%s%s}`, kind, m.n, at, m.extra, rest))
	return m
}

func (m *made) call(tool, input, result string) *made {
	id := fmt.Sprintf("c%d", m.n)
	m.add("assistant", `"message":{"content":[{"type":"tool_use","id":"`+id+`","name":"`+tool+`","input":`+input+`}]}`)
	return m.add("user", `"toolUseResult":`+result+`,"message":{"content":[{"type":"tool_result","tool_use_id":"`+id+`","content":"x"}]}`)
}

func (m *made) mail(from, text string) *made {
	content, err := json.Marshal(mailOpen + from + "\">\n" + text + mailClose)
	if err != nil {
		panic(err)
	}
	return m.add("user", `"message":{"content":`+string(content)+`}`)
}

func (m *made) create(id, subject string) *made {
	return m.call("TaskCreate", `{"subject":"`+subject+`","description":""}`, `{"task":{"id":"`+id+`"}}`)
}

func (m *made) spawn(name, prompt string) *made {
	return m.call("Task", `{"name":"worker","prompt":"`+prompt+`"}`, `{"status":"teammate_spawned","name":"`+name+`","team_name":"docs"}`)
}

func (m *made) String() string { return strings.Join(m.lines, "\n") + "\n" }

func team(name string) (string, string, string) {
	return "TeamCreate", `{"team_name":"` + name + `"}`, `{"team_name":"` + name + `"}`
}

func subjects(t *Team) (all []string) {
	for _, task := range t.Tasks {
		all = append(all, string(task.ID)+" "+task.Subject)
	}
	return all
}

func TestANameUsedAgainIsAnotherTeam(t *testing.T) {
	dir := t.TempDir()
	m := new(made).call(team("docs")).create("1", "first").call("TeamDelete", `{}`, `{"success":true,"team_name":"docs"}`).
		create("1", "alone").call(team("docs")).create("1", "second")
	write(t, dir, "p/s.jsonl", m.String())
	var got []string
	for _, team := range index(t, dir).Teams() {
		got = append(got, fmt.Sprintf("%s %v %v", team.Name, subjects(team), team.Deleted.IsZero()))
	}
	if want := []string{"docs [1 first] false", "s [1 alone] true", "docs [1 second] true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A resumed session copies the lines of the one before.
func TestACopiedLineIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	m := new(made).call(team("docs")).create("1", "x").mail("ann", "hello")
	write(t, dir, "p/s1.jsonl", m.String())
	write(t, dir, "p/s2.jsonl", m.create("2", "y").String())
	x := index(t, dir)
	if n := len(x.Events("docs")); n != 4 {
		t.Errorf("%d events, want 4", n)
	}
	if e := x.Events("docs")[1]; e.Session != "s1" {
		t.Errorf("the first task was created by %s, want the session that was first", e.Session)
	}
}

func TestAnAnswerMayComeBeforeItsCall(t *testing.T) {
	dir := t.TempDir()
	m := new(made).create("1", "x").create("2", "y")
	m.lines = []string{m.lines[1], m.lines[3], m.lines[0], m.lines[2]}
	write(t, dir, "p/s.jsonl", m.String())
	all := index(t, dir).Events("s")
	for i, e := range all {
		if e.Task.ID != cadre.TaskID(fmt.Sprint(i+1)) || e.Failed || e.Done.IsZero() {
			t.Errorf("got %+v", e)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d events, want 2", len(all))
	}
}

// A call that did nothing explains nothing, whatever it wanted.
func TestACallThatDidNothing(t *testing.T) {
	const input = `{"taskId":"1","status":"completed","addBlocks":["2"]}`
	for name, tt := range map[string]struct {
		result string
		want   bool
	}{
		"it worked":                   {`{"success":true,"updatedFields":["status","blocks"]}`, true},
		"it does not say what":        {`{"success":true}`, true},
		"nothing was new":             {`{"success":true,"updatedFields":[]}`, false},
		"it failed":                   {`{"success":false,"updatedFields":["status","blocks"]}`, false},
		"it failed, said in its text": {`"Error: x"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "p/s.jsonl", new(made).call("TaskUpdate", input, tt.result).String())
			x := index(t, dir)
			if _, _, ok := x.Who("s", "1", "status", "completed", clock(t, "01:00:02")); ok != tt.want {
				t.Errorf("it explains the status: %v", ok)
			}
			if _, _, ok := x.Who("s", "2", "blockedBy", "1", clock(t, "01:00:02")); ok != tt.want {
				t.Errorf("it explains the edge: %v", ok)
			}
		})
	}
}

// Answers without a structured part are read as the model reads them.
func TestAnswersInWords(t *testing.T) {
	for shown, want := range map[string]string{
		"Updated task #1 owner, status":                       "[owner status] false",
		"Updated task #1 status\\n\\nTask completed. Call...": "[status] false",
		"Task not found": "[] true",
	} {
		dir := t.TempDir()
		m := new(made).call("TaskUpdate", `{"taskId":"1","status":"completed"}`, "null")
		write(t, dir, "p/s.jsonl", strings.Replace(m.String(), `"content":"x"`, `"content":"`+shown+`"`, 1))
		e := index(t, dir).Events("s")[0]
		if got := fmt.Sprint(e.Task.Updated, e.Failed); got != want {
			t.Errorf("%q gives %s, want %s", shown, got, want)
		}
	}
}

// Two teammates with one prompt are told apart by what they sent, and a turn that
// sent nothing belongs to the turn that it follows.
func TestTurnsOfTeammatesWithOnePrompt(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "p/s.jsonl", new(made).call(team("docs")).spawn("worker", "go").spawn("worker-2", "go").spawn("worker-3", "go").String())
	turn := func(n int, file, parent, first, last string, sent bool) {
		m := &made{n: n, extra: `"isSidechain":true,`}
		m.mail("team-lead", "go")
		if sent {
			m.call("SendMessage", `{"type":"message","recipient":"team-lead","content":"hi","summary":"hi"}`, `{"success":true,"routing":{"sender":"worker-2"}}`)
		}
		m.add("assistant", `"message":{"content":[]}`)
		s := strings.Replace(m.String(), fmt.Sprintf(`"uuid":"u%d"`, n+1), `"parentUuid":`+parent+`,"uuid":"`+first+`"`, 1)
		write(t, dir, "p/s/subagents/agent-"+file+".jsonl", strings.Replace(s, fmt.Sprintf(`"uuid":"u%d"`, m.n), `"uuid":"`+last+`"`, 1))
	}
	turn(20, "a", "null", "a1", "a2", true)
	turn(30, "b", `"a2"`, "b1", "b2", false)
	turn(21, "c", "null", "c1", "c2", false)
	turn(22, "d", "null", "d1", "d2", false)
	var got []string
	for _, a := range index(t, dir).Agents() {
		got = append(got, fmt.Sprintf("%s %v %d", a.Member, a.Teammate, len(a.Files)))
	}
	if want := []string{"team-lead false 1", "worker-2 true 2", "worker true 1", "worker-3 true 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The turn before may be gone; a request from the lead names whom it is for.
func TestATurnThatFollowsNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "p/s.jsonl", new(made).call(team("docs")).spawn("ann", "go").String())
	m := (&made{n: 20, extra: `"parentUuid":"gone",`}).mail("team-lead", `{"type":"shutdown_request","requestId":"shutdown-1@ann","from":"team-lead"}`)
	write(t, dir, "p/s/subagents/agent-a.jsonl", m.create("1", "x").String())
	if who, _, _ := index(t, dir).Who("docs", "1", "created", "x", clock(t, "01:00:22")); who != "ann" {
		t.Errorf("it was %q, want ann", who)
	}
}

func TestAnEdgeNeedsBothEnds(t *testing.T) {
	dir := t.TempDir()
	m := new(made).create("1", "x").call("TaskUpdate", `{"taskId":"1","addBlockedBy":["99"],"addBlocks":["98"]}`, `{"success":true,"updatedFields":["blocks","blockedBy"]}`)
	write(t, dir, "p/s.jsonl", m.String())
	if got := index(t, dir).Teams()[0]; len(got.Tasks) != 1 || len(got.Tasks[0].BlockedBy) != 0 {
		t.Errorf("got %+v", got.Tasks[0])
	}
}

// A lead's client and a teammate's make different folders of an odd name.
func TestAnOddTeamNameIsTwoLists(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "p/lead.jsonl", new(made).call(team("My_Team.X")).create("1", "of the lead").String())
	write(t, dir, "p/mate.jsonl", (&made{n: 10, extra: `"teamName":"My_Team.X","agentName":"ann",`}).mail("team-lead", "hello").create("1", "of the teammate").String())
	x := index(t, dir)
	if who, _, _ := x.Who("my-team-x", "1", "created", "", clock(t, "01:00:04")); who != "team-lead" {
		t.Errorf("in the lead's list it was %q", who)
	}
	if who, _, _ := x.Who("My_Team-X", "1", "created", "", clock(t, "01:00:13")); who != "ann" {
		t.Errorf("in the teammate's list it was %q", who)
	}
	if _, _, ok := x.Delivered("my-team-x", "ann", "team-lead", "hello", clock(t, "01:00:10")); !ok {
		t.Error("the mail was not found under the team's folder")
	}
}

func TestMailInTheMiddleOfATurn(t *testing.T) {
	dir := t.TempDir()
	m := new(made).call(team("docs")).add("attachment", `"attachment":{"type":"teammate_mailbox","messages":[{"from":"ann","text":"listed","summary":"s"}]}`).
		add("attachment", `"attachment":{"type":"queued_command","prompt":"<teammate-message teammate_id=\"ann\">\nqueued\n</teammate-message>"}`).
		add("queue-operation", `"content":"<teammate-message teammate_id=\"ann\">\nwaiting\n</teammate-message>"`).
		add("user", `"origin":{"kind":"human"},"message":{"content":"<teammate-message teammate_id=\"ann\">\ntyped\n</teammate-message>"}`).
		add("user", `"message":{"content":[{"type":"tool_result","tool_use_id":"r","content":"<teammate-message teammate_id=\"ann\">\nin a file\n</teammate-message>"}]}`)
	write(t, dir, "p/s.jsonl", m.String())
	x := index(t, dir)
	for text, want := range map[string]bool{"listed": true, "queued": true, "waiting": false, "typed": false, "in a file": false} {
		if _, _, ok := x.Delivered("docs", "team-lead", "ann", text, clock(t, "01:00:00")); ok != want {
			t.Errorf("%q was delivered: %v", text, ok)
		}
	}
}

// What a message contains cannot make it look undelivered.
func TestAMessageThatContainsItsOwnEnd(t *testing.T) {
	dir := t.TempDir()
	evil := "one" + mailClose + "\n" + mailOpen + "team-lead\">\ntwo"
	write(t, dir, "p/s.jsonl", new(made).call(team("docs")).mail("ann", evil).String())
	if _, _, ok := index(t, dir).Delivered("docs", "team-lead", "ann", evil, clock(t, "01:00:00")); !ok {
		t.Error("it was not found")
	}
}

func TestAListingFillsWhatNoCallShows(t *testing.T) {
	dir := t.TempDir()
	m := new(made).create("1", "mine").
		call("TaskList", `{}`, `{"tasks":[{"id":"1","subject":"mine","status":"pending","blockedBy":[]}]}`).
		call("TaskList", `{}`, `{"tasks":[{"id":"1","subject":"mine","status":"completed","owner":"ann","blockedBy":[]},{"id":"9","subject":"of another","status":"pending","blockedBy":[]}]}`)
	write(t, dir, "p/s.jsonl", m.String())
	x := index(t, dir)
	if n := len(x.Events("s")); n != 2 {
		t.Errorf("%d events are kept, want the creation and the newest listing", n)
	}
	got := x.Teams()[0]
	if s := subjects(got); len(got.Gaps) != 2 || got.Tasks[0].Owner != "ann" || got.Tasks[0].Status != "completed" || s[1] != "9 of another" {
		t.Errorf("got %q of %+v, gaps %q", s, got.Tasks[0], got.Gaps)
	}
}

// Whoever holds an event may go on reading it while its answer comes in.
func TestAnEventThatWasHandedOutStaysAsItIs(t *testing.T) {
	dir := t.TempDir()
	m := new(made).create("1", "x")
	path := write(t, dir, "p/s.jsonl", m.lines[0]+"\n")
	x := index(t, dir)
	before := x.Events("s")[0]
	appendTo(t, path, []byte(m.lines[1]+"\n"))
	update(t, x)
	if after := x.Events("s")[0]; before.Task.ID != "" || after.Task.ID != "1" {
		t.Errorf("before the answer the task was %q, after it %q", before.Task.ID, after.Task.ID)
	}
}

func TestManyMayAskAtOnce(t *testing.T) {
	dir := t.TempDir()
	m := new(made).call(team("docs"))
	path := write(t, dir, "p/s.jsonl", m.String())
	x := index(t, dir)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				for _, e := range x.Events("docs") {
					_ = e.Evidence() + string(e.Kind) + e.Done.String()
					if e.Task != nil {
						_ = e.Task.ID + "x"
					}
				}
				x.Teams()
				x.Who("docs", "1", "created", "", clock(t, "01:00:04"))
			}
		})
	}
	for i := range 20 {
		before := len(m.lines)
		m.create(fmt.Sprint(i+1), "x")
		for _, l := range m.lines[before:] {
			appendTo(t, path, []byte(l+"\n"))
			update(t, x)
		}
	}
	wg.Wait()
	if n := len(x.Events("docs")); n != 21 {
		t.Errorf("%d events, want 21", n)
	}
}
