package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"testing"
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
	for i := range 26 {
		succeeds(t, ann, "ReadInbox", `{"limit":1}`, fmt.Sprint("letter ", i))
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
