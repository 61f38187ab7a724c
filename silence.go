package cadre

import (
	"fmt"
	"strings"
	"time"
)

// StalledAfter is how long a member that a client plays may say nothing in the middle of
// its work before nobody believes that it is still at it. It is never taken to be dead for
// that: a long command says nothing either.
const StalledAfter = 10 * time.Minute

// ClientsHeard tells when the members that clients play last said something, as their
// transcripts have it. Who was silent for too long at work is stalled, and is not any
// more once it is heard again. No door offers it.
type ClientsHeard struct {
	Last map[string]time.Time // who is not in it tells nothing by its silence
}

// Decide notes who stalled and who goes on. The lead is told once.
func (v *ClientsHeard) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	members, err := collect(s.Members())
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		last, known := v.Last[m.Name]
		if !known {
			continue
		}
		judged, err := s.judgeClient(m)
		turn := judged != nil && strings.HasPrefix(judged.Evidence, inTurn)
		switch {
		case err != nil:
			return nil, err
		case judged == nil:
		case judged.State == StateStalled && last.After(judged.Since) && turn:
			err = d.setMemberState(m.Name, StateWorking, inTurn)
		case judged.State == StateStalled && last.After(judged.Since):
			err = d.setMemberState(m.Name, StateIdle, "wrote to its transcript again")
		case judged.State == StateStalled && len(judged.Tasks) == 0 && !turn:
			err = d.setMemberState(m.Name, StateIdle, "has nothing to do any more")
		case judged.State == StateWorking && min(c.Now.Wall.Sub(last), c.Now.Wall.Sub(judged.Since)) >= StalledAfter:
			evidence := fmt.Sprintf("%s, and has written nothing to its transcript since %s", judged.Evidence, last.UTC().Format("2006-01-02 15:04"))
			err = d.setMemberState(m.Name, StateStalled, evidence)
			if err == nil && m.Name != LeadName {
				err = d.notice(LeadName, "", "%s is stalled: %s", m.Name, evidence)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *ClientsHeard) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }

// judgeClient gives a member whose silence may say something: one that a client plays,
// and that is at work, or was until it stalled. Any other is nil.
func (s Snap) judgeClient(m *Member) (*MemberView, error) {
	if m.Backend != BackendClient || m.State == StateDeparted {
		return nil, nil
	}
	v, err := s.viewMember(m)
	if err != nil || v.State != StateWorking && v.State != StateStalled {
		return nil, err
	}
	return v, nil
}

// ListensFor says whether it is worth looking when clients last said something: one has
// been at work for long enough, or has stalled.
func (s Snap) ListensFor(now time.Time) (bool, error) {
	for m, err := range s.Members() {
		if err != nil {
			return false, err
		}
		v, err := s.judgeClient(m)
		if err != nil || v != nil && (v.State == StateStalled || now.Sub(v.Since) >= StalledAfter) {
			return err == nil, err
		}
	}
	return false, nil
}
