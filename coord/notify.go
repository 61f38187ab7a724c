package coord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/internal/termtext"
)

// Notice is what a person who is needed is told: all that came within a moment.
type Notice struct {
	Team cadre.Scope  `json:"team"`
	Text string       `json:"text"`
	Asks []*cadre.Ask `json:"asks"`
	Next string       `json:"next"` // the command to type
}

// noticeQuiet is how long more is waited for before a person is told, so that many
// asks at a time are one notice; noticeTime is how long a command may take to tell.
const (
	noticeQuiet = time.Second
	noticeTime  = 30 * time.Second
)

// notifier tells a person who looks elsewhere that something waits for them.
type notifier struct {
	scope cadre.Scope
	tell  func(context.Context, *Notice) error
	warn  func(format string, args ...any)
	asks  chan *cadre.Ask
	ended chan struct{}
}

// notifier makes what --notify names: a terminal's bell, a terminal's own notices,
// or a command that reads the notice as JSON; nil for nothing. Who is slow to tell
// does not hold up who watches.
func (s *Session) notifier(how string) (*notifier, error) {
	n := &notifier{scope: s.Scope, warn: s.warn, asks: make(chan *cadre.Ask, 1000), ended: make(chan struct{})}
	switch how {
	case "":
		return nil, nil
	case "bell":
		n.tell = func(_ context.Context, notice *Notice) error { return s.ring("\a") }
	case "osc": // 9 is iTerm2's and Windows Terminal's, 777 rxvt's and many others'
		n.tell = func(_ context.Context, notice *Notice) error {
			text := termtext.Line(notice.Text)
			return s.ring("\x1b]9;" + text + "\a\x1b]777;notify;cadre;" + text + "\a")
		}
	default:
		n.tell = func(ctx context.Context, notice *Notice) error { return s.tellBy(ctx, how, notice) }
		return n, nil
	}
	if s.Terminal == nil {
		return nil, cadre.Refuse(cadre.RuleValue, `cadre watch --notify "a command"`, "there is no terminal here for %s", how)
	}
	return n, nil
}

// ring writes to the person's terminal.
func (s *Session) ring(signs string) error {
	_, err := io.WriteString(s.Terminal, signs)
	return err
}

// tellBy runs a command with the notice on its standard input. Like a hook it gets
// no token.
func (s *Session) tellBy(ctx context.Context, line string, notice *Notice) error {
	input, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	cmd := shellCommand(ctx, line)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.Env, cmd.Dir = bytes.NewReader(input), &limitedBuffer{Buffer: &said}, withoutTokens(s.Env), s.CWD
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// run tells until there is nothing more to come. What was answered before anybody
// was told of it is left out.
func (n *notifier) run(ctx context.Context) {
	defer close(n.ended)
	var waiting []*cadre.Ask
	var quiet <-chan time.Time
	send := func() {
		quiet = nil
		if len(waiting) == 0 {
			return
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeTime)
		defer cancel()
		if err := n.tell(limited, newNotice(n.scope, waiting)); err != nil {
			n.warn("nobody could be told that somebody is needed: %v", err)
		}
		waiting = nil
	}
	for {
		select {
		case a, more := <-n.asks:
			if !more {
				send()
				return
			}
			waiting = slices.DeleteFunc(waiting, func(old *cadre.Ask) bool { return old.ID == a.ID })
			if a.ForPerson() {
				waiting = append(waiting, a)
			}
			if quiet == nil {
				quiet = time.After(noticeQuiet)
			}
		case <-quiet:
			send()
		}
	}
}

// saw takes note of an event: an ask that begins to wait for a person, or does not
// any more. Whatever else changes about one is no news.
func (n *notifier) saw(e cadre.Event) {
	after, ok := e.After.(*cadre.Ask)
	before, _ := e.Before.(*cadre.Ask)
	if ok && after.ForPerson() != (before != nil && before.ForPerson()) {
		n.asks <- after
	}
}

// end waits until everybody is told.
func (n *notifier) end() {
	close(n.asks)
	<-n.ended
}

func newNotice(scope cadre.Scope, asks []*cadre.Ask) *Notice {
	first := asks[0]
	n := &Notice{Team: scope, Asks: asks, Text: fmt.Sprintf("%s: %s asks (%s): %s", scope, first.From, first.Kind, first.Text), Next: "cadre ask show " + string(first.ID)}
	if len(asks) > 1 {
		n.Text, n.Next = fmt.Sprintf("%s: %d asks wait for you", scope, len(asks)), "cadre ask list"
	}
	return n
}
