package cadre

import (
	"strings"
	"time"
)

// GuestLease is how long a guest's claim lasts unless it is renewed: a guest that is gone
// cannot come back as the one it was.
const GuestLease = 30 * time.Second

// GuestStay is how long a guest is a member after its connection last said that it is
// there. It is longer, because each time is an event of the log.
const GuestStay = 5 * time.Minute

// guestGone is why a guest left whose stay was over. It comes back if its connection is
// there after all, as after a sleep of the machine.
const (
	guestGone = "its connection is gone"
	guestBack = "its connection is there again"
)

// identifyGuest: an agent that nothing is known of may look. One that stays connected
// works on the list that it was connected to, under a name of its own, and joins its
// team with its first change; it works where else it joined, and leads nothing but what
// it founded.
func (d *draft) identifyGuest(a Actor) (string, rights, *Member, error) {
	if a.Session == "" {
		return a.Name, reads, nil, nil
	}
	for m, err := range scan[*Member](d.Snap, IndexSession, prefixKey(a.Session), "") {
		if err != nil {
			return "", nothing, nil, err
		}
		return m.Name, m.rights(), nil, nil
	}
	for m, err := range d.Members() {
		if err != nil {
			return "", nothing, nil, err
		}
		if m.Session == a.Session && m.State == StateDeparted && m.Evidence == guestGone {
			back := m.Clone()
			back.Lease, back.State, back.Evidence = d.guestStays(), StateIdle, guestBack
			return m.Name, m.rights(), back, nil
		}
	}
	if a.Scope != d.Scope() {
		return a.Name, reads, nil, nil
	}
	team, err := d.Team()
	if err != nil {
		return "", nothing, nil, err
	}
	if team == nil {
		return a.Name + "-" + a.Session, works, nil, nil
	}
	name, err := d.freeName(a.Name)
	return name, works, &Member{
		Name: name, Role: RoleTeammate, Session: a.Session, Lease: d.guestStays(), Backend: BackendHand, State: StateIdle, Evidence: "connected as a guest",
	}, err
}

// guestStays is until when the caller counts as there, if it is a guest; nobody else
// needs to say so.
func (d *draft) guestStays() *Lease {
	if d.cmd.Actor.Kind != ActorGuest || d.cmd.Actor.Session == "" {
		return nil
	}
	return d.leaseOf(GuestStay)
}

// setNoLead says whether a team has lost its lead, if that is who is named.
func (d *draft) setNoLead(name string, gone bool) error {
	team, err := d.Team()
	if err != nil || team == nil || name != LeadName || team.NoLead == gone {
		return err
	}
	next := *team
	next.NoLead = gone
	d.put(team, &next)
	return nil
}

// GuestRenew says that a guest's connection is there: its claims and its membership last
// on. One that was taken for lost is there again, without what it held. A door calls it
// for as long as the connection lasts.
type GuestRenew struct{}

// Decide renews.
func (v *GuestRenew) Decide(s Snap, c Command) ([]Event, error) {
	d, err := begin(s, c)
	if err != nil || c.Actor.Kind != ActorGuest || d.rights < works {
		return nil, err
	}
	if d.joins != nil && d.joins.Evidence != guestBack {
		return nil, nil // it has changed nothing yet
	}
	if err := d.setNoLead(d.me, false); err != nil {
		return nil, err
	}
	if d.joins != nil {
		if err := d.join(d.joins); err != nil {
			return nil, err
		}
		return d.finish()
	}
	held, err := collect(d.Tasks(TaskQuery{Index: IndexOwner, Key: d.me}))
	if err != nil {
		return nil, err
	}
	for _, t := range held {
		if t.Leased {
			continue
		}
		next := t.Clone()
		next.Leased = true
		d.put(t, next) // the same version: nobody changed what it says
	}
	if len(held) > 0 {
		if err := d.renew(d.me, GuestLease); err != nil {
			return nil, err
		}
	}
	m, err := d.Member(d.me)
	if err != nil || m == nil {
		return d.events, err
	}
	if m.Lease == nil || m.Lease.Boot != c.Now.Boot || m.Lease.Until-c.Now.Up < GuestStay*2/3 {
		next := m.Clone()
		next.Lease = d.guestStays()
		d.put(m, next)
	}
	if m.State == StateUnreachable {
		if err := d.setMemberState(d.me, StateIdle, guestBack); err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// Answer says nothing more than that it is done.
func (v *GuestRenew) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }

// GuestsLost says whether a guest is gone and still counts as there.
func (s Snap) GuestsLost(now Time) (bool, error) {
	lost, err := s.lost(now, true)
	return len(lost) > 0, err
}

// GuestName makes a member's name of what a guest's program calls itself. That many
// call themselves somebody's client says nothing.
func GuestName(program string) string {
	name := suggestName(string(ActorGuest) + " " + program)
	if own, ok := strings.CutPrefix(name, string(ActorGuest)+"-"); ok {
		name = own
	}
	name = strings.TrimSuffix(name, "-mcp-client")
	if CheckMemberName(name) != nil {
		return string(ActorGuest)
	}
	return name
}
