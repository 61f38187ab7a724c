package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// row is one tool in the table of forgeries: a call that ann may make or at least
// utter, and one with which she reaches for what is the lead's, another's or another
// team's; empty where the tool has nothing of the kind.
type row struct{ call, overreach string }

// forgeries has a row for every tool. In docs, task 1 is ben's; ann asked a question.
var forgeries = map[string]row{
	"Sync":          {`{}`, `{"cursor":"web:x:1"}`},
	"TaskNext":      {`{"peek":true}`, ``},
	"TaskCreate":    {`{"subject":"x"}`, ``},
	"TaskGet":       {`{"taskId":"1"}`, ``},
	"TaskList":      {`{}`, `{"cursor":"web:1"}`},
	"TaskUpdate":    {`{"taskId":"1","comment":"x"}`, `{"taskId":"1","subject":"mine"}`},
	"TaskClaim":     {`{"taskId":"1"}`, ``},
	"SendMessage":   {`{"to":"ben","message":"x"}`, `{"to":"ben","message":{"type":"shutdown_request"}}`},
	"ReadInbox":     {`{}`, `{"cursor":"web::1"}`},
	"TeamStatus":    {`{}`, `{"team_name":"web"}`},
	"TeamJoin":      {`{"name":"x"}`, `{"team_name":"web","name":"eve"}`},
	"TeamCreate":    {`{"team_name":"x"}`, `{"team_name":"mine"}`},
	"TeamDelete":    {`{}`, `{"team_name":"web","force":true}`},
	"SpawnTeammate": {`{"name":"x"}`, `{"name":"robin"}`},
	"StopTeammate":  {`{"name":"ben"}`, `{"name":"ben"}`},
	"AnswerAsk":     {`{"request_id":"ASK","text":"x"}`, `{"request_id":"ASK","text":"yes"}`},
	"TodoWrite":     {`{"todos":[]}`, ``},
	"TaskRelease":   {`{"taskId":"1"}`, `{"taskId":"1"}`},
	"TaskAccept":    {`{"taskId":"1"}`, `{"taskId":"2"}`},
	"TaskRestore":   {`{"taskId":"1"}`, ``},
	"TaskWhy":       {`{"taskId":"1"}`, ``},
	"TaskGraph":     {`{}`, ``},
	"TaskWait":      {`{"ids":["1"],"timeout":0.01}`, ``},
	"TeamList":      {`{}`, ``},
	"TeamTake":      {`{}`, `{"team":"web","force":true}`},
	"TeamLabel":     {`{"label":"x"}`, `{"label":"mine"}`},
	"TeamMode":      {`{"mode":"dispatch"}`, `{"mode":"dispatch"}`},
	"TeamLimit":     {`{"most":1}`, `{"most":1}`},
	"TeamRestore":   {`{"team":"docs"}`, `{"team":"web"}`},
	"MemberList":    {`{}`, ``},
	"MemberShow":    {`{"name":"ben"}`, ``},
	"MemberReport":  {`{"state":"idle"}`, `{"state":"stalled","name":"ben"}`},
	"MemberNudge":   {`{"name":"ben"}`, ``},
	"MemberResume":  {`{"name":"ben"}`, ``},
	"MemberLeave":   {`{"name":"ben"}`, `{"name":"ben"}`},
	"MsgDead":       {`{}`, ``},
	"AskList":       {`{}`, ``},
	"AskShow":       {`{"id":"ASK"}`, ``},
	"AskFor":        {`{"kind":"question","text":"x"}`, `{"kind":"permission","text":"x","approvers":["ben"]}`},
	"TodoShow":      {`{}`, ``},
	"Log":           {`{}`, ``},
	"Blame":         {`{"id":"1"}`, ``},
	"Diff":          {`{"from":"1"}`, ``},
	"At":            {`{"point":"3"}`, ``},
	"Undo":          {`{}`, `{"event":UNDO}`},
}

// attempts are parameters that say who somebody is or where it belongs.
var attempts = map[string]string{
	"as": "ben", "from": "team-lead", "role": "lead", "agent_id": "team-lead@docs", "scope": "web", "team_name": "web",
}

// TestNoCallIsSomebodyElse tries, with every tool and over both doors, to be another
// member, the lead, or in another team. Each try is refused with the reason, written to
// the server's log and told to the lead, and changes nothing.
func TestNoCallIsSomebodyElse(t *testing.T) {
	for _, door := range []string{"pipe", "http"} {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cadre("task", "add", "Ben's own", "--owner", "ben")
			w.cadre("task", "add", "Done")
			w.cadre("task", "done", "2")
			var last []struct{ Seq int }
			if err := json.Unmarshal([]byte(w.cadre("log", "--limit", "1", "--json")), &last); err != nil {
				t.Fatal(err)
			}
			ann := w.connect("ann", door, nil)
			ask := told(call(t, ann, "AskFor", `{"kind":"question","text":"Which?"}`))
			places := strings.NewReplacer("ASK", strings.Fields(ask)[1], "UNDO", fmt.Sprint(last[0].Seq))
			before, refusals := w.events(), map[string]int{}
			for _, tool := range tools(t, ann) {
				row, ok := forgeries[tool.Name]
				if !ok {
					t.Errorf("%s has no row in the table of forgeries", tool.Name)
					continue
				}
				for _, forged := range forged(t, tool, places.Replace(row.call)) {
					w.refusedAs(ann, tool.Name, forged, true)
					refusals[tool.Name]++
				}
				if row.overreach != "" {
					w.refusedAs(ann, tool.Name, places.Replace(row.overreach), false)
					refusals[tool.Name]++
				}
			}
			for name := range forgeries {
				if !slices.ContainsFunc(tools(t, ann), func(tool *mcp.Tool) bool { return tool.Name == name }) {
					t.Errorf("the table has a row for %s, and there is no such tool", name)
				}
			}
			for name, n := range refusals {
				w.logged(name, n)
			}
			after := w.events()
			for _, e := range after[len(before):] {
				if e.Verb != "member posed" || e.Actor.Name != "cadre" {
					t.Errorf("a forged call left %+v", e)
				}
			}
			if len(after) == len(before) {
				t.Error("nothing was recorded")
			}
		})
	}
}

// TestTheLeadIsToldOnceOfForgeries: however often and in however many ways somebody tries,
// the log has every one, and the lead one letter, also after it read that.
func TestTheLeadIsToldOnceOfForgeries(t *testing.T) {
	w := newWorld(t)
	reader := w.connect("reader", "pipe", nil)
	tries := 0
	for range 2 {
		for _, tool := range []string{"TaskList", "TaskGet", "Sync"} {
			for _, name := range []string{"scope", "scope_", "s_cope", "as", "from", "Role"} {
				w.refusedAs(reader, tool, fmt.Sprintf(`{%q:"x"}`, name), true)
				tries++
			}
		}
		w.cadre("msg", "ack")
	}
	w.logged("TaskList", tries/3)
	again := w.connect("reader", "pipe", nil)
	w.refusedAs(again, "TaskList", `{"scope":"web"}`, true)
	var mail []struct{ Text string }
	if err := json.Unmarshal([]byte(w.cadre("msg", "inbox", "--all", "--json")), &mail); err != nil {
		t.Fatal(err)
	}
	if len(mail) != 2 || !strings.Contains(mail[0].Text, "a read-only token called tools with parameters that say who it is") {
		t.Errorf("the lead of two connections that forged has %d letters: %v", len(mail), mail)
	}
}

// tools lists the server's tools.
func tools(t *testing.T, s *mcp.ClientSession) []*mcp.Tool {
	t.Helper()
	list, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return list.Tools
}

// forged adds each of the attempts to a call that the tool does not know.
func forged(t *testing.T, tool *mcp.Tool, arguments string) []string {
	var out []string
	known := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		if known[name] != nil {
			continue
		}
		given := map[string]any{}
		if err := json.Unmarshal([]byte(arguments), &given); err != nil {
			t.Fatal(err)
		}
		given[name] = attempts[name]
		raw, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// logged expects that the server's log has so many refusals of a tool.
func (w *world) logged(tool string, want int) {
	w.t.Helper()
	line := "msg=refused tool=" + tool + " "
	for range 1000 { // what another process wrote takes its time
		if strings.Count(w.said.String(), line) >= want {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := strings.Count(w.said.String(), line); got != want {
		w.t.Errorf("%s was refused %d times, and the log has %d", tool, want, got)
	}
}

// refusedAs expects that a call is not allowed, with a reason.
func (w *world) refusedAs(s *mcp.ClientSession, name, arguments string, poses bool) {
	w.t.Helper()
	result := call(w.t, s, name, arguments)
	var answer struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(data(w.t, result)), &answer); err != nil {
		w.t.Fatal(err)
	}
	if e := answer.Error; !result.IsError || e.Code != "not_allowed" && (poses || e.Code != "needs_person") || e.Message == "" {
		w.t.Errorf("%s %s: %s", name, arguments, data(w.t, result))
	}
}

// event is what the log says happened.
type event struct {
	Seq   int
	Scope string
	Verb  string
	Actor struct{ Name string }
}

// events is what happened in both teams.
func (w *world) events() []event {
	w.t.Helper()
	var all []event
	for _, team := range []string{"web", "docs"} {
		var events []event
		if err := json.Unmarshal([]byte(w.cadre("log", "--json", "--limit", "0", "--team", team)), &events); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, events...)
	}
	return all
}
