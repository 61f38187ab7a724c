package transcript

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"
)

// file is what is known of one transcript. Its own fields are small and always at
// hand; the body is unpacked only when somebody asks or more is read.
type file struct {
	Path     string `json:"path"`
	Inode    uint64 `json:"inode,omitempty"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	Seen     int64  `json:"seen"`               // when it was looked at, to mistrust a time of change that is too near
	Read     int64  `json:"read"`               // bytes that are taken in, up to the end of a line
	Print    string `json:"print,omitempty"`    // of the bytes around the beginning and the end of these
	Skipping bool   `json:"skipping,omitempty"` // inside a line that is too long
	TooLong  int    `json:"tooLong,omitempty"`  // lines that were left out for their length
	Garbage  int    `json:"garbage,omitempty"`  // lines that are not JSON objects
	Dropped  int    `json:"dropped,omitempty"`  // events beyond what is kept of one file
	Kept     int64  `json:"kept,omitempty"`     // bytes of the lines that events came from

	Session string    `json:"session"`
	Agent   string    `json:"agent,omitempty"` // the sub-agent whose transcript it is
	CWD     string    `json:"cwd,omitempty"`
	Version string    `json:"version,omitempty"`
	Model   string    `json:"model,omitempty"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Team    string    `json:"team,omitempty"`   // of a teammate: its team, where the file names it
	Member  string    `json:"member,omitempty"` // and its name
	Sender  string    `json:"sender,omitempty"` // the name under which it sent messages
	Asked   string    `json:"asked,omitempty"`  // the name to which requests in it were addressed
	Teams   []string  `json:"teams,omitempty"`  // all teams that it has to do with
	Prev    string    `json:"prev,omitempty"`   // the line that its first one follows
	Tail    string    `json:"tail,omitempty"`   // its last line
	Meta    bool      `json:"meta,omitempty"`   // the client described it in a file beside it
	Mailed  bool      `json:"mailed,omitempty"` // it holds mail, as only a teammate's or a lead's does
	Events  int       `json:"events,omitempty"`

	packed  []byte // the body, as JSON
	spent   []byte // the messages that were counted, packed
	*opened        // nil while packed
}

// opened is the body of a file.
type opened struct {
	events  []*Event
	orphans []orphan          // answers that came before their calls
	open    map[string]*Event // calls without an answer
	counted map[uint64]counted
	now     string // the team that its session leads at this point
}

// orphan is an answer whose call has not been seen. Old clients write lines of one
// moment in any order.
type orphan struct {
	Call   string          `json:"call"`
	At     time.Time       `json:"at"`
	Failed bool            `json:"failed,omitempty"`
	Out    json.RawMessage `json:"out,omitempty"`
}

// body is how an opened file is kept.
type body struct {
	Events  []*Event `json:"events,omitempty"`
	Orphans []orphan `json:"orphans,omitempty"`
	Now     string   `json:"now,omitempty"`
}

const (
	maxOrphans = 16       // answers that may wait for their calls; lines of one moment are few
	maxOrphan  = 64 << 10 // bytes of such an answer
	maxKept    = 64 << 20 // bytes of one file's lines that events are made of
)

// newFile begins with what the path tells: SESSION.jsonl, or the sub-agents'
// SESSION/subagents/agent-ID.jsonl. Old clients put these beside the sessions.
func newFile(name string) *file {
	f := &file{Path: name, opened: &opened{}}
	base := strings.TrimSuffix(path.Base(name), suffix)
	parent, inSub, _ := strings.Cut(name, "/subagents/")
	if id, ok := strings.CutPrefix(base, "agent-"); ok {
		f.Agent = id
		if inSub != "" {
			f.Session = path.Base(parent)
		}
	} else {
		f.Session = base
	}
	return f
}

// unpack makes the body available. One that cannot be read was written by nobody
// of ours; the checksum of the whole was right, so it is a fault, and the caller
// reads the transcript again.
func (f *file) unpack() error {
	if f.opened != nil {
		return nil
	}
	var b body
	if err := json.Unmarshal(f.packed, &b); err != nil {
		return err
	}
	o := &opened{events: b.Events, orphans: b.Orphans, now: b.Now, open: map[string]*Event{}}
	for _, e := range o.events {
		if e.Kind != Mail && e.Done.IsZero() {
			o.open[e.Call] = e
		}
	}
	f.opened = o
	return nil
}

// pack lets the body go.
func (f *file) pack() error {
	b, err := json.Marshal(body{f.events, f.orphans, f.now})
	if err != nil {
		return err
	}
	if f.counted != nil {
		f.spent = packCounted(f.counted)
	}
	f.packed, f.Events, f.opened = b, len(f.events), nil
	return nil
}

// add keeps an event that came from a line of that size.
func (f *file) add(e *Event, size int) bool {
	if f.Kept+int64(size) > maxKept {
		f.Dropped++
		return false
	}
	f.Kept += int64(size)
	f.events = append(f.events, e)
	return true
}

func (f *file) touches(team string) {
	if team != "" && !slices.Contains(f.Teams, team) && len(f.Teams) < 1000 {
		f.Teams = append(f.Teams, team)
	}
}

// begin takes up a call, and gives it the answer that came before it.
func (f *file) begin(e *Event, size int) {
	if !f.add(e, size) {
		return
	}
	if i := slices.IndexFunc(f.orphans, func(o orphan) bool { return o.Call == e.Call }); i >= 0 {
		o := f.orphans[i]
		f.orphans = slices.Delete(f.orphans, i, i+1)
		a := newAnswer(o.At, o.Failed, o.Out, "")
		f.finish(e, &a)
		return
	}
	if f.open == nil {
		f.open = map[string]*Event{}
	}
	f.open[e.Call] = e
}

// finish gives a call its answer, and notes what that tells about the file itself.
func (f *file) finish(e *Event, a *answer) {
	a.apply(e)
	if e.Failed {
		return
	}
	f.touches(e.Team)
	switch e.Kind {
	case TeamCreate:
		f.now = e.Team
	case TeamDelete:
		f.now = ""
	case SendMessage:
		if f.Sender == "" {
			f.Sender = e.Letter.From
		}
	case TaskList:
		if e.Team == "" {
			e.Team = f.now
		}
		// An older listing of the same list says nothing more.
		f.events = slices.DeleteFunc(f.events, func(o *Event) bool {
			return o != e && o.Kind == TaskList && !o.Done.IsZero() && o.Team == e.Team
		})
	}
}
