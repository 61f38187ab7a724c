package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"cadre"
)

// line takes one line in. Whatever it is, it never fails.
func (f *file) line(line []byte) {
	var l record
	if !members(line, l.member) {
		if len(bytes.TrimSpace(line)) > 0 {
			f.Garbage++
		}
		return
	}
	l.size = len(line)
	f.note(&l)
	switch l.kind {
	case "assistant":
		f.assistant(&l)
	case "user":
		f.user(&l)
	case "attachment":
		if bytes.Contains(l.attachment, mailMark) || bytes.Contains(l.attachment, mailboxMark) {
			f.attachment(&l)
		}
	}
}

// record is what a line says about itself; the parts are not decoded.
type record struct {
	kind                               string
	size                               int
	at                                 time.Time
	uuid, parent, session, cwd         []byte
	version, team, name                []byte
	message, result, attachment, human []byte
}

func (l *record) member(name, value []byte) {
	switch string(name) {
	case "type":
		switch string(value) { // no other kind is of use, and none is copied
		case `"user"`:
			l.kind = "user"
		case `"assistant"`:
			l.kind = "assistant"
		case `"attachment"`:
			l.kind = "attachment"
		}
	case "timestamp":
		if len(value) > 2 && len(value) < 40 {
			l.at = moment(string(value[1 : len(value)-1]))
		}
	case "uuid":
		l.uuid = value
	case "parentUuid":
		l.parent = value
	case "sessionId":
		l.session = value
	case "cwd":
		l.cwd = value
	case "version":
		l.version = value
	case "teamName":
		l.team = value
	case "agentName":
		l.name = value
	case "message":
		l.message = value
	case "toolUseResult":
		l.result = value
	case "attachment":
		l.attachment = value
	case "origin":
		l.human = value
	}
}

// moment reads a time. What is none, or none that could be written again, is zero.
func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 || t.Year() > 9000 {
		return time.Time{}
	}
	return t.UTC()
}

// note keeps what lines say about the file: whose it is, and from when to when.
func (f *file) note(l *record) {
	if !l.at.IsZero() {
		conversation := l.kind == "user" || l.kind == "assistant"
		if conversation && (f.Prev == "" && f.Tail == "" || l.at.Before(f.First)) {
			f.Prev = text(l.parent)
		}
		if conversation && !l.at.Before(f.Last) {
			f.Tail = text(l.uuid)
		}
		if f.First.IsZero() || l.at.Before(f.First) {
			f.First = l.at
		}
		if l.at.After(f.Last) {
			f.Last = l.at
		}
	}
	if f.Session == "" {
		f.Session = text(l.session)
	}
	if f.CWD == "" {
		f.CWD = text(l.cwd)
	}
	replace(&f.Version, l.version)
	if l.team != nil && l.name != nil && !f.Meta {
		replace(&f.Team, l.team)
		replace(&f.Member, l.name)
	}
	if len(l.team) > 2 && !slices.Contains(f.Teams, string(l.team[1:len(l.team)-1])) {
		f.touches(text(l.team))
	}
}

// replace sets a text that is the same on almost every line.
func replace(s *string, value []byte) {
	if len(value) > 2 && *s != string(value[1:len(value)-1]) {
		*s = text(value)
	}
}

// assistant counts what a line's message cost and takes its tool calls up.
func (f *file) assistant(l *record) {
	var id, usage, content []byte
	members(l.message, func(name, value []byte) {
		switch string(name) {
		case "id":
			id = value
		case "usage":
			usage = value
		case "content":
			content = value
		case "model":
			if !bytes.Equal(value, []byte(`"<synthetic>"`)) {
				replace(&f.Model, value)
			}
		}
	})
	if id != nil && usage != nil {
		f.count(id, l.at, usage)
	}
	if !bytes.Contains(content, []byte(`"tool_use"`)) {
		return
	}
	elements(content, func(block []byte) {
		var call, tool, input []byte
		members(block, func(name, value []byte) {
			switch string(name) {
			case "id":
				call = value
			case "name":
				tool = value
			case "input":
				input = value
			}
		})
		if e := newCall(text(tool), input); e != nil && len(call) > 2 {
			e.At, e.UUID, e.Call = l.at, text(l.uuid), text(call)
			if t := text(l.team); t != "" && e.Kind != TeamCreate {
				e.Team = t
			}
			f.begin(e, len(input))
		}
	})
}

var (
	mailMark    = []byte("-message teammate_id=") // begins with what is rare, and needs no escape
	mailboxMark = []byte("teammate_mailbox")
	resultMark  = []byte(`"tool_result"`)
	humanMark   = []byte(`"human"`)
)

// user takes in the answers to tool calls, and mail.
func (f *file) user(l *record) {
	mail := bytes.Contains(l.message, mailMark) && !bytes.Contains(l.human, humanMark)
	results := (len(f.open) > 0 || ours(l.result)) && bytes.Contains(l.message, resultMark)
	if !mail && !results {
		return // most lines, and by far the longest
	}
	var content []byte
	members(l.message, func(name, value []byte) {
		if string(name) == "content" {
			content = value
		}
	})
	if mail {
		f.mail(l, letters(text(content))) // where it is a text
	}
	elements(content, func(block []byte) {
		var kind, call, shown, failed []byte
		members(block, func(name, value []byte) {
			switch string(name) {
			case "type":
				kind = value
			case "tool_use_id":
				call = value
			case "content", "text":
				shown = value
			case "is_error":
				failed = value
			}
		})
		switch text(kind) {
		case "text":
			if mail {
				f.mail(l, letters(text(shown)))
			}
		case "tool_result":
			if results {
				f.result(l, text(call), string(failed) == "true", shown)
			}
		}
	})
}

// ours says whether a structured answer looks like one of the tools that matter:
// only these are kept when they come before their calls.
func ours(result []byte) bool {
	for _, begin := range []string{`{"task":`, `{"success":`, `{"team_name":`, `{"status":"teammate_spawned"`, `"Error`, `"InputValidationError`} {
		if bytes.HasPrefix(result, []byte(begin)) {
			return true
		}
	}
	return false
}

func (f *file) result(l *record, call string, failed bool, content []byte) {
	shown := text(content)
	elements(content, func(block []byte) {
		members(block, func(name, value []byte) {
			if string(name) == "text" && shown == "" {
				shown = text(value)
			}
		})
	})
	failed = failed || bytes.HasPrefix(l.result, []byte(`"`)) // these tools answer with words only when they fail
	if e := f.open[call]; e != nil {
		delete(f.open, call)
		a := newAnswer(l.at, failed, l.result, shown)
		f.finish(e, &a)
		return
	}
	o := orphan{Call: call, At: l.at, Failed: failed}
	if !ours(l.result) || call == "" {
		return
	}
	if !failed && len(l.result) <= maxOrphan && json.Valid(l.result) {
		o.Out = bytes.Clone(l.result)
	}
	if len(f.orphans) == maxOrphans {
		f.orphans = slices.Delete(f.orphans, 0, 1)
	}
	f.orphans = append(f.orphans, o)
}

// attachment takes in mail that came in the middle of a turn: wrapped into a
// queued prompt, or as a list of messages.
func (f *file) attachment(l *record) {
	members(l.attachment, func(name, value []byte) {
		switch string(name) {
		case "prompt":
			f.mail(l, letters(text(value)))
		case "messages":
			elements(value, func(m []byte) {
				var from, body, summary []byte
				members(m, func(name, value []byte) {
					switch string(name) {
					case "from":
						from = value
					case "text":
						body = value
					case "summary":
						summary = value
					}
				})
				letter := &Letter{Kind: string(cadre.MessagePlain), From: text(from), Text: text(body), Summary: text(summary)}
				letter.structure()
				f.mail(l, []*Letter{letter})
			})
		}
	})
}

// mail keeps what was shown to the reader of this transcript.
func (f *file) mail(l *record, all []*Letter) {
	for i, m := range all {
		if f.Agent != "" && m.From == cadre.LeadName && f.Asked == "" &&
			(m.Kind == string(cadre.MessageShutdownRequest) || m.Kind == string(cadre.MessagePlanResponse)) {
			f.Asked = addressee(m.Request)
		}
		f.Mailed = true
		m.Text, m.Summary = cut(m.Text), cut(m.Summary)
		e := &Event{Kind: Mail, At: l.at, UUID: text(l.uuid), Letter: m, Team: text(l.team)}
		if i > 0 {
			e.Call = strconv.Itoa(i) // one line can hold several
		}
		f.add(e, len(m.Text))
	}
}
