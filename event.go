package cadre

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind is the kind of an object.
type Kind string

const (
	KindLog       Kind = "log"
	KindTeam      Kind = "team"
	KindTask      Kind = "task"
	KindComment   Kind = "comment"
	KindReference Kind = "reference"
	KindMember    Kind = "member"
	KindMessage   Kind = "message"
	KindAsk       Kind = "ask"
	KindTodo      Kind = "todo"
	KindBinding   Kind = "binding"
	KindToken     Kind = "token"
	KindErasure   Kind = "erasure"
	KindRunning   Kind = "running"
	KindTrusted   Kind = "trusted"
	KindHolder    Kind = "holder"
)

// Ref names one object of a scope.
type Ref struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
}

func (r Ref) String() string { return string(r.Kind) + " " + r.ID }

// Object is anything that stands in a scope: *Task, *Team, *Member, *Message,
// *Ask, *Todo, *Comment, *Reference, *Binding, *Token, *Erasure, *Running, *Trusted, *Holder
// and *Log. Objects are values that are replaced whole, never changed in place.
type Object interface {
	Ref() Ref
	// order is the object's place among those of its kind.
	order() string
	// index tells under which keys of which indexes the object is found.
	index(add func(Index, string))
}

// newObject gives an empty object to decode into.
func newObject(k Kind) (Object, error) {
	switch k {
	case KindLog:
		return &Log{}, nil
	case KindTeam:
		return &Team{}, nil
	case KindTask:
		return &Task{}, nil
	case KindComment:
		return &Comment{}, nil
	case KindReference:
		return &Reference{}, nil
	case KindMember:
		return &Member{}, nil
	case KindMessage:
		return &Message{}, nil
	case KindAsk:
		return &Ask{}, nil
	case KindTodo:
		return &Todo{}, nil
	case KindBinding:
		return &Binding{}, nil
	case KindToken:
		return &Token{}, nil
	case KindErasure:
		return &Erasure{}, nil
	case KindRunning:
		return &Running{}, nil
	case KindTrusted:
		return &Trusted{}, nil
	case KindHolder:
		return &Holder{}, nil
	}
	return nil, fmt.Errorf("unknown kind of object %q", clip(string(k), 40))
}

// DecodeObject reads an object from the JSON that json.Marshal made of it.
func DecodeObject(k Kind, data []byte) (Object, error) {
	o, err := newObject(k)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("decoding a %s: %w", k, err)
	}
	return o, nil
}

// Time is a moment as a command sees it: the wall clock for people, and the time
// since this boot of the machine for leases, which no clock change can move.
type Time struct {
	Wall time.Time
	Boot string
	Up   time.Duration
}

// Command is one call of a verb. Its ID makes it happen at most once, unless it
// was drawn for this call alone.
type Command struct {
	ID    CommandID
	Actor Actor
	Door  string
	Verb  string
	Now   Time
}

// Event is one durable change of one object. A verb fills in the images; the
// store adds the rest when it seals the event into the chain.
type Event struct {
	Seq     Seq       `json:"seq"`
	Time    time.Time `json:"time"`
	Scope   Scope     `json:"scope"`
	Actor   Actor     `json:"actor"`
	Door    string    `json:"door"`
	Verb    string    `json:"verb"`
	Command CommandID `json:"command"`
	Object  Ref       `json:"object"`
	Before  Object    `json:"before,omitempty"`
	After   Object    `json:"after,omitempty"`
	Prev    string    `json:"prev"`
	Hash    string    `json:"hash,omitempty"`
}

// ref is the object an event is about, from its images.
func (e *Event) ref() Ref {
	if e.After != nil {
		return e.After.Ref()
	}
	return e.Before.Ref()
}

// UnmarshalJSON reads an event, with the images in the type their kind says.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	raw := struct {
		*plain
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	for _, image := range []struct {
		data json.RawMessage
		into *Object
	}{{raw.Before, &e.Before}, {raw.After, &e.After}} {
		*image.into = nil
		if len(image.data) == 0 || string(image.data) == "null" {
			continue
		}
		o, err := DecodeObject(e.Object.Kind, image.data)
		if err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		if o.Ref() != e.Object {
			return fmt.Errorf("event %d is about %s but holds an image of %s", e.Seq, e.Object, o.Ref())
		}
		*image.into = o
	}
	if e.Before == nil && e.After == nil {
		return fmt.Errorf("event %d holds no image", e.Seq)
	}
	return nil
}

// Receipt is what a store answers once a command is durable.
type Receipt struct {
	Head     Head    `json:"head"`
	Events   []Event `json:"events"`
	Replayed bool    `json:"replayed,omitempty"` // this command id was committed before; Events are those of then
}
