package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMailThatSyncLeftOutIsNotRead: what a Sync had no room for comes with ReadInbox,
// whatever another Sync showed meanwhile.
func TestMailThatSyncLeftOutIsNotRead(t *testing.T) {
	w := newWorld(t)
	ann := w.connect("ann", "pipe", nil)
	send := func(i int) { w.cadre("msg", "send", "ann", fmt.Sprint("letter ", i), "--team", "docs") }
	for i := range 25 {
		send(i)
	}
	sync := func(arguments string) string {
		var answer struct{ Cursor string }
		if err := json.Unmarshal([]byte(data(t, call(t, ann, "Sync", arguments))), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Cursor
	}
	cursor := sync(`{}`)
	send(25)
	sync(fmt.Sprintf(`{"cursor":%q}`, cursor))
	for i := 20; i < 26; i++ { // those before were shown
		succeeds(t, ann, "ReadInbox", `{"limit":1}`, fmt.Sprint("letter ", i))
	}
}

// TestWhatSyncShowedDoesNotComeAgain: not with ReadInbox, also where several calls were
// needed; and nothing is passed over that came by the caller's own doing.
func TestWhatSyncShowedDoesNotComeAgain(t *testing.T) {
	w := newWorld(t)
	ann := w.connect("ann", "pipe", nil)
	var answer struct {
		Cursor   string
		Messages []struct{ Text string }
	}
	sync := func(arguments string) {
		t.Helper()
		answer.Messages = nil
		if err := json.Unmarshal([]byte(data(t, call(t, ann, "Sync", arguments))), &answer); err != nil {
			t.Fatal(err)
		}
	}
	sync(`{}`)
	succeeds(t, ann, "SendMessage", `{"to":"ann","message":"letter 0"}`, "sent")
	for i := 1; i < 45; i++ {
		w.cadre("msg", "send", "ann", fmt.Sprint("letter ", i))
	}
	for i := 0; i < 45; i += len(answer.Messages) {
		if sync(fmt.Sprintf(`{"cursor":%q}`, answer.Cursor)); len(answer.Messages) == 0 || answer.Messages[0].Text != fmt.Sprint("letter ", i) {
			t.Fatalf("after %d letters: %+v", i, answer)
		}
	}
	succeeds(t, ann, "ReadInbox", `{}`, "No new messages")
}

// TestAnAnswerIsAboutTheListOfItsCall, also when the caller moved to another meanwhile:
// what was read here says nothing about what was read there.
func TestAnAnswerIsAboutTheListOfItsCall(t *testing.T) {
	w := newWorld(t)
	ann := w.connect("ann", "pipe", nil)
	succeeds(t, ann, "SendMessage", `{"to":"team-lead","message":"first"}`, "sent")
	r := w.raw(w.tokens["operator"])
	r.greet(t)
	call := func(id int, tool, arguments string) {
		r.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments))
	}
	call(1, "ReadInbox", `{}`)
	r.hear(t)
	call(2, "ReadInbox", `{"wait":60}`)
	w.isRead("team-lead")
	call(3, "TeamCreate", `{"team_name":"mine"}`)
	r.hear(t)
	succeeds(t, ann, "SendMessage", `{"to":"team-lead","message":"hello"}`, "sent")
	if got, err := json.Marshal(r.hear(t)); err != nil || !strings.Contains(string(got), "hello") || !strings.Contains(string(got), `"cursor":"docs::`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestARefusedCallReadsNothing: what was shown before is not marked as read by it.
func TestARefusedCallReadsNothing(t *testing.T) {
	w := newWorld(t)
	w.cadre("msg", "send", "ann", "hello")
	ann := w.connect("ann", "pipe", nil)
	succeeds(t, ann, "ReadInbox", `{}`, "hello")
	refused(t, ann, "ReadInbox", `{"limit":-1}`, "limit is a number")
	refused(t, ann, "ReadInbox", `{"wait":9999}`, "wait is a number")
	succeeds(t, w.connect("ann", "pipe", nil), "ReadInbox", `{}`, "hello")
}

// TestWhatAToolGaveIsDelivered, as soon as the answer is written, and unread until the
// session asks again: a hook need not tell it, and what the session lost comes once more.
func TestWhatAToolGaveIsDelivered(t *testing.T) {
	w := newWorld(t)
	connect := func() *mcp.ClientSession {
		cmd := w.command("", "mcp", "--tools", "all", "--team", "docs")
		cmd.Env = append(cmd.Env, "CADRE_SESSION=s1")
		client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	succeeds(t, connect(), "TeamJoin", `{"team_name":"docs","name":"cal"}`, "cal")
	for tool, sent := range map[string]string{"ReadInbox": "by asking", "Sync": "by looking"} {
		w.cadre("msg", "send", "cal", sent)
		succeeds(t, connect(), tool, `{}`, sent)
		state := func() string {
			var all []struct{ Text, State string }
			if err := json.Unmarshal([]byte(w.cadre("msg", "inbox", "--as", "cal", "--json")), &all); err != nil {
				t.Fatal(err)
			}
			for _, m := range all {
				if m.Text == sent {
					return m.State
				}
			}
			return "read"
		}
		becomes(func() bool { return state() == "delivered" })
		succeeds(t, connect(), "ReadInbox", `{}`, sent)
	}
}
