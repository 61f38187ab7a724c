package coord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/memstore"
)

// desk is a coord over a store in memory, with a clock that a test can move.
type desk struct {
	*coord.Coord
	t   *testing.T
	now cadre.Time
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, now: cadre.Time{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Boot: "boot", Up: time.Hour}}
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	d.Coord = &coord.Coord{Store: store, Now: func() cadre.Time { return d.now }}
	return d
}

// at is a caller as its environment makes it, in a folder.
func (d *desk) at(dir string, env map[string]string, flags ...string) *coord.Session {
	d.t.Helper()
	as, scope := "", ""
	for _, f := range flags {
		if name, ok := strings.CutPrefix(f, "as="); ok {
			as = name
		}
		if name, ok := strings.CutPrefix(f, "scope="); ok {
			scope = name
		}
	}
	place := coord.Place{Env: env, CWD: dir}
	actor, err := d.Identify(context.Background(), place, as)
	if err != nil {
		d.t.Fatal(err)
	}
	chosen, err := d.ChooseScope(context.Background(), place, actor, scope)
	if err != nil {
		d.t.Fatal(err)
	}
	return &coord.Session{Coord: d.Coord, Actor: actor, Door: "test", Scope: chosen, CWD: dir}
}

func must[T any](t *testing.T, s *coord.Session, verb any) T {
	t.Helper()
	answer, err := s.Do(context.Background(), fmt.Sprintf("%T", verb), verb)
	if err != nil {
		t.Fatalf("%T%+v: %v", verb, verb, err)
	}
	out, ok := answer.(T)
	if !ok {
		t.Fatalf("%T answered a %T", verb, answer)
	}
	return out
}

func refused(t *testing.T, rule cadre.Rule, s *coord.Session, verb any) *cadre.Error {
	t.Helper()
	_, err := s.Do(context.Background(), fmt.Sprintf("%T", verb), verb)
	e := cadre.AsError(err)
	if e == nil || e.Rule != rule {
		t.Fatalf("%T%+v: got %v, want a refusal by %s", verb, verb, err, rule)
	}
	return e
}

func TestIdentify(t *testing.T) {
	d := newDesk(t)
	for name, tt := range map[string]struct {
		env  map[string]string
		kind cadre.ActorKind
		id   string
	}{
		"nothing set":        {nil, cadre.ActorOperator, ""},
		"claude code":        {map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "aaaa-1"}, cadre.ActorSession, "aaaa-1"},
		"cadre session":      {map[string]string{"CADRE_SESSION": "bbbb-2", "CLAUDE_CODE_SESSION_ID": "aaaa-1"}, cadre.ActorSession, "bbbb-2"},
		"claude without id":  {map[string]string{"CLAUDECODE": "1"}, cadre.ActorGuest, ""},
		"codex":              {map[string]string{"CODEX_SANDBOX": "seatbelt"}, cadre.ActorGuest, ""},
		"set up for codex":   {map[string]string{"CODEX_HOME": "/srv/codex", "CODEX_API_KEY": "x"}, cadre.ActorOperator, ""},
		"gemini":             {map[string]string{"GEMINI_CLI": "1"}, cadre.ActorGuest, ""},
		"an empty mark":      {map[string]string{"CLAUDECODE": ""}, cadre.ActorOperator, ""},
		"unrelated variable": {map[string]string{"CLAUDE_CONFIG_DIR": "/x"}, cadre.ActorOperator, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := d.Identify(context.Background(), coord.Place{Env: tt.env}, "")
			if err != nil || got.Kind != tt.kind || got.Session != tt.id {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if _, err := d.Identify(context.Background(), coord.Place{Env: map[string]string{"CLAUDECODE": "1"}}, "ann"); !errors.Is(err, cadre.ErrForbidden) {
		t.Errorf("an agent's shell may act as somebody else: %v", err)
	}
	if _, err := d.Identify(context.Background(), coord.Place{Env: map[string]string{"CADRE_TOKEN": "made up"}}, ""); !errors.Is(err, cadre.ErrForbidden) {
		t.Errorf("a made-up token gives %v", err)
	}
	person, err := d.Identify(context.Background(), coord.Place{Terminal: true}, "")
	if err != nil || person.Proof != cadre.ProofTerminal {
		t.Errorf("at a terminal: %+v, %v", person, err)
	}
}

func TestChooseScope(t *testing.T) {
	d := newDesk(t)
	must[*cadre.TeamView](t, d.at("/home/p/docs", nil), &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	claude := func(more ...string) map[string]string {
		env := map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "aaaaaaaa-1111-4111-8111-111111111111"}
		for _, kv := range more {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		return env
	}
	for name, tt := range map[string]struct {
		dir   string
		env   map[string]string
		scope string
		want  cadre.Scope
	}{
		"a flag wins":               {"/home/p/docs", map[string]string{"CADRE_SCOPE": "other"}, "Shared List/1", "Shared-List-1"},
		"CADRE_SCOPE":               {"/home/p/docs", map[string]string{"CADRE_SCOPE": "other", "CLAUDE_CODE_TASK_LIST_ID": "x"}, "", "other"},
		"CLAUDE_CODE_TASK_LIST_ID":  {"/home/p/docs", claude("CLAUDE_CODE_TASK_LIST_ID=shared", "CLAUDE_CODE_TEAM_NAME=team"), "", "shared"},
		"an empty one is not set":   {"/home/p/docs", map[string]string{"CADRE_SCOPE": "", "CLAUDE_CODE_TEAM_NAME": ""}, "", "docs"},
		"CLAUDE_CODE_TEAM_NAME":     {"/", claude("CLAUDE_CODE_TEAM_NAME=team"), "", "team"},
		"a session's own list":      {"/home/p/docs", claude(), "", "aaaaaaaa-1111-4111-8111-111111111111"},
		"the folder's team":         {"/home/p/docs", nil, "", "docs"},
		"the nearest parent's team": {"/home/p/docs/a/b", nil, "", "docs"},
		"elsewhere":                 {"/home/p", nil, "", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := d.at(tt.dir, tt.env, "scope="+tt.scope).Scope; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestSwitchingLists is the session's way: its own list, a team it creates, and
// back to the tasks it had.
func TestSwitchingLists(t *testing.T) {
	d := newDesk(t)
	env := map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "aaaaaaaa-1111-4111-8111-111111111111"}
	here := func() *coord.Session { return d.at("/p", env) }
	must[*cadre.Added](t, here(), &cadre.TaskAdd{Subject: "before the team"})
	must[*cadre.TeamView](t, here(), &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	if s := here().Scope; s != "docs" {
		t.Fatalf("after creating the team the session works on %s", s)
	}
	added := must[*cadre.Added](t, here(), &cadre.TaskAdd{Subject: "in the team"})
	if added.ID != "1" {
		t.Errorf("the team's first task has id %s", added.ID)
	}
	must[*coord.Deleted](t, here(), &coord.TeamDelete{})
	if s := here().Scope; s != "aaaaaaaa-1111-4111-8111-111111111111" {
		t.Fatalf("after deleting the team the session works on %s", s)
	}
	tasks := must[[]*cadre.TaskView](t, here(), &cadre.TaskList{})
	if len(tasks) != 1 || tasks[0].Subject != "before the team" {
		t.Errorf("it sees %v", tasks)
	}
}

func TestNotFoundSaysWhereElse(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	docs := d.at("/p", nil)
	for range 3 {
		must[*cadre.Added](t, docs, &cadre.TaskAdd{Subject: "x"})
	}
	e := refused(t, cadre.RuleTaskMissing, d.at("/elsewhere", nil), &cadre.TaskShow{ID: "3"})
	if !strings.Contains(e.Message, "default") || !strings.Contains(e.Message, "docs has one") || !strings.Contains(e.Hint, "--scope docs") {
		t.Errorf("%q, %q", e.Message, e.Hint)
	}
}

func TestTeamsComeAndGo(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	view := must[*cadre.TeamView](t, s, &coord.TeamCreate{})
	name := view.Name
	if len(strings.Split(name, "-")) != 3 {
		t.Errorf("the made-up name is %q", name)
	}
	s = d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	e := refused(t, cadre.RuleExists, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: name}})
	if !strings.Contains(e.Hint, "cadre team use "+name) {
		t.Errorf("hint %q", e.Hint)
	}
	agent := d.at("/p", map[string]string{"CADRE_SESSION": "aaaaaaaa-1"}, "scope="+name)
	refused(t, cadre.RuleLead, agent, &coord.TeamDelete{})
	must[*coord.Deleted](t, s, &coord.TeamDelete{})
	if lines := must[[]*coord.TeamLine](t, s, &coord.TeamList{}); len(lines) != 0 {
		t.Errorf("still listed: %+v", lines[0])
	}
	if lines := must[[]*coord.TeamLine](t, s, &coord.TeamList{All: true}); len(lines) != 1 || lines[0].Where != cadre.Archive {
		t.Errorf("the archive is not listed")
	}
	refused(t, cadre.RuleMissing, s, &cadre.TaskAdd{Subject: "into the archive"})
	refused(t, cadre.RuleOperator, agent, &coord.TeamRestore{Team: name})
	must[*cadre.TeamView](t, s, &coord.TeamRestore{Team: name})
	if tasks := must[[]*cadre.TaskView](t, d.at("/p", nil), &cadre.TaskList{}); len(tasks) != 1 {
		t.Errorf("%d tasks came back", len(tasks))
	}
	must[*coord.Deleted](t, s, &coord.TeamDelete{Team: name, Purge: true})
	kept := 0
	for e, err := range d.Store.Events(context.Background(), cadre.Host, cadre.Head{}, false) {
		if err != nil {
			t.Fatal(err)
		}
		if gone, ok := e.After.(*cadre.Erasure); ok && gone.Scope == cadre.Scope(name) && gone.Head.Seq > 0 && gone.By.Kind == cadre.ActorOperator {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d records say that the team was erased", kept)
	}
	refused(t, cadre.RuleMissing, s, &coord.TeamRestore{Team: name})
	refused(t, cadre.RuleMissing, s, &coord.TeamUse{Team: "nothing-there"})
}

func TestAnIdempotencyKey(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	first := must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "once", Key: "k"})
	again := must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "once", Key: "k"})
	other := must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "once", Key: "other"})
	if first.ID != again.ID || first.ID == other.ID {
		t.Errorf("ids %s, %s, %s", first.ID, again.ID, other.ID)
	}
}

func TestNextWaits(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	refused(t, cadre.RuleNothing, s, &coord.TaskNext{})
	refused(t, cadre.RuleTime, s, &coord.TaskNext{Wait: 20 * time.Millisecond})
	got := make(chan cadre.TaskID)
	go func() {
		answer, err := s.Do(context.Background(), "task next", &coord.TaskNext{TaskNext: cadre.TaskNext{Claim: true}, Wait: time.Minute})
		if err != nil {
			t.Error(err)
			close(got)
			return
		}
		got <- answer.(*cadre.TaskView).ID
	}()
	added := must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	if id := <-got; id != added.ID {
		t.Errorf("got %s, want %s", id, added.ID)
	}
}

func TestWaitingForTasksAndMail(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	s = d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	refused(t, cadre.RuleTime, s, &coord.TaskWait{IDs: []cadre.TaskID{"1"}, Status: "completed", Timeout: 10 * time.Millisecond})
	done := make(chan error, 2)
	go func() {
		_, err := s.Do(context.Background(), "task wait", &coord.TaskWait{IDs: []cadre.TaskID{"1"}, Status: "completed"})
		done <- err
	}()
	go func() {
		_, err := s.Do(context.Background(), "msg wait", &coord.MsgWait{Timeout: time.Minute})
		done <- err
	}()
	ann := d.at("/p", nil, "as=ann")
	must[*cadre.Done](t, ann, &cadre.TaskDone{ID: "1"})
	must[*cadre.MessageView](t, ann, &cadre.MsgSend{To: "team-lead", Text: "done"})
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestTheRecord(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	d.now.Wall = d.now.Wall.Add(time.Hour)
	text := "y"
	must[*cadre.TaskView](t, s, &cadre.TaskUpdate{ID: "1", Subject: &text})
	for range 3 {
		must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "more"})
	}
	events := must[[]cadre.Event](t, s, &coord.Log{Limit: 2})
	if len(events) != 2 || events[1].Seq != events[0].Seq+1 || events[1].Object.ID != "4" {
		t.Errorf("log: %+v", events)
	}
	if events = must[[]cadre.Event](t, s, &coord.Log{Task: "1"}); len(events) != 2 {
		t.Errorf("task 1 has %d events", len(events))
	}
	if at := must[*coord.AtView](t, s, &coord.At{Point: "30m"}); len(at.Tasks) != 1 || at.Tasks[0].Subject != "x" {
		t.Errorf("half an hour ago: %+v", at)
	}
	if diff := must[*coord.DiffView](t, s, &coord.Diff{From: "30m"}); len(diff.Changes) != 4 {
		t.Errorf("changes: %+v", diff.Changes)
	}
	refused(t, cadre.RuleMissing, s, &coord.At{Point: "999"})
	refused(t, cadre.RuleValue, s, &coord.At{Point: "yesterday-ish"})
	must[*coord.Undone](t, s, &coord.Undo{})
	must[*coord.Undone](t, s, &coord.Undo{}) // the one before
	if left := must[[]*cadre.TaskView](t, s, &cadre.TaskList{}); len(left) != 2 {
		t.Errorf("%d tasks are left", len(left))
	}
	must[*coord.Undone](t, s, &coord.Undo{Event: 3})
	if v := must[*cadre.TaskView](t, s, &cadre.TaskShow{ID: "1"}); v.Subject != "x" {
		t.Errorf("the subject is %q", v.Subject)
	}
	refused(t, cadre.RuleMissing, s, &coord.Undo{Event: 999})
}

func TestWatchUntil(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	stream := must[coord.Stream](t, s, &coord.Watch{Until: "task:1=completed"})
	seen := make(chan []string)
	go func() {
		var verbs []string
		for e, err := range stream.Events {
			if err != nil {
				t.Error(err)
			}
			verbs = append(verbs, e.Verb)
		}
		seen <- verbs
	}()
	must[*cadre.TaskView](t, s, &cadre.TaskStart{ID: "1"})
	must[*cadre.Done](t, s, &cadre.TaskDone{ID: "1"})
	if got := <-seen; len(got) != 2 {
		t.Errorf("saw %v", got)
	}
	refused(t, cadre.RuleValue, s, &coord.Watch{Until: "someday"})
	warned := ""
	d.Warn = func(format string, args ...any) { warned = fmt.Sprintf(format, args...) }
	must[coord.Stream](t, s, &coord.Watch{Until: "task:99=completed"})
	if !strings.Contains(warned, "there is no task 99") {
		t.Errorf("who waits for a task that is not there is told %q", warned)
	}
}

func TestOverview(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	o := must[*coord.OverviewView](t, s, &coord.Overview{})
	if !o.Fresh || !slices.ContainsFunc(o.Next, func(c string) bool { return strings.HasPrefix(c, "cadre team create") }) {
		t.Errorf("on a fresh machine: %+v", o)
	}
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	s = d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	must[*cadre.Ask](t, d.at("/p", nil, "as=ann"), &cadre.AskFor{Kind: cadre.AskQuestion, Text: "which?"})
	o = must[*coord.OverviewView](t, s, &coord.Overview{})
	if len(o.Needs) == 0 || o.Next[0] != o.Needs[0].Command {
		t.Errorf("what needs the person: %+v, next %v", o.Needs, o.Next)
	}
	if again := must[*coord.OverviewView](t, s, &coord.Overview{Since: o.Head}); len(again.Changes) != 0 {
		t.Errorf("nothing happened, and %d changes are shown", len(again.Changes))
	}

	// A question that waited too long can only be read, and is not lost.
	d.now.Wall = d.now.Wall.Add(2 * cadre.DefaultAskDeadline)
	o = must[*coord.OverviewView](t, s, &coord.Overview{})
	if len(o.Needs) != 1 || o.Needs[0].Message == nil || o.Next[0] != "cadre msg inbox" || o.Team.Asks != 0 {
		t.Errorf("after the deadline: %+v, %d asks, next %v", o.Needs, o.Team.Asks, o.Next)
	}
	for _, a := range must[[]*cadre.Ask](t, s, &cadre.AskList{All: true}) {
		if a.State != cadre.AskExpired {
			t.Errorf("the ask is %s", a.State)
		}
	}
}

// TestMomentsArePeoples: what the log and its ages are shown as can be typed.
func TestMomentsArePeoples(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "old"})
	d.now.Wall = d.now.Wall.Add(72 * time.Hour)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "new"})
	for point, tasks := range map[string]int{"2d": 1, "4d": 0, "-2d": 1, "11:59": 1, "12:00:01": 2, "49h": 1} {
		if at := must[*coord.AtView](t, s, &coord.At{Point: point}); len(at.Tasks) != tasks {
			t.Errorf("at %s there were %d tasks, want %d", point, len(at.Tasks), tasks)
		}
	}
	refused(t, cadre.RuleValue, s, &coord.At{Point: "2 days"})
}

func TestOverviewNamesWhatGoesOn(t *testing.T) {
	d := newDesk(t)
	must[*cadre.Added](t, d.at("/p", nil, "scope=Shared-List-1"), &cadre.TaskAdd{Subject: "x"})
	if o := must[*coord.OverviewView](t, d.at("/p", nil), &coord.Overview{}); o.Next[0] != "cadre team use Shared-List-1" {
		t.Errorf("beside one list: next %v", o.Next)
	}
	s := d.at("/p", nil)
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	s = d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x", Run: "true"})
	must[*cadre.MemberView](t, s, &cadre.MemberSpawn{Name: "robin", Backend: cadre.BackendShell, Folder: "/p"})
	if o := must[*coord.OverviewView](t, s, &coord.Overview{}); o.Next[0] == "cadre up" {
		t.Errorf("a member that was spawned just now: next %v", o.Next)
	}
	d.now.Wall = d.now.Wall.Add(time.Minute)
	if o := must[*coord.OverviewView](t, s, &coord.Overview{}); o.Next[0] != "cadre up" {
		t.Errorf("a member that nothing runs: next %v", o.Next)
	}
	must[*cadre.Member](t, s, &cadre.MemberStarted{Name: "robin", Process: cadre.Process{PID: 1, Start: "1"}})
	must[*cadre.MemberView](t, s, &cadre.MemberSpawn{Name: "wren", Backend: cadre.BackendShell, Folder: "/p"})
	d.now.Wall = d.now.Wall.Add(time.Minute)
	if o := must[*coord.OverviewView](t, s, &coord.Overview{}); o.Next[0] == "cadre up" {
		t.Errorf("a member that waits for room: next %v", o.Next)
	}
}

func TestGC(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "old"}})
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "busy"}})
	must[*cadre.Added](t, d.at("/p", nil, "scope=busy"), &cadre.TaskAdd{Subject: "x"})
	d.now.Wall = d.now.Wall.Add(1000 * time.Hour)
	lines := must[[]*coord.GCLine](t, s, &coord.GC{Older: 720 * time.Hour})
	if len(lines) != 1 || lines[0].Scope != "old" || lines[0].Done {
		t.Errorf("it would do %+v", lines)
	}
	must[[]*coord.GCLine](t, s, &coord.GC{Older: 720 * time.Hour, Apply: true})
	if lines := must[[]*coord.TeamLine](t, s, &coord.TeamList{}); len(lines) != 1 {
		t.Errorf("%d teams are left", len(lines))
	}
	agent := d.at("/p", map[string]string{"CADRE_SESSION": "aaaaaaaa-1"})
	refused(t, cadre.RuleOperator, agent, &coord.GC{})
}

func TestHooks(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(dir, "settings.json")
	write := func(event, command string, timeout float64) {
		text := fmt.Sprintf(`{"permissions":{},"hooks":{%q:[{"hooks":[{"type":"command","command":%q,"timeout":%g}]}]}}`, event, command, timeout)
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := newDesk(t)
	load := func() *coord.Session {
		hooks, err := coord.LoadHooks(settings, []string{"PATH=" + os.Getenv("PATH"), "CADRE_TOKEN=secret"})
		if err != nil {
			t.Fatal(err)
		}
		d.Hooks = hooks
		return d.at(dir, nil)
	}
	seen := filepath.Join(dir, "seen")
	write("TaskCreated", "cat > "+seen+"; env | grep CADRE_TOKEN >> "+seen+"; true", 5)
	must[*cadre.Added](t, load(), &cadre.TaskAdd{Subject: "x"})
	got, err := os.ReadFile(seen)
	if err != nil || !strings.Contains(string(got), `"hook_event_name":"TaskCreated"`) || !strings.Contains(string(got), `"task":{"id":"1"`) || strings.Contains(string(got), "secret") {
		t.Errorf("the hook was told %s, %v", got, err)
	}
	write("TaskCreated", "echo 'too vague' >&2; exit 2", 5)
	if e := refused(t, cadre.RuleGate, load(), &cadre.TaskAdd{Subject: "y"}); !strings.Contains(e.Message, "too vague") {
		t.Errorf("%q", e.Message)
	}
	if tasks := must[[]*cadre.TaskView](t, d.at(dir, nil), &cadre.TaskList{}); len(tasks) != 1 {
		t.Errorf("a refused task was created")
	}
	write("TaskCompleted", "echo 'tests fail' >&2; exit 2", 5)
	for range cadre.DefaultAttempts - 1 {
		refused(t, cadre.RuleGate, load(), &cadre.TaskDone{ID: "1"})
	}
	refused(t, cadre.RulePerson, load(), &cadre.TaskDone{ID: "1"})
	if v := must[*cadre.TaskView](t, d.at(dir, nil), &cadre.TaskShow{ID: "1"}); v.State != cadre.TaskWaiting {
		t.Errorf("the task is %s", v.State)
	}
	d.Hooks = nil
	must[*cadre.Added](t, d.at(dir, nil), &cadre.TaskAdd{Subject: "once only", MaxAttempts: 1})
	refused(t, cadre.RulePerson, load(), &cadre.TaskDone{ID: "2"})
	if v := must[*cadre.TaskView](t, d.at(dir, nil), &cadre.TaskShow{ID: "2"}); v.State != cadre.TaskWaiting {
		t.Errorf("a task with one attempt is %s after a refusal", v.State)
	}
	warned := ""
	d.Warn = func(format string, args ...any) { warned = fmt.Sprintf(format, args...) }
	write("TaskCompleted", "echo oops >&2; exit 1", 5)
	must[*cadre.Done](t, load(), &cadre.TaskDone{ID: "1"})
	if !strings.Contains(warned, "oops") {
		t.Errorf("a hook that failed was not told: %q", warned)
	}
	write("TeammateIdle", "grep -q '\"teammate_name\":\"ann\"' && echo 'task 2 is still open' >&2 && exit 2", 5)
	ann := load()
	ann.Actor = cadre.Actor{Kind: cadre.ActorMember, Name: "ann", By: "operator", Proof: cadre.ProofOwner}
	must[*cadre.TaskView](t, ann, &cadre.TaskShow{ID: "1"})
	d.Hooks = nil
	must[*cadre.Added](t, ann, &cadre.TaskAdd{Subject: "for ann"})
	must[*cadre.MemberView](t, ann, &cadre.MemberReport{State: cadre.StateWorking})
	ann.Coord = load().Coord
	if e := refused(t, cadre.RuleGate, ann, &cadre.MemberReport{State: cadre.StateIdle}); !strings.Contains(e.Message, "still open") {
		t.Errorf("%q", e.Message)
	}
	write("TaskCreated", "sleep 60", 0.05)
	if e := refused(t, cadre.RuleGate, load(), &cadre.TaskAdd{Subject: "z"}); !strings.Contains(e.Message, "did not answer") {
		t.Errorf("%q", e.Message)
	}
	if hooks, err := coord.ParseHooks([]byte("\ufeff{\"hooks\":{\"TaskCreated\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}]}}"), settings, nil); err != nil || len(hooks.Commands) != 1 {
		t.Errorf("behind a byte order mark: %+v, %v", hooks, err)
	}
	if err := os.WriteFile(settings, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := coord.LoadHooks(settings, nil); err == nil {
		t.Error("hooks that cannot be read are ignored")
	}
}

// TestAGateSeesWhatIsCommitted changes the task while its hook runs: the hook is
// asked again about what would really be committed.
func TestAGateSeesWhatIsCommitted(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t)
	s := d.at(dir, nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "before"})
	asked := filepath.Join(dir, "asked")
	d.Hooks = &coord.Hooks{Env: []string{"PATH=" + os.Getenv("PATH")}, Commands: map[coord.HookEvent][]coord.HookCommand{
		coord.TaskCompleted: {{Command: "echo run >> " + asked + "; while [ ! -e " + dir + "/go ]; do sleep 0.01; done", Timeout: 10 * time.Second}},
	}}
	done := make(chan error)
	go func() {
		_, err := s.Do(context.Background(), "task done", &cadre.TaskDone{ID: "1"})
		done <- err
	}()
	for {
		if _, err := os.Stat(asked); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	text := "after"
	must[*cadre.TaskView](t, s, &cadre.TaskUpdate{ID: "1", Subject: &text})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	runs, err := os.ReadFile(asked)
	if err != nil || strings.Count(string(runs), "run") != 2 {
		t.Errorf("the hook ran %d times, want 2", strings.Count(string(runs), "run"))
	}
}

// TestTokens: a token is its member, in its team, for as long as it belongs to it.
func TestTokens(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	guest := d.at("/p", map[string]string{"GEMINI_CLI": "1"}, "scope=docs")
	joined := must[*coord.Joined](t, guest, &coord.TeamJoin{TeamJoin: cadre.TeamJoin{Name: "gem"}})
	if joined.Token == "" {
		t.Fatal("a guest got no token")
	}
	env := map[string]string{"GEMINI_CLI": "1", "CADRE_TOKEN": joined.Token}
	gem := d.at("/p", env)
	if gem.Scope != "docs" || gem.Actor.Name != "gem" || gem.Actor.Proof != cadre.ProofToken {
		t.Errorf("the token makes it %+v on %s", gem.Actor, gem.Scope)
	}
	if added := must[*cadre.Added](t, gem, &cadre.TaskAdd{Subject: "x"}); added.Author != "gem" {
		t.Errorf("the author is %s", added.Author)
	}
	refused(t, cadre.RuleRead, d.at("/p", env, "scope=default"), &cadre.TaskList{})
	if _, err := d.Identify(context.Background(), coord.Place{Env: env}, "team-lead"); !errors.Is(err, cadre.ErrForbidden) {
		t.Errorf("a member may act as the lead: %v", err)
	}
	refused(t, cadre.RulePerson, d.at("/p", nil), &coord.TeamJoin{TeamJoin: cadre.TeamJoin{Name: "x"}, Token: true})
	must[*cadre.MemberView](t, gem, &cadre.MemberLeave{})
	refused(t, cadre.RuleRead, gem, &cadre.TaskList{})
	must[*coord.Joined](t, guest, &coord.TeamJoin{TeamJoin: cadre.TeamJoin{Name: "gem"}})
	refused(t, cadre.RuleRead, gem, &cadre.TaskList{}) // the name came back, its old token did not
}

// TestGatesStayShut: a hook that cannot be started refuses, a task cannot be made
// a client's own record to pass, and a repeated key is not asked about again.
func TestGatesStayShut(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t)
	count := filepath.Join(dir, "count")
	d.Hooks = &coord.Hooks{Env: []string{"PATH=" + os.Getenv("PATH")}, Commands: map[coord.HookEvent][]coord.HookCommand{
		coord.TaskCreated:   {{Command: "echo asked >> " + count, Timeout: 10 * time.Second}},
		coord.TaskCompleted: {{Command: "exit 2", Timeout: 10 * time.Second}},
	}}
	s := d.at(dir, nil)
	for range 3 {
		must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "once", Key: "k"})
	}
	if asked, err := os.ReadFile(count); err != nil || strings.Count(string(asked), "asked") != 1 {
		t.Errorf("the hook was asked %q, %v", asked, err)
	}
	completed := "completed"
	refused(t, cadre.RuleValue, s, &cadre.TaskUpdate{ID: "1", Status: &completed, Metadata: map[string]json.RawMessage{"_internal": json.RawMessage("true")}})
	refused(t, cadre.RuleGate, s, &cadre.TaskUpdate{ID: "1", Status: &completed})
	gone := d.at(filepath.Join(dir, "gone"), nil, "scope="+string(s.Scope))
	refused(t, cadre.RuleGate, gone, &cadre.TaskAdd{Subject: "from a folder that is gone"})
}

// TestAHookThatCannotBeStartedJudgesNothing: it refuses each time, and no attempt of the
// task is used up.
func TestAHookThatCannotBeStartedJudgesNothing(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	must[*cadre.Added](t, d.at(dir, nil), &cadre.TaskAdd{Subject: "one"})
	for _, command := range []string{"/nosuch/hook", plain} {
		d.Hooks = &coord.Hooks{Env: []string{"PATH=" + os.Getenv("PATH")}, Commands: map[coord.HookEvent][]coord.HookCommand{
			coord.TaskCompleted: {{Command: command, Timeout: 10 * time.Second, File: "settings.json"}},
		}}
		for range cadre.DefaultAttempts + 1 {
			e := refused(t, cadre.RuleGate, d.at(dir, nil), &cadre.TaskDone{ID: "1"})
			if !strings.Contains(e.Message, "could not be started") || e.Hint != "$EDITOR settings.json" {
				t.Errorf("%q, %q", e.Message, e.Hint)
			}
		}
	}
	if v := must[*cadre.TaskView](t, d.at(dir, nil), &cadre.TaskShow{ID: "1"}); v.State != cadre.TaskReadyState || v.Version != 1 {
		t.Errorf("the task is %s in version %d", v.State, v.Version)
	}
}

// TestCreatingDoesNotWaitForOthers: a slow hook agrees to what is created, not to
// the id that was next when it began.
func TestCreatingDoesNotWaitForOthers(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t)
	s := d.at(dir, nil)
	busy := &coord.Coord{Store: d.Store, Now: d.Now}
	s.Coord = busy
	count := filepath.Join(dir, "count")
	busy.Hooks = &coord.Hooks{Env: []string{"PATH=" + os.Getenv("PATH")}, Commands: map[coord.HookEvent][]coord.HookCommand{
		coord.TaskCreated: {{Command: "echo asked >> " + count + "; while [ ! -e " + dir + "/go ]; do sleep 0.01; done", Timeout: 10 * time.Second}},
	}}
	done := make(chan error)
	go func() {
		_, err := s.Do(context.Background(), "task add", &cadre.TaskAdd{Subject: "slow"})
		done <- err
	}()
	quick := d.at(dir, nil)
	for range 5 {
		must[*cadre.Added](t, quick, &cadre.TaskAdd{Subject: "quick"})
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if asked, err := os.ReadFile(count); err != nil || strings.Count(string(asked), "asked") != 1 {
		t.Errorf("the hook was asked %q, %v", asked, err)
	}
}

// looks is a store that counts how often it is looked at.
type looks struct {
	cadre.Store
	n atomic.Int64
}

func (l *looks) View(ctx context.Context, s cadre.Scope, look func(cadre.Snap) error) error {
	l.n.Add(1)
	return l.Store.View(ctx, s, look)
}

// TestWaitingBesideALeaseThatIsOver: nobody ended it, and who waits for something else
// sleeps all the same.
func TestWaitingBesideALeaseThatIsOver(t *testing.T) {
	d := newDesk(t)
	store := &looks{Store: d.Store}
	d.Store = store
	s := d.at("/p", nil)
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	s = d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "leased"})
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "waited for"})
	must[*cadre.TaskView](t, d.at("/p", nil, "as=ann"), &cadre.TaskStart{ID: "1", Lease: time.Second})
	for _, now := range []cadre.Time{{Wall: d.now.Wall, Boot: "boot", Up: 2 * time.Hour}, {Wall: d.now.Wall, Boot: "another", Up: time.Minute}} {
		d.now = now
		store.n.Store(0)
		refused(t, cadre.RuleTime, s, &coord.TaskWait{IDs: []cadre.TaskID{"2"}, Status: "completed", Timeout: 200 * time.Millisecond})
		if n := store.n.Load(); n > 20 {
			t.Errorf("it looked %d times in a fifth of a second", n)
		}
	}
}

// TestNextWakesWhenALeaseEnds: the end of a lease is no event.
func TestNextWakesWhenALeaseEnds(t *testing.T) {
	d := newDesk(t)
	began := time.Now()
	d.Now = func() cadre.Time {
		return cadre.Time{Wall: time.Now(), Boot: "boot", Up: time.Since(began)}
	}
	s := d.at("/p", nil)
	must[*cadre.TeamView](t, s, &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	s = d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	must[*cadre.TaskView](t, d.at("/p", nil, "as=ann"), &cadre.TaskStart{ID: "1", Lease: 50 * time.Millisecond})
	view := must[*cadre.TaskView](t, d.at("/p", nil, "as=ben"), &coord.TaskNext{TaskNext: cadre.TaskNext{Claim: true}, Wait: time.Minute})
	if view.Owner != "ben" || view.Attempts != 1 {
		t.Errorf("got %+v", view)
	}
}

func TestEveryVerbIsOne(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range coord.Verbs() {
		value := v.New()
		_, change := value.(cadre.Change)
		_, query := value.(cadre.Query)
		_, procedure := value.(coord.Procedure)
		if !change && !query && !procedure {
			t.Errorf("%s is neither a change, a query nor a procedure", v.Name)
		}
		if seen[v.Name] || v.Help == "" || !strings.HasPrefix(v.Example, "cadre "+v.Name) {
			t.Errorf("%s: help %q, example %q, seen before: %v", v.Name, v.Help, v.Example, seen[v.Name])
		}
		seen[v.Name] = true
	}
}

// meddler lets something happen between a commit and its answer.
type meddler struct {
	cadre.Store
	then func()
}

func (m *meddler) Update(ctx context.Context, s cadre.Scope, c cadre.Command, d cadre.Decide) (cadre.Receipt, error) {
	r, err := m.Store.Update(ctx, s, c, d)
	if then := m.then; then != nil && err == nil {
		m.then = nil
		then()
	}
	return r, err
}

// TestAnAnswerIsOfItsOwnCommand: what others do a moment later is not part of it.
func TestAnAnswerIsOfItsOwnCommand(t *testing.T) {
	d := newDesk(t)
	s := d.at("/p", nil)
	must[*cadre.Added](t, s, &cadre.TaskAdd{Subject: "x"})
	between := &meddler{Store: d.Store, then: func() {
		must[*cadre.Done](t, d.at("/p", nil), &cadre.TaskDone{ID: "1"})
	}}
	ann := d.at("/p", nil, "as=ann")
	ann.Coord = &coord.Coord{Store: between, Now: d.Now}
	view := must[*cadre.TaskView](t, ann, &cadre.TaskClaim{ID: "1"})
	if view.Owner != "ann" || view.Status != cadre.Pending || view.Version != 2 {
		t.Errorf("a claim was answered with %s of %s, version %d", view.Status, view.Owner, view.Version)
	}
}

// TestNobodyWorksInTheArchive: what was seen of a member is not said of it where it
// cannot be so any more, and is again when the team is back.
func TestNobodyWorksInTheArchive(t *testing.T) {
	d := newDesk(t)
	must[*cadre.TeamView](t, d.at("/p", nil), &coord.TeamCreate{TeamCreate: cadre.TeamCreate{Name: "docs"}})
	op := d.at("/p", nil)
	must[*cadre.Added](t, op, &cadre.TaskAdd{Subject: "x"})
	must[*cadre.TaskView](t, op, &cadre.TaskStart{ID: "1"})
	before := must[*cadre.TeamView](t, op, &cadre.TeamShow{})
	must[*coord.Deleted](t, op, &coord.TeamDelete{})
	v := must[*cadre.TeamView](t, op, &cadre.TeamShow{})
	if lead := v.Members[0]; v.Where != cadre.Archive || v.Active.Active || lead.State != cadre.StateIdle || lead.Evidence != "was working when the team was archived" {
		t.Errorf("in the %s, at work %v, %s: %s", v.Where, v.Active.Active, lead.State, lead.Evidence)
	}
	shown := must[*cadre.MemberView](t, op, &cadre.MemberShow{Name: cadre.LeadName})
	if list := must[[]*cadre.MemberView](t, op, &cadre.MemberList{}); shown.Evidence != v.Members[0].Evidence || list[0].Evidence != shown.Evidence {
		t.Errorf("%q, and in the list %q", shown.Evidence, list[0].Evidence)
	}
	if log := must[[]cadre.Event](t, op, &coord.Log{}); len(log) == 0 {
		t.Error("an archived team has no log")
	}
	if made := must[*coord.DiffView](t, op, &coord.Diff{From: "1"}); len(made.Changes) == 0 {
		t.Error("nothing happened in an archived team")
	}
	must[*cadre.TeamView](t, op, &coord.TeamRestore{Team: "docs"})
	if v := must[*cadre.TeamView](t, op, &cadre.TeamShow{}); v.Where != cadre.Live || v.Members[0].Evidence != before.Members[0].Evidence {
		t.Errorf("restored it is %s, with %q", v.Where, v.Members[0].Evidence)
	}
}
