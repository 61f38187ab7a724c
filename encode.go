package cadre

import (
	"encoding/json"
	"strconv"
	"time"
)

// EncodeObject gives the JSON of an object: exactly the bytes of json.Marshal. A
// process that writes one event and ends would spend more time on making
// json.Marshal's plan of a task than on everything else it encodes, so tasks,
// and the frame of every event, are written here.
func EncodeObject(o Object) ([]byte, error) {
	if t, ok := o.(*Task); ok && t != nil {
		w := jsonWriter{}
		w.task(t)
		return w.out, w.err
	}
	return json.Marshal(o)
}

// encodeEvent gives the JSON of an event: exactly the bytes of json.Marshal.
func encodeEvent(e *Event) ([]byte, error) {
	w := jsonWriter{out: make([]byte, 0, 1024)}
	w.begin()
	w.uint("seq", uint64(e.Seq))
	w.time("time", e.Time)
	w.text("scope", string(e.Scope))
	w.key("actor")
	w.actor(&e.Actor)
	w.text("door", e.Door)
	w.text("verb", e.Verb)
	w.text("command", string(e.Command))
	w.key("object")
	w.begin()
	w.text("kind", string(e.Object.Kind))
	w.text("id", e.Object.ID)
	w.end()
	w.object("before", e.Before)
	w.object("after", e.After)
	w.text("prev", e.Prev)
	w.some("hash", e.Hash)
	w.end()
	return w.out, w.err
}

// EncodeHead gives the JSON of a scope's name and its head, as the fields "scope"
// and "head": exactly the bytes of json.Marshal.
func EncodeHead(s Scope, h Head) ([]byte, error) {
	w := jsonWriter{out: make([]byte, 0, 1024)}
	w.begin()
	w.text("scope", string(s))
	w.key("head")
	w.begin()
	w.text("epoch", h.Epoch)
	w.uint("seq", uint64(h.Seq))
	w.text("hash", h.Hash)
	w.uint("fence", h.Fence)
	w.uint("next", h.Next)
	w.end()
	w.end()
	return w.out, w.err
}

// jsonWriter appends a document, field by field, in the order of the struct.
// The methods whose value may be empty leave such a field out, unless their
// comment says otherwise.
type jsonWriter struct {
	out []byte
	err error
}

func (w *jsonWriter) task(t *Task) {
	w.begin()
	w.text("id", string(t.ID))
	w.some("key", t.Key)
	w.text("subject", t.Subject)
	w.text("description", t.Description)
	w.some("activeForm", t.ActiveForm)
	w.some("owner", t.Owner)
	w.text("status", string(t.Status))
	list(w, "blockedBy", t.BlockedBy)
	w.int("openBlockers", t.OpenBlockers)
	w.other("metadata", t.Metadata, len(t.Metadata) > 0)
	w.some("kind", string(t.Kind))
	w.int("priority", t.Priority)
	list(w, "labels", t.Labels)
	w.some("parent", string(t.Parent))
	list(w, "paths", t.Paths)
	w.some("run", t.Run)
	w.int("attempts", t.Attempts)
	w.int("maxAttempts", t.MaxAttempts)
	w.int("refusals", t.Refusals)
	w.other("result", t.Result, t.Result != nil)
	w.other("plan", t.Plan, t.Plan != nil)
	w.bool("leased", t.Leased)
	if t.Fence != 0 {
		w.uint("fence", t.Fence)
	}
	list(w, "flags", t.Flags)
	list(w, "unblocked", t.Unblocked)
	w.uint("version", t.Version)
	w.time("createdAt", t.CreatedAt)
	w.time("updatedAt", t.UpdatedAt)
	if t.StartedAt != nil {
		w.time("startedAt", *t.StartedAt)
	}
	if t.CompletedAt != nil {
		w.time("completedAt", *t.CompletedAt)
	}
	w.text("author", t.Author)
	w.end()
}

func (w *jsonWriter) actor(a *Actor) {
	w.begin()
	w.text("kind", string(a.Kind))
	w.text("name", a.Name)
	w.some("session", a.Session)
	w.some("scope", string(a.Scope))
	w.some("list", string(a.List))
	w.some("role", string(a.Role))
	if a.Joined != 0 {
		w.uint("joined", a.Joined)
	}
	w.text("proof", string(a.Proof))
	w.some("token", a.Token)
	w.some("by", a.By)
	w.end()
}

func (w *jsonWriter) begin() { w.out = append(w.out, '{') }
func (w *jsonWriter) end()   { w.out = append(w.out, '}') }

// key writes a name that needs no escapes, and what separates it.
func (w *jsonWriter) key(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}

// text writes a string, empty or not.
func (w *jsonWriter) text(name, s string) {
	w.key(name)
	w.quote(s)
}

func (w *jsonWriter) some(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *jsonWriter) int(name string, n int) {
	if n != 0 {
		w.key(name)
		w.out = strconv.AppendInt(w.out, int64(n), 10)
	}
}

// uint writes a number, 0 too.
func (w *jsonWriter) bool(name string, b bool) {
	if b {
		w.key(name)
		w.out = append(w.out, "true"...)
	}
}

func (w *jsonWriter) uint(name string, n uint64) {
	w.key(name)
	w.out = strconv.AppendUint(w.out, n, 10)
}

// time writes a moment, the zero one too.
func (w *jsonWriter) time(name string, t time.Time) {
	w.key(name)
	data, err := t.MarshalJSON()
	w.add(data, err)
}

func list[T ~string](w *jsonWriter, name string, all []T) {
	if len(all) == 0 {
		return
	}
	w.key(name)
	w.out = append(w.out, '[')
	for i, s := range all {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.quote(string(s))
	}
	w.out = append(w.out, ']')
}

func (w *jsonWriter) object(name string, o Object) {
	if o != nil {
		w.key(name)
		if t, ok := o.(*Task); ok && t != nil {
			w.task(t)
			return
		}
		data, err := json.Marshal(o)
		w.add(data, err)
	}
}

// other writes what is seldom there, or small.
func (w *jsonWriter) other(name string, v any, there bool) {
	if there {
		w.key(name)
		data, err := json.Marshal(v)
		w.add(data, err)
	}
}

func (w *jsonWriter) add(data []byte, err error) {
	w.out = append(w.out, data...)
	if w.err == nil {
		w.err = err
	}
}

// quote writes a string. One with anything but plain ASCII in it is left to
// json.Marshal, which knows every escape.
func (w *jsonWriter) quote(s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			data, err := json.Marshal(s)
			w.add(data, err)
			return
		}
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, s...)
	w.out = append(w.out, '"')
}
