package transcript

import (
	"encoding/json"
	"html"
	"strings"
	"time"

	"cadre"
)

const (
	mailOpen  = `<teammate-message teammate_id="`
	mailClose = "\n</teammate-message>"
)

// letters finds the messages that the client wrapped into a text. The oldest
// clients escape nothing, so a message can contain what looks like the end of
// itself and the beginning of another; transcripts alone cannot tell.
func letters(s string) []*Letter {
	var all []*Letter
	for {
		i := strings.Index(s, mailOpen)
		if i < 0 {
			return all
		}
		atLineStart := i == 0 || s[i-1] == '\n'
		s = s[i+len(mailOpen):]
		tag, rest, ok := strings.Cut(s, ">\n")
		if !ok || !atLineStart {
			continue
		}
		body, after, ok := strings.Cut(rest, mailClose)
		if !ok {
			return all
		}
		from, attributes, ok := strings.Cut(tag, `"`)
		if !ok {
			continue
		}
		l := &Letter{Kind: string(cadre.MessagePlain), From: html.UnescapeString(from), Text: body}
		if strings.HasSuffix(attributes, ` verified="false"`) {
			l.Unproved, attributes = true, strings.TrimSuffix(attributes, ` verified="false"`)
		}
		if before, summary, ok := strings.Cut(attributes, ` summary="`); ok {
			l.Summary, attributes = html.UnescapeString(strings.TrimSuffix(summary, `"`)), before
		}
		if _, color, ok := strings.Cut(attributes, ` color="`); ok {
			l.Color = strings.TrimSuffix(color, `"`)
		}
		l.structure()
		all, s = append(all, l), after
	}
}

// structure reads a text that is itself a JSON object with a type. Some clients
// put an explanation after a shutdown request; it is not part of the message.
func (l *Letter) structure() {
	if !strings.HasPrefix(l.Text, "{") {
		return
	}
	var inner struct {
		Type       string       `json:"type"`
		RequestID  string       `json:"requestId"`
		RequestID2 string       `json:"request_id"`
		Approved   bool         `json:"approved"`
		TaskID     cadre.TaskID `json:"taskId"`
		Timestamp  string       `json:"timestamp"`
	}
	d := json.NewDecoder(strings.NewReader(l.Text))
	if d.Decode(&inner) != nil || inner.Type == "" {
		return
	}
	l.Text = l.Text[:d.InputOffset()]
	l.Kind, l.Request, l.Task = inner.Type, inner.RequestID+inner.RequestID2, inner.TaskID
	l.Approve = inner.Approved || inner.Type == "shutdown_approved"
	l.Sent = moment(inner.Timestamp)
}

// addressee is whom a request was for: ids read kind-time@NAME or kind-time@NAME@TEAM.
func addressee(request string) string {
	_, name, _ := strings.Cut(request, "@")
	name, _, _ = strings.Cut(name, "@")
	return name
}

// Delivered says when a message was shown to a member: not before it was sent,
// and where that stands. A structured text counts as shown whatever the client
// explained below it.
func (x *Index) Delivered(scope cadre.Scope, member, from, message string, sent time.Time) (at time.Time, evidence string, ok bool) {
	want := letters(mailOpen + from + "\">\n" + message + mailClose)
	if len(want) == 0 {
		return at, "", false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.eventsOf(scope) {
		if e.Kind == Mail && e.Who == member && e.Letter.From == from && !e.At.Before(sent.Add(-clockSlack)) &&
			plain(e.Letter.Text) == plain(want[0].Text) {
			return e.At, e.Evidence(), true
		}
	}
	return at, "", false
}

// plain is a text without the control characters that newer clients take out.
func plain(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s))
}
