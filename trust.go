package cadre

import (
	"slices"
	"time"
)

// Trusted says that the operator lets the hooks of a project's settings run, for as
// long as they are what they were. It stands in the Host scope.
type Trusted struct {
	File   string    `json:"file"`
	Digest string    `json:"digest"` // of the hooks in it
	Events []string  `json:"events"` // at which it has hooks
	By     Actor     `json:"by"`
	At     time.Time `json:"at"`
}

func (t *Trusted) Ref() Ref                  { return Ref{KindTrusted, t.File} }
func (t *Trusted) order() string             { return t.File }
func (t *Trusted) index(func(Index, string)) {}

// Trusted gives every file that is trusted, by its path; only in the Host scope.
func (s Snap) Trusted() ([]*Trusted, error) {
	return collect(scan[*Trusted](s, Index(KindTrusted), "", ""))
}

// MayTrust refuses all but the operator under its own name: whoever could trust a file
// could have any command run by everybody.
func MayTrust(a Actor) error {
	if a.Kind != ActorOperator {
		return refuse(RuleOperator, "only the operator may say which hooks are trusted; this is %s", a).
			hint(`cadre msg send %s "please run: cadre trust"`, LeadName)
	}
	return nil
}

// TrustSet trusts files as they are, or with Remove no longer; only in the Host scope.
type TrustSet struct {
	Files  []Trusted
	Remove bool
}

// Decide records it; again is no change.
func (v *TrustSet) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	if err := MayTrust(c.Actor); err != nil {
		return nil, err
	}
	for _, f := range v.Files {
		before, err := d.Get(f.Ref())
		if err != nil {
			return nil, err
		}
		old, _ := before.(*Trusted)
		switch {
		case v.Remove && old != nil:
			d.put(old, nil)
		case v.Remove, old != nil && old.Digest == f.Digest && slices.Equal(old.Events, f.Events):
		default:
			f.By, f.At = c.Actor, d.now()
			d.put(before, &f)
		}
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *TrustSet) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }
