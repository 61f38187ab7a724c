package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cadre"
	"cadre/sqlitestore"
)

// full is a store on a disk that is full.
type full struct{ cadre.Store }

func (full) Update(context.Context, cadre.Scope, cadre.Command, cadre.Decide) (cadre.Receipt, error) {
	return cadre.Receipt{}, errors.New("the disk is full")
}

// Mail that cannot be marked as read is told once all the same, with the exit code of a
// hook that is heeded: else it was thrown away, or would keep a session from stopping.
func TestMailThatCannotBeMarkedIsToldOnce(t *testing.T) {
	const session = "11111111-aaaa-4aaa-8aaa-111111111111"
	d := newDesk(t)
	d.env = map[string]string{"CADRE_CLAUDE": "off"}
	must := func(args ...string) {
		t.Helper()
		if out, code := d.run(args...); code != 0 {
			t.Fatalf("%q: %s", args, out)
		}
	}
	d.env["CLAUDE_CODE_SESSION_ID"] = session
	must("team", "create", "docs")
	delete(d.env, "CLAUDE_CODE_SESSION_ID")
	must("team", "join", "docs", "--name", "bob", "--as", "bob")
	hook := func(event string) string {
		t.Helper()
		d.stdin = `{"session_id":"` + session + `","hook_event_name":"` + event + `"}`
		defer func() { d.stdin = "" }()
		out, code := d.run("hook")
		if code != 0 {
			t.Errorf("%s ends with %d: %s", event, code, out)
		}
		return out
	}
	hook("SessionStart")
	must("msg", "send", "team-lead", "hello", "--team", "docs", "--as", "bob")
	d.open = func(dir, _ string) (cadre.Store, error) {
		s, err := sqlitestore.Open(dir)
		return full{s}, err
	}
	if out := hook("Stop"); !strings.Contains(out, `"decision":"block"`) || !strings.Contains(out, "the disk is full") {
		t.Errorf("it is told %s", out)
	}
	for _, event := range []string{"Stop", "PostToolUse", "Stop"} {
		if out := hook(event); strings.Contains(out, "hello") {
			t.Errorf("at %s it is told %s again", event, out)
		}
	}
	d.open = nil
	hook("PostToolUse")
	d.env["CLAUDE_CODE_SESSION_ID"] = session
	if out, _ := d.run("msg", "inbox", "--team", "docs", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("it is unread: %s", out)
	}
}
