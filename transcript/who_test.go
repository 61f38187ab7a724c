package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cadre"
)

func clock(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, "2026-11-15T"+s+"Z")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestWho(t *testing.T) {
	old, fresh, panes := index(t, "testdata/v50-lifecycle/projects"), index(t, "testdata/new-lifecycle/projects"), index(t, "testdata/new-panes/projects")
	const session = "e87b3a22-3171-4c0c-9daa-bac5abea5c2a"
	for name, tt := range map[string]struct {
		x            *Index
		scope        cadre.Scope
		task         cadre.TaskID
		field, value string
		at, want     string
	}{
		"a creation":                       {old, "demo-team", "1", "created", "First task", "02:39:04.370", "team-lead"},
		"a creation without the subject":   {old, "demo-team", "5", "created", "", "02:39:04.825", "team-lead"},
		"another subject":                  {old, "demo-team", "1", "created", "Before team", "02:39:04.370", ""},
		"the session's own list":           {old, session, "1", "created", "Before team", "02:39:04.075", session},
		"its other name":                   {old, "session-e87b3a22", "1", "created", "Before team", "02:39:04.075", "team-lead"},
		"no such list":                     {old, "demo", "1", "created", "First task", "02:39:04.370", ""},
		"a status":                         {old, "demo-team", "2", "status", "completed", "02:39:05.118", "worker-1"},
		"an hour later":                    {old, "demo-team", "2", "status", "completed", "03:39:05.118", ""},
		"another task":                     {old, "demo-team", "5", "status", "completed", "02:39:05.118", ""},
		"an owner":                         {old, "demo-team", "1", "owner", "worker-1", "02:39:04.908", "team-lead"},
		"an owner by starting":             {old, "demo-team", "2", "owner", "worker-1", "02:39:05.069", "worker-1"},
		"freed when its owner left":        {old, "demo-team", "1", "owner", "", "02:39:20.200", "team-lead"},
		"freed, its status":                {old, "demo-team", "1", "status", "pending", "02:39:20.200", "team-lead"},
		"a subject":                        {old, "demo-team", "3", "subject", "Third task (renamed)", "02:39:04.590", "team-lead"},
		"a key of the metadata":            {old, "demo-team", "3", "metadata.new", `"x"`, "02:39:04.590", "team-lead"},
		"a key that was taken away":        {old, "demo-team", "3", "metadata.prio", "", "02:39:04.590", "team-lead"},
		"a key at the creation":            {old, "demo-team", "3", "metadata.tags", `[ "a", "b" ]`, "02:39:04.373", "team-lead"},
		"an edge":                          {old, "demo-team", "3", "blockedBy", "2", "02:39:04.400", "team-lead"},
		"the other side of it":             {old, "demo-team", "2", "blocks", "3", "02:39:04.400", "team-lead"},
		"an edge by its blocker":           {old, "demo-team", "2", "blockedBy", "1", "02:39:04.440", "team-lead"},
		"an edge that went with its task":  {old, "demo-team", "3", "-blockedBy", "4", "02:39:04.754", "team-lead"},
		"an edge that nobody took away":    {old, "demo-team", "3", "-blockedBy", "2", "02:39:04.754", ""},
		"a deletion":                       {old, "demo-team", "4", "deleted", "", "02:39:04.754", "team-lead"},
		"a deletion that was not":          {old, "demo-team", "5", "deleted", "", "02:39:04.754", ""},
		"a call that failed":               {old, "demo-team", "99", "status", "completed", "02:39:04.554", ""},
		"a status that was refused":        {old, "demo-team", "1", "status", "resolved", "02:39:04.876", ""},
		"a call that changed nothing":      {old, "demo-team", "3", "subject", "Third task (renamed)", "02:39:06.630", ""},
		"the new client's teammate":        {fresh, "session-734472a4", "2", "status", "in_progress", "02:38:35.614", "worker-1"},
		"the new client's list by session": {fresh, "734472a4-d30c-4b95-8e6a-597c31e3b48e", "2", "status", "in_progress", "02:38:35.614", "worker-1"},
		"the new client's lead":            {fresh, "session-734472a4", "1", "activeForm", "Doing the first thing", "02:38:33.050", "team-lead"},
		"a teammate in a pane":             {panes, "session-79c877fa", "1", "status", "in_progress", "02:31:37.025", "pane-1"},
	} {
		t.Run(name, func(t *testing.T) {
			who, evidence, ok := tt.x.Who(tt.scope, tt.task, tt.field, tt.value, clock(t, tt.at))
			if who != tt.want || ok != (tt.want != "") || ok == (evidence == "") {
				t.Errorf("Who() = %q, %q, %v, want %q", who, evidence, ok, tt.want)
			}
		})
	}
}

func TestEvidenceNamesTheLine(t *testing.T) {
	x := index(t, "testdata/v50-lifecycle/projects")
	_, evidence, _ := x.Who("demo-team", "2", "status", "completed", clock(t, "02:39:05.118"))
	file, uuid, _ := strings.Cut(evidence, "#")
	data, err := os.ReadFile(filepath.Join("testdata/v50-lifecycle/projects", file))
	if err != nil || !strings.Contains(string(data), `"uuid":"`+uuid+`"`) || uuid == "" {
		t.Errorf("%q is not there: %v", evidence, err)
	}
}

// Two members did the same at the same moment: nobody is named.
func TestWhoDoesNotGuess(t *testing.T) {
	dir := t.TempDir()
	call := func(session, name string) {
		write(t, dir, "p/"+session+".jsonl",
			`{"type":"assistant","uuid":"u1","timestamp":"2026-11-15T01:00:00.000Z","teamName":"docs","agentName":"`+name+`","message":{"content":[{"type":"tool_use","id":"c-`+name+`","name":"TaskUpdate","input":{"taskId":"1","status":"completed"}}]}}
{"type":"user","uuid":"u2","timestamp":"2026-11-15T01:00:01.000Z","teamName":"docs","agentName":"`+name+`","toolUseResult":{"success":true,"taskId":"1","updatedFields":["status"]},"message":{"content":[{"type":"tool_result","tool_use_id":"c-`+name+`","content":"Updated task #1 status"}]}}
`)
	}
	call("a", "ann")
	if who, _, _ := index(t, dir).Who("docs", "1", "status", "completed", clock(t, "01:00:00.500")); who != "ann" {
		t.Errorf("alone it was %q", who)
	}
	call("b", "ben")
	if who, _, ok := index(t, dir).Who("docs", "1", "status", "completed", clock(t, "01:00:00.500")); ok {
		t.Errorf("it was %s, of two who may have been", who)
	}
}

func TestDelivered(t *testing.T) {
	old, fresh, panes := index(t, "testdata/v50-lifecycle/projects"), index(t, "testdata/new-lifecycle/projects"), index(t, "testdata/new-panes/projects")
	request := `{"type":"shutdown_request","requestId":"shutdown-1794710326631@worker-1","from":"team-lead","reason":"All done","timestamp":"2026-11-15T02:38:46.631Z"}`
	for name, tt := range map[string]struct {
		x                  *Index
		scope              cadre.Scope
		member, from, text string
		sent               string
		want               bool
	}{
		"to the lead":                 {old, "demo-team", "team-lead", "worker-1", "Task 2 is done", "02:39:05.210", true},
		"to a teammate":               {old, "demo-team", "worker-1", "team-lead", "Hello worker, please carry on", "02:39:09.756", true},
		"to one of two":               {old, "demo-team", "worker-1-2", "team-lead", "All hands", "02:39:12.826", true},
		"to the other":                {old, "demo-team", "worker-1", "team-lead", "All hands", "02:39:12.826", true},
		"between teammates":           {old, "demo-team", "worker-1-2", "worker-1", "Peer note for you", "02:39:05.179", true},
		"to somebody else":            {old, "demo-team", "worker-1", "worker-1", "Peer note for you", "02:39:05.179", false},
		"to nobody":                   {old, "demo-team", "nobody", "team-lead", "hi", "02:39:09.790", false},
		"the same text sent again":    {old, "demo-team", "worker-1", "team-lead", "All hands", "02:59:12.826", false},
		"another text":                {old, "demo-team", "worker-1", "team-lead", "All", "02:39:12.826", false},
		"the queue is not the reader": {fresh, "session-734472a4", "team-lead", "worker-1", "Task 2 is done", "02:38:35.905", false},
		"a request, explained below":  {fresh, "session-734472a4", "worker-1", "team-lead", request, "02:38:46.631", true},
		"to a pane":                   {panes, "session-79c877fa", "pane-1", "goat", "Peer hello", "02:31:46.000", true},
		"the new client's lead":       {panes, "session-79c877fa", "team-lead", "pane-1", "one done", "02:31:37.944", true},
	} {
		t.Run(name, func(t *testing.T) {
			at, evidence, ok := tt.x.Delivered(tt.scope, tt.member, tt.from, tt.text, clock(t, tt.sent))
			if ok != tt.want || ok && (at.IsZero() || evidence == "") {
				t.Errorf("Delivered() = %v, %q, %v", at, evidence, ok)
			}
		})
	}
}

func TestLetters(t *testing.T) {
	for in, want := range map[string]string{
		"": "",
		"<teammate-message teammate_id=\"a\">\nhello\n</teammate-message>":                                                                            "a:hello",
		"<teammate-message teammate_id=\"a\" color=\"red\" summary=\"x \"y\" > z\">\n<b>\n</teammate-message>":                                        "a:<b>",
		"before\n<teammate-message teammate_id=\"a\">\n1\n</teammate-message>\n\n<teammate-message teammate_id=\"b\">\n2\n</teammate-message>\nafter": "a:1 b:2",
		"he said <teammate-message teammate_id=\"a\">\nhello\n</teammate-message>":                                                                    "",
		"<teammate-message teammate_id=\"a\">\nnever ends":                                                                                            "",
		"<teammate-message teammate_id=\"a":                                                                                                           "",
		"<teammate-message teammate_id=\"a&amp;b\">\nx &amp; y\n</teammate-message>":                                                                  "a&b:x &amp; y",
	} {
		var got []string
		for _, l := range letters(in) {
			got = append(got, l.From+":"+l.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("letters(%q) = %q, want %q", in, got, want)
		}
	}
	l := letters("<teammate-message teammate_id=\"a\" color=\"red\" summary=\"x \"y\" > z\" verified=\"false\">\nt\n</teammate-message>")[0]
	if l.Summary != `x "y" > z` || l.Color != "red" || !l.Unproved {
		t.Errorf("got %+v", l)
	}
}

// A list that a session was told to share is named in no transcript.
func TestWhoOfASharedList(t *testing.T) {
	x := index(t, "testdata/v50-lifecycle/projects")
	var created *Event
	for _, e := range x.Events("") {
		if e.Team == "" && e.Kind == TaskCreate && e.worked() {
			created = e
		}
	}
	if created == nil {
		t.Fatal("no session made a task for itself")
	}
	who, _, ok := x.Who("shared", created.Task.ID, "subject", *created.Task.Subject, created.At)
	if !ok || who != created.Session {
		t.Errorf("Who() = %q, %v, want %s", who, ok, created.Session)
	}
	for _, another := range []cadre.Scope{"00000000-1111-4222-8333-444444444444", "session-00000000"} {
		if who, _, ok := x.Who(another, created.Task.ID, "subject", *created.Task.Subject, created.At); ok {
			t.Errorf("Who() says that %s worked on the list of another session, %s", who, another)
		}
	}
}
