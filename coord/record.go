package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cadre"
)

// Log shows what happened, oldest first.
type Log struct {
	Limit int          `json:"limit,omitempty" help:"the newest so many; 0 for all" default:"50"`
	Task  cadre.TaskID `json:"task,omitempty" help:"only this task"`
	By    string       `json:"by,omitempty" help:"only changes by this name"`
	Since string       `json:"since,omitempty" help:"an event's number, a time, or an age as in 2h"`
}

// Run reads the log.
func (v *Log) Run(ctx context.Context, s *Session) (any, error) {
	if v.Limit < 0 {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre log --limit 20", "%d events cannot be shown", v.Limit)
	}
	from, err := s.seqSince(ctx, v.Since)
	if err != nil {
		return nil, err
	}
	keep := func(e cadre.Event) bool {
		return !e.SignOfLife() && (v.Task == "" || e.Object == cadre.Ref{Kind: cadre.KindTask, ID: strings.TrimPrefix(string(v.Task), "#")}) &&
			(v.By == "" || e.Actor.Name == v.By)
	}
	all := v.Limit == 0 || v.Since != ""
	return s.newest(ctx, from, v.Limit, all, keep)
}

// newest gives the last events that are wanted, oldest first. Unless all of them
// are wanted it looks back in steps, so that a long log costs no more than a short.
func (s *Session) newest(ctx context.Context, from cadre.Seq, limit int, all bool, keep func(cadre.Event) bool) ([]cadre.Event, error) {
	head, err := s.pastHead(ctx)
	if err != nil {
		return nil, err
	}
	if from >= head.Seq {
		return []cadre.Event{}, nil
	}
	start := from
	for step := cadre.Seq(max(limit, 64)); ; step *= 4 {
		if !all && head.Seq > from+step {
			start = head.Seq - step
		} else {
			start = from
		}
		out := []cadre.Event{}
		for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{Seq: start}, false) {
			if err != nil {
				return nil, err
			}
			if keep(e) {
				out = append(out, e)
			}
			if limit > 0 && len(out) == 2*limit {
				out = slices.Clone(out[limit:]) // what is not shown is not kept
			}
		}
		if start == from || len(out) >= limit {
			if limit > 0 && len(out) > limit {
				out = out[len(out)-limit:]
			}
			return out, nil
		}
	}
}

// head is where the scope's log stands; it refuses who may not read it.
func (s *Session) head(ctx context.Context) (head cadre.Head, err error) {
	err = s.Store.View(ctx, s.Scope, s.seeHead(&head))
	return head, err
}

// pastHead is the same, also of an archived scope: what was stays there to be read.
func (s *Session) pastHead(ctx context.Context) (head cadre.Head, err error) {
	head, err = s.head(ctx)
	if head == (cadre.Head{}) && errors.Is(err, cadre.ErrNotFound) {
		err = s.lookInArchive(ctx, s.seeHead(&head), err)
	}
	return head, err
}

func (s *Session) seeHead(head *cadre.Head) func(cadre.Snap) error {
	return func(snap cadre.Snap) error {
		*head = snap.Head()
		_, err := (&cadre.MemberList{}).Look(snap, s.command("log"))
		return err
	}
}

// seqSince finds the number of the last event before a point: a number, a time,
// or an age.
func (s *Session) seqSince(ctx context.Context, point string) (cadre.Seq, error) {
	if point == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(point, 10, 63); err == nil {
		return cadre.Seq(n), nil
	}
	at, err := parseTime(point, s.Now().Wall)
	if err != nil {
		return 0, err
	}
	var last cadre.Seq
	for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{}, false) {
		if err != nil {
			return 0, err
		}
		if !e.Time.After(at) {
			last = e.Seq
		}
	}
	return last, nil
}

// ParseDuration reads a length of time as in 90s, 10m or 2h30m; days and weeks are
// allowed too.
func ParseDuration(text string) (time.Duration, error) {
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.Atoi(number); err == nil && n >= 0 && n <= 36500/days {
				return time.Duration(n*days) * 24 * time.Hour, nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a length of time: write it as in 30s, 10m or 2h", text)
	}
	return d, nil
}

// parseTime reads a moment as people write it: an RFC 3339 time, a day, a time of this
// day, or an age.
func parseTime(text string, now time.Time) (time.Time, error) {
	if age, err := ParseDuration(strings.TrimPrefix(text, "-")); err == nil {
		return now.Add(-age), nil
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location()), nil
		}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cadre.Refuse(cadre.RuleValue, "cadre log", "%q is no point in the log: use an event's number, a day or a time as in 2026-01-31 or 2026-01-31T15:04:05Z, or an age as in 2h or 7d", text)
}

// At shows the list as it was.
type At struct {
	Point string       `json:"point" arg:"POINT" help:"an event's number, a time, or an age as in 2h"`
	Limit int          `json:"limit,omitempty" help:"at most so many tasks"`
	After cadre.TaskID `json:"after,omitempty" help:"go on after this id"`
}

// AtView is a list at an earlier time.
type AtView struct {
	Scope cadre.Scope       `json:"scope"`
	Seq   cadre.Seq         `json:"seq"`
	Tasks []*cadre.TaskView `json:"tasks"`
}

// Run looks at the earlier state.
func (v *At) Run(ctx context.Context, s *Session) (any, error) {
	head, err := s.pastHead(ctx)
	if err != nil {
		return nil, err
	}
	seq, err := s.seqSince(ctx, v.Point)
	if err != nil {
		return nil, err
	}
	if seq > head.Seq {
		return nil, s.beyond(head)
	}
	out := &AtView{Scope: s.Scope, Seq: seq}
	err = s.Store.At(ctx, s.Scope, seq, func(snap cadre.Snap) error {
		tasks, err := (&cadre.TaskList{Limit: v.Limit, After: v.After}).Look(snap, s.trusted("at"))
		if err == nil {
			out.Tasks = tasks.([]*cadre.TaskView)
		}
		return err
	})
	return out, err
}

func (s *Session) beyond(head cadre.Head) error {
	return cadre.Refuse(cadre.RuleMissing, "cadre log", "the log of %s ends at event %d", s.Scope, head.Seq)
}

// trusted is a command for looking at an earlier state: the right to read was
// checked on the present one.
func (s *Session) trusted(verb string) cadre.Command {
	c := s.command(verb)
	c.Actor = cadre.Self
	return c
}

// Diff shows what changed between two points of the log.
type Diff struct {
	From string `json:"from" arg:"FROM" help:"an event's number, a time, or an age as in 2h"`
	To   string `json:"to,omitempty" arg:"[TO]" help:"the same; now without"`
}

// DiffView is what changed between two points.
type DiffView struct {
	From    cadre.Seq          `json:"from"`
	To      cadre.Seq          `json:"to"`
	Changes []cadre.Difference `json:"changes"`
}

// Run compares.
func (v *Diff) Run(ctx context.Context, s *Session) (any, error) {
	head, err := s.pastHead(ctx)
	if err != nil {
		return nil, err
	}
	from, err := s.seqSince(ctx, v.From)
	if err != nil {
		return nil, err
	}
	to := head.Seq
	if v.To != "" {
		if to, err = s.seqSince(ctx, v.To); err != nil {
			return nil, err
		}
	}
	if from > to {
		from, to = to, from
	}
	if to > head.Seq {
		return nil, s.beyond(head)
	}
	var events []cadre.Event
	for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{Seq: from}, false) {
		if err != nil {
			return nil, err
		}
		if e.Seq > to {
			break
		}
		events = append(events, e)
	}
	return &DiffView{from, to, cadre.Differences(events)}, nil
}

// Undo takes back a command: the caller's last, or the one an event belongs to.
type Undo struct {
	Event uint64 `json:"event,omitempty" arg:"[EVENT]" help:"the number of any of its events; your last change without"`
}

// Undone is the answer: what was taken back, and how.
type Undone struct {
	Undone []cadre.Event `json:"undone"`
	Events []cadre.Event `json:"events"`
}

// Run finds the command's events and takes them back in one commit.
func (v *Undo) Run(ctx context.Context, s *Session) (any, error) {
	events, err := v.find(ctx, s)
	if err != nil {
		return nil, err
	}
	receipt, _, err := s.change(ctx, "undo", &undoing{cadre.Undo{Events: events}, newID()})
	if err != nil {
		return nil, err
	}
	return &Undone{events, receipt.Events}, nil
}

func (v *Undo) find(ctx context.Context, s *Session) ([]cadre.Event, error) {
	head, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	var id cadre.CommandID
	if v.Event != 0 && v.Event <= uint64(head.Seq) {
		for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{Seq: cadre.Seq(v.Event) - 1}, false) {
			if err != nil {
				return nil, err
			}
			if e.Seq == cadre.Seq(v.Event) {
				id = e.Command
			}
			break
		}
	}
	if v.Event != 0 && id == "" {
		return nil, cadre.Refuse(cadre.RuleMissing, "cadre log", "there is no event %d in %s", v.Event, s.Scope)
	}
	if v.Event == 0 {
		last, err := s.lastToUndo(ctx)
		if err != nil || last == "" {
			return nil, err
		}
		id = last
	}
	events, err := s.newest(ctx, 0, 1, false, func(e cadre.Event) bool { return e.Command == id })
	if err != nil || len(events) == 0 {
		return events, err
	}
	return s.ofCommand(ctx, events[0])
}

// undoing is an undo whose command id says which command it takes back, so that
// the next undo goes on to the one before.
type undoing struct {
	cadre.Undo
	id cadre.CommandID
}

const undoMark = "undo-"

// CommandID names the command that is taken back.
func (u *undoing) CommandID() cadre.CommandID {
	if len(u.Events) == 0 {
		return u.id
	}
	return cadre.CommandID(undoMark + string(u.Events[0].Command) + "-" + string(u.id))
}

// undone is the command that an undo took back, empty for any other event.
func undone(e cadre.Event) cadre.CommandID {
	rest, ok := strings.CutPrefix(string(e.Command), undoMark)
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return ""
	}
	return cadre.CommandID(rest[:i])
}

// lastToUndo is the caller's newest command that was not taken back yet.
func (s *Session) lastToUndo(ctx context.Context) (cadre.CommandID, error) {
	for n := 16; ; n *= 4 {
		mine, err := s.newest(ctx, 0, n, false, func(e cadre.Event) bool {
			return sameCaller(e.Actor, s.Actor) && !e.SignOfLife() || undone(e) != ""
		})
		if err != nil {
			return "", err
		}
		gone := map[cadre.CommandID]bool{}
		for _, e := range slices.Backward(mine) {
			if took := undone(e); took != "" {
				gone[took] = true
			} else if sameCaller(e.Actor, s.Actor) && !gone[e.Command] {
				return e.Command, nil
			}
		}
		if len(mine) < n {
			return "", nil
		}
	}
}

func sameCaller(a, b cadre.Actor) bool {
	return a.Kind == b.Kind && a.Name == b.Name && a.Session == b.Session
}

// ofCommand gives all events of a command, which stand together, from its last.
func (s *Session) ofCommand(ctx context.Context, last cadre.Event) ([]cadre.Event, error) {
	for step := cadre.Seq(64); ; step *= 8 {
		start := last.Seq - min(last.Seq, step)
		var out []cadre.Event
		for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{Seq: start}, false) {
			if err != nil {
				return nil, err
			}
			if e.Seq > last.Seq {
				break
			}
			if e.Command == last.Command {
				out = append(out, e)
			}
		}
		if start == 0 || len(out) > 0 && out[0].Seq > start+1 {
			return slices.Clip(out), nil
		}
	}
}

// AuditVerify recomputes the record and holds it against every anchor.
type AuditVerify struct {
	Anchors []string `json:"anchors,omitempty" help:"files that cadre audit anchor wrote"`

	Kept []cadre.Anchor `json:"-" door:"-"` // what the door read from those files
}

// Run audits. It writes nothing.
func (v *AuditVerify) Run(ctx context.Context, s *Session) (any, error) {
	auditor, ok := cadre.StoreAs[cadre.Auditor](s.Store)
	if !ok {
		return nil, fmt.Errorf("this store cannot be audited")
	}
	if s.Actor.Kind != cadre.ActorOperator {
		return nil, cadre.Refuse(cadre.RuleOperator, askOperator("audit verify"), "only the operator may audit the whole record")
	}
	return auditor.Audit(ctx, v.Kept)
}

// AuditAnchor gives the heads of every log, to keep elsewhere.
type AuditAnchor struct{}

// Run collects the heads.
func (v *AuditAnchor) Run(ctx context.Context, s *Session) (any, error) {
	if s.Actor.Kind != cadre.ActorOperator {
		return nil, cadre.Refuse(cadre.RuleOperator, askOperator("audit anchor"), "only the operator may anchor the record")
	}
	out := []cadre.Anchor{}
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return nil, err
		}
		out = append(out, cadre.Anchor{Scope: info.Scope, Head: info.Head})
	}
	return out, nil
}

// AuditExport gives the whole log of the list, one event a line.
type AuditExport struct{}

// Run reads the log.
func (v *AuditExport) Run(ctx context.Context, s *Session) (any, error) {
	if _, err := s.pastHead(ctx); err != nil {
		return nil, err
	}
	return Stream{s.Store.Events(ctx, s.Scope, cadre.Head{}, false)}, nil
}

// Backup writes a copy of the whole record.
type Backup struct {
	Path string `json:"path" arg:"FILE" help:"where to write it; must not exist"`
}

// BackedUp is the answer to a backup.
type BackedUp struct {
	Path string `json:"path"`
}

// Run copies while the store is in use.
func (v *Backup) Run(ctx context.Context, s *Session) (any, error) {
	b, ok := cadre.StoreAs[cadre.Backuper](s.Store)
	if !ok {
		return nil, fmt.Errorf("this store cannot be backed up")
	}
	if s.Actor.Kind != cadre.ActorOperator {
		return nil, cadre.Refuse(cadre.RuleOperator, askOperator("backup"), "only the operator may copy the whole record")
	}
	return &BackedUp{v.Path}, b.Backup(ctx, v.Path)
}
