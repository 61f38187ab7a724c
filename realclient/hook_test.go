//go:build realclient

package realclient

import (
	"strings"
	"testing"
	"time"
)

// hooked is a machine on which Claude Code has Cadre's hooks, with a team that the
// session leads and in which bob is driven by hand.
func (m *machine) hooked() (bob func(text string)) {
	m.Helper()
	m.cadre("install", "claude", "--hooks", "--write")
	m.more = []string{"CLAUDE_CODE_SESSION_ID=" + session}
	m.cadre("team", "create", "docs")
	m.more = nil
	return func(text string) { m.cadre("msg", "send", "team-lead", text, "--team", "docs", "--as", "bob") }
}

// TestHooksTellASession has mail reach a session of both clients in the middle of its
// turn, and keep it from stopping; and tells it who it is at the beginning.
func TestHooksTellASession(t *testing.T) {
	both(t, func(m *machine) {
		bob := m.hooked()
		bob("the outline is there")
		agent := m.model.talk("Plan the work")
		end := m.headless(session, "Plan the work")
		agent.need()
		begin := agent.ask.heard
		for _, text := range []string{"You are team-lead, the lead of the team docs", "from bob: the outline is there"} {
			if !strings.Contains(begin, text) {
				m.Errorf("a session that begins is not told %q: %s", text, begin)
			}
		}
		bob("chapter one, too")
		agent.call("Bash", object{"command": "true", "description": "do nothing"})
		agent.need()
		if said := agent.ask.heard; !strings.Contains(said, "from bob: chapter one, too") || strings.Contains(said, "the outline is there") {
			m.Errorf("between two tool calls it is told: %s", said)
		}
		bob("and chapter two")
		agent.say("I am done.")
		agent.need()
		if said := agent.ask.heard; !strings.Contains(said, "from bob: and chapter two") {
			m.Errorf("when it stops it is told: %s", said)
		}
		agent.say("Now I am done.")
		end()
		want(m, "unread mail", m.cadre("msg", "inbox", "--team", "docs", "--as", "team-lead", "--json"), "[]")
	})
}

// TestASessionThatStoppedIsWoken has mail wake a session that waits for its user. The
// older client cannot be woken.
func TestASessionThatStoppedIsWoken(t *testing.T) {
	m := newMachine(t, november)
	bob := m.hooked()
	agent := m.model.talk("Plan the work")
	c := m.interactive("--session-id", session, "Plan the work")
	agent.say("I am done.")
	m.eventually("it waits", func() bool { return strings.Contains(c.screen(), "I am done.") })
	time.Sleep(3 * time.Second) // its hooks have looked by then, so that it is not merely kept from stopping
	bob("wake up")
	agent.need()
	if said := agent.ask.heard; !strings.Contains(said, "from bob: wake up") {
		m.Errorf("it is told: %s", said)
	}
	agent.say("I am awake.")
	m.eventually("it is awake", func() bool { return strings.Contains(c.screen(), "I am awake.") })
}
