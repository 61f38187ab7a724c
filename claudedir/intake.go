package claudedir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/claudefile"
)

// How old a copy may be that a foreign writer writes back. A value that Cadre
// replaced so short a time before the file was written says nothing: whoever wrote
// it had read the file before that.
const (
	staleField    = 2 * time.Second
	staleEdge     = 10 * time.Second
	staleMetadata = 10 * time.Minute // a client's hooks run between its reading and its writing
	staleCopy     = 250 * time.Millisecond
)

// written is a task file that somebody else wrote.
type written struct {
	id    cadre.TaskID
	file  *claudefile.Task // nil: it is gone
	at    time.Time        // when
	data  []byte
	known bool      // the file had been projected or taken in before
	late  bool      // it is found long after it was written, and may be older than what was taken in since
	ours  bool      // what it held before was written by us
	upTo  cadre.Seq // up to here the log was in what it held before
}

// intake is the other direction: what a file says that it did not say before.
//
// A value that the file last had when both sides were the same (its base) says
// nothing, and so does what the log says anyway. A value that Cadre replaced a
// moment before the file was written is stale. Everything else is a change. Edges
// and metadata are decided one by one.
type intake struct {
	cadre.Snap
	since []cadre.Event // what happened after the files were last written, in order
}

// change gives what a written file says; ok is false where that is nothing.
func (in *intake) change(w written) (f cadre.ForeignTask, ok bool, err error) {
	f = cadre.ForeignTask{ID: w.id, Digest: cadre.Digest(fmt.Sprint(w.at.UnixNano(), string(w.data)))}
	t, err := in.Task(w.id)
	if err != nil {
		return f, false, err
	}
	if w.file == nil {
		f.Gone = true
		return f, t != nil && (t.Open() || !t.Status.Known()), nil
	}
	now, err := projected(in.Snap, t)
	if err != nil {
		return f, false, err
	}
	past, err := in.past(f.Ref(), w)
	if err != nil {
		return f, false, err
	}
	if now == nil { // new, or removed and there again
		removed := past.replaced(false, staleField, func(t *cadre.Task) bool { return t.Status != cadre.Deleted })
		return in.whole(f, w.file), !removed, nil
	}
	var base *claudefile.Task
	if w.known {
		if base, err = in.base(t, now, w.upTo); err != nil {
			return f, false, err
		}
	}
	for _, field := range textFields {
		says, is := field.of(w.file), field.of(now)
		if field.same(says, is) || base != nil && field.same(says, field.of(base)) {
			continue
		}
		was := func(t *cadre.Task) bool { return field.same(says, field.in(t)) }
		if past.replaced(base == nil, staleField, was) || w.ours && past.projected(was) {
			continue
		}
		field.set(&f, says)
		ok = true
	}
	if in.metadata(&f, w, base, now, past) {
		ok = true
	}
	edges, err := in.edges(&f, w, base, now, past)
	return f, ok || edges, err
}

// whole takes everything that a file says.
func (in *intake) whole(f cadre.ForeignTask, file *claudefile.Task) cadre.ForeignTask {
	for _, field := range textFields {
		if says := field.of(file); says != "" || field.name == "subject" {
			field.set(&f, says)
		}
	}
	f.Metadata = file.Metadata
	f.AddBlockedBy, f.AddBlocks = ids(file.BlockedBy), ids(file.Blocks)
	return f
}

func ids(names []string) []cadre.TaskID {
	out := make([]cadre.TaskID, 0, len(names))
	for _, n := range names {
		out = append(out, cadre.TaskID(n))
	}
	return out
}

// textField is one of a task's fields that hold a text.
type textField struct {
	name string
	of   func(*claudefile.Task) string
	in   func(*cadre.Task) string
	set  func(*cadre.ForeignTask, string)
	same func(a, b string) bool
}

func equal(a, b string) bool { return a == b }

// sameStatus compares what two words for a status mean.
func sameStatus(a, b string) bool {
	if a == b {
		return true
	}
	x, err := cadre.ParseStatus(a)
	y, err2 := cadre.ParseStatus(b)
	return err == nil && err2 == nil && x == y
}

// sameName compares names, with or without the team behind them.
func sameName(a, b string) bool {
	a, _, _ = strings.Cut(a, "@")
	b, _, _ = strings.Cut(b, "@")
	return a == b
}

var textFields = []textField{
	{
		"subject",
		func(t *claudefile.Task) string { return t.Subject },
		func(t *cadre.Task) string { return t.Subject },
		func(f *cadre.ForeignTask, s string) { f.Subject = &s }, equal,
	},
	{
		"description",
		func(t *claudefile.Task) string { return t.Description },
		func(t *cadre.Task) string { return t.Description },
		func(f *cadre.ForeignTask, s string) { f.Description = &s }, equal,
	},
	{
		"activeForm",
		func(t *claudefile.Task) string { return t.ActiveForm },
		func(t *cadre.Task) string { return t.ActiveForm },
		func(f *cadre.ForeignTask, s string) { f.ActiveForm = &s }, equal,
	},
	{
		"owner",
		func(t *claudefile.Task) string { return t.Owner },
		func(t *cadre.Task) string { return t.Owner },
		func(f *cadre.ForeignTask, s string) { f.Owner = &s }, sameName,
	},
	{
		"status",
		func(t *claudefile.Task) string { return t.Status },
		func(t *cadre.Task) string { return string(t.Status) },
		func(f *cadre.ForeignTask, s string) { f.Status = &s }, sameStatus,
	},
}

// base is the file as it was when both sides were last the same: the log's view of
// the task, with what happened since then taken back.
func (in *intake) base(t *cadre.Task, now *claudefile.Task, upTo cadre.Seq) (*claudefile.Task, error) {
	was, blocks := t, slices.Clone(now.Blocks)
	for _, e := range slices.Backward(in.since) {
		before, _ := e.Before.(*cadre.Task)
		after, _ := e.After.(*cadre.Task)
		if e.Seq <= upTo || before == nil && after == nil {
			continue
		}
		if e.Object == t.Ref() {
			was = before
		}
		waited, waits := waitsFor(before, t.ID), waitsFor(after, t.ID)
		if waits && !waited {
			blocks = slices.DeleteFunc(blocks, func(id string) bool { return id == string(after.ID) })
		}
		if waited && !waits {
			blocks = append(blocks, string(before.ID))
		}
	}
	if was == nil || was.Status == cadre.Deleted {
		return nil, nil
	}
	base, err := projected(in.Snap, was)
	if base != nil {
		base.Blocks = blocks
	}
	return base, err
}

func waitsFor(t *cadre.Task, id cadre.TaskID) bool {
	return t != nil && t.Status != cadre.Deleted && slices.Contains(t.BlockedBy, id)
}

// past is what happened to an object, newest first, and when the file was written.
type past struct {
	events []cadre.Event
	at     time.Time
	late   bool
	files  bool // also what another file said counts, and a task that began so: we wrote it to this one
}

// mostPast bounds how far back a value is looked for.
const mostPast = 200

func (in *intake) past(ref cadre.Ref, w written) (past, error) {
	p := past{at: w.at, late: w.late}
	for e, err := range in.History(ref) {
		if err != nil {
			return p, err
		}
		if len(p.events) == mostPast {
			break
		}
		p.events = append(p.events, e)
	}
	return p, nil
}

// replaced says whether Cadre replaced what was, within a time before the file was
// written; with ever, at any time. Where the file is found late, what was taken in
// since it was written has replaced it too.
func (p past) replaced(ever bool, within time.Duration, was func(*cadre.Task) bool) bool {
	for _, e := range p.events {
		if !ever && e.Time.Before(p.at.Add(-within)) {
			return false
		}
		before, _ := e.Before.(*cadre.Task)
		after, _ := e.After.(*cadre.Task)
		newer := p.files || e.Door != door && before != nil || p.late && before != nil && e.Time.After(p.at)
		if newer && after != nil && was(before) && !was(after) {
			return true
		}
	}
	return false
}

// projected says whether we wrote into this file, a moment before somebody else wrote
// it, what another write of theirs had said: between the two they read what we had
// put in its place.
func (p past) projected(was func(*cadre.Task) bool) bool {
	for _, e := range p.events {
		if e.Time.Before(p.at.Add(-staleCopy)) {
			return false
		}
		before, _ := e.Before.(*cadre.Task)
		after, _ := e.After.(*cadre.Task)
		if e.Door == door && before != nil && after != nil && was(before) && !was(after) {
			return true
		}
	}
	return false
}

// metadata decides key by key.
func (in *intake) metadata(f *cadre.ForeignTask, w written, base, now *claudefile.Task, p past) bool {
	before := map[string]json.RawMessage{}
	if base != nil {
		before = base.Metadata
	}
	keys := map[string]bool{}
	for _, m := range []map[string]json.RawMessage{w.file.Metadata, before} {
		for k := range m {
			keys[k] = true
		}
	}
	changed := false
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		says, is, was := w.file.Metadata[k], now.Metadata[k], before[k]
		if sameJSON(says, is) || base != nil && sameJSON(says, was) {
			continue
		}
		had := func(t *cadre.Task) bool { return sameJSON(says, t.FileMetadata()[k]) }
		if p.replaced(base == nil, staleMetadata, had) || w.ours && p.projected(had) {
			continue
		}
		if f.Metadata == nil {
			f.Metadata = map[string]json.RawMessage{}
		}
		if f.Metadata[k] = says; says == nil {
			f.Metadata[k] = json.RawMessage("null")
		}
		changed = true
	}
	return changed
}

// sameJSON compares two values; nil is one that is not there.
func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// edges decides edge by edge, from either side. An edge that one task's file shows
// is written to the other's by us, where a writer may not have seen it yet.
func (in *intake) edges(f *cadre.ForeignTask, w written, base, now *claudefile.Task, p past) (bool, error) {
	was := &claudefile.Task{}
	if base != nil {
		was = base
	}
	p.files = w.ours
	add, drop := differ(w.file.BlockedBy, was.BlockedBy, now.BlockedBy)
	for _, id := range add {
		if !p.replaced(base == nil, staleEdge, func(t *cadre.Task) bool { return waitsFor(t, cadre.TaskID(id)) }) {
			f.AddBlockedBy = append(f.AddBlockedBy, cadre.TaskID(id))
		}
	}
	for _, id := range drop {
		if !p.replaced(false, staleEdge, func(t *cadre.Task) bool { return !waitsFor(t, cadre.TaskID(id)) }) {
			f.DropBlockedBy = append(f.DropBlockedBy, cadre.TaskID(id))
		}
	}
	add, drop = differ(w.file.Blocks, was.Blocks, now.Blocks)
	for i, waits := range [][]string{add, drop} {
		wanted := i == 0
		for _, id := range waits {
			other, err := in.past(cadre.Ref{Kind: cadre.KindTask, ID: id}, w)
			if err != nil {
				return false, err
			}
			other.files = w.ours
			if other.replaced(wanted && base == nil, staleEdge, func(t *cadre.Task) bool { return waitsFor(t, w.id) == wanted }) {
				continue
			}
			if wanted {
				f.AddBlocks = append(f.AddBlocks, cadre.TaskID(id))
			} else {
				f.DropBlocks = append(f.DropBlocks, cadre.TaskID(id))
			}
		}
	}
	return len(f.AddBlockedBy)+len(f.DropBlockedBy)+len(f.AddBlocks)+len(f.DropBlocks) > 0, nil
}

// differ says what a file has that neither its base nor the log has, and what both
// of them have and the file has not.
func differ(file, base, now []string) (add, drop []string) {
	in := func(list []string) map[string]bool {
		set := make(map[string]bool, len(list))
		for _, id := range list {
			set[id] = true
		}
		return set
	}
	f, b, n := in(file), in(base), in(now)
	for _, id := range file {
		if !b[id] && !n[id] {
			add = append(add, id)
			n[id] = true
		}
	}
	for _, id := range base {
		if !f[id] && n[id] {
			drop = append(drop, id)
		}
	}
	return add, drop
}

// commandID names an intake by what was written: two processes that see one write
// take it in once.
func commandID(parts ...any) cadre.CommandID {
	return cadre.CommandID("file-" + cadre.Digest(fmt.Sprint(parts...))[:32])
}
