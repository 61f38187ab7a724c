package cadre

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Foreign is what other programs wrote into a scope's files since Cadre last
// looked, as far as it says something new. It is taken in as fact: such a program
// asks nobody, so there is nobody to refuse. What a door would have refused is
// flagged, and what cannot be true here (a cycle, an edge to nothing) is left out
// and the lead is told, once for all of it.
//
// Taking the same in twice changes nothing the second time.
type Foreign struct {
	Tasks []ForeignTask
	Team  *ForeignTeam
	Mail  []ForeignMail
	Taken []MessageID // mail that its reader's program has marked or removed
	Guard bool        // leave out what a known member wrote and may not
}

// Decide takes the writes in.
func (v *Foreign) Decide(s Snap, c Command) ([]Event, error) {
	in := &intake{draft: newDraft(s, c), guard: v.Guard, by: map[Ref]Actor{}, said: map[string]bool{}}
	if v.Team != nil {
		if err := in.team(v.Team); err != nil {
			return nil, err
		}
	}
	if err := in.tasks(v.Tasks); err != nil {
		return nil, err
	}
	if err := in.mail(v.Mail, v.Taken); err != nil {
		return nil, err
	}
	if err := in.tell(); err != nil {
		return nil, err
	}
	events, err := in.finish()
	for i := range events {
		if who, ok := in.by[events[i].ref()]; ok {
			attributed := c
			attributed.Actor = who
			events[i] = sealedAs(attributed, events[i])
		}
	}
	return events, err
}

// Answer gives nothing: nobody asked.
func (v *Foreign) Answer(Snap, Command, Receipt) (any, error) { return nil, nil }

// intake is a Foreign while it is being decided.
type intake struct {
	*draft
	guard   bool
	by      map[Ref]Actor // who wrote what an event is about
	refused []string      // what cannot be true here, in words
	said    map[string]bool
	deleted []*Task
}

// wrote notes who is behind the event about an object.
func (in *intake) wrote(o Object, by Actor) {
	if by.Kind != "" {
		in.by[o.Ref()] = by
	}
}

// clientLed says whether a client leads the team. What its own client did is no
// news to such a lead, and every mail costs it a turn.
func (in *intake) clientLed() (bool, error) {
	lead, err := in.Member(LeadName)
	return lead != nil && lead.Backend == BackendClient, err
}

// tell gives the lead one notice about everything that was left out or lost.
func (in *intake) tell() error {
	theirs, err := in.clientLed()
	if err != nil {
		return err
	}
	var parts []string
	if len(in.deleted) > 0 && !theirs {
		parts = append(parts, fmt.Sprintf("another program deleted task %s; bring it back with: cadre task restore %s", listTasks(in.deleted), in.deleted[0].ID))
	}
	const most = 5
	parts = append(parts, in.refused[:min(most, len(in.refused))]...)
	if more := len(in.refused) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more were left out", more))
	}
	if len(parts) == 0 {
		return nil
	}
	return in.notice(LeadName, "", "%s", strings.Join(parts, "; "))
}

// plain is a text of a file without what no text here may hold.
func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func (in *intake) leaveOut(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !in.said[text] {
		in.refused, in.said[text] = append(in.refused, text), true
	}
}

// ForeignTeam is a team as its file describes it.
type ForeignTeam struct {
	Name        string
	Description string
	CreatedAt   time.Time
	LeadSession string
	Members     []ForeignMember
	Left        []string // members of a client that had been in the file and are not any more
	Dropped     []string // members of ours that clients keep taking out of it
	By          Actor
}

// leadless is the same team without a word about which session leads it. Where that
// was said through a door, no file says otherwise.
func (f *ForeignTeam) leadless() *ForeignTeam {
	out := *f
	out.LeadSession = ""
	return &out
}

// ForeignMember is one member as a file lists it.
type ForeignMember struct {
	Name, AgentType, Model, Prompt, Color, CWD, Mode string

	Lead     bool
	PlanMode bool
	JoinedAt time.Time
	Active   *bool // whether it is in the middle of something, where the file says so
}

// team takes in a team's file: one that nobody knew appears, members come and go.
func (in *intake) team(f *ForeignTeam) error {
	team, err := in.Team()
	if err != nil {
		return err
	}
	if team != nil && team.Creator.Proof != ProofFile {
		f = f.leadless()
	}
	creator := Actor{Kind: ActorSession, Name: string(SessionTeam(f.LeadSession)), Session: f.LeadSession, Proof: ProofFile}
	if creator.Name == "" {
		creator.Name = clip(f.LeadSession, 64)
	}
	if team == nil {
		team = &Team{Name: f.Name, Description: f.Description, CreatedAt: f.CreatedAt.UTC(), Creator: creator}
		in.put(nil, team)
		in.wrote(team, f.By)
	} else if next := *team; f.Description != team.Description || f.LeadSession != "" && team.Creator.Kind == ActorSession && team.Creator.Session != f.LeadSession {
		next.Description = f.Description
		if team.Creator.Kind == ActorSession && f.LeadSession != "" {
			next.Creator = creator
		}
		in.put(team, &next)
		in.wrote(team, f.By)
	}
	for _, m := range f.Members {
		if err := in.member(m, f); err != nil {
			return err
		}
	}
	for _, name := range f.Left {
		m, err := in.Member(name)
		if err != nil {
			return err
		}
		if m == nil || m.State == StateDeparted || m.Role == RoleLead || m.Backend != BackendClient {
			continue
		}
		theirs, err := in.clientLed()
		if err != nil {
			return err
		}
		if err := in.depart(name, "was taken out of the team by its client", theirs); err != nil {
			return err
		}
		in.wrote(m, f.By)
	}
	for _, name := range f.Dropped {
		m, err := in.Member(name)
		if err != nil {
			return err
		}
		if m == nil || m.Evidence == droppedEvidence {
			continue
		}
		next := m.Clone()
		next.Evidence = droppedEvidence
		in.put(m, next)
		in.leaveOut("clients keep taking %s out of the team's file; it stays out of it, and in the team", name)
	}
	return nil
}

// droppedEvidence marks a member that clients do not see.
const droppedEvidence = "clients keep taking it out of the team's file and do not see it"

// member takes in one line of a team's file.
func (in *intake) member(f ForeignMember, team *ForeignTeam) error {
	if len(f.Name) > maxScope || strings.ContainsFunc(f.Name, unicode.IsControl) {
		in.leaveOut("a file lists a member whose name nobody can say: %q", clip(f.Name, 40))
		return nil
	}
	m, err := in.Member(f.Name)
	if err != nil {
		return err
	}
	if m != nil && m.Backend == BackendHand && m.State != StateDeparted && f.Active != nil && *f.Active && !f.Lead {
		in.playedByClient(m, inTurn) // we write that it is not
		in.wrote(m, team.By)
		if m, err = in.Member(f.Name); err != nil {
			return err
		}
	}
	if m != nil && m.State == StateDeparted && m.Evidence == TeamVanished {
		next := m.Clone() // it is there again, and so is who was in it
		next.State, next.Since, next.Evidence = StateIdle, in.now(), inTeamFile
		in.put(m, next)
		in.wrote(m, team.By)
		return nil
	}
	if m != nil && (m.State != StateDeparted || !f.JoinedAt.After(m.Since)) {
		if m.State == StateDeparted || m.Backend != BackendClient {
			return nil // an old copy of the file, or one of ours, which the log knows better
		}
		next := m.Clone()
		switch {
		case f.Active == nil || *f.Active && m.State == StateStalled: // the file says so for ever if its client died
		case *f.Active:
			next.State, next.Evidence = StateWorking, inTurn
		default:
			next.State, next.Evidence = StateIdle, "its client says that its turn is over"
		}
		if f.Mode != "" {
			next.Mode = f.Mode
		}
		if f.Lead && team.LeadSession != "" {
			next.Session = team.LeadSession
		}
		if next.State != m.State {
			next.Since = in.now()
		}
		if *next == *m {
			return nil
		}
		in.put(m, next)
		in.wrote(m, team.By)
		return nil
	}
	next := &Member{
		Name: f.Name, Role: RoleTeammate, AgentType: f.AgentType, Model: f.Model, Prompt: f.Prompt, Color: f.Color, PlanMode: f.PlanMode,
		Mode: f.Mode, CWD: f.CWD, Backend: BackendClient, N: in.number(), JoinedAt: f.JoinedAt.UTC(), State: StateIdle, Since: in.now(),
		Evidence: inTeamFile,
	}
	if f.Lead {
		next.Role, next.Session = RoleLead, team.LeadSession
	}
	if next.Color == "" && f.Lead {
		next.Color = nextColor(0)
	}
	var before Object
	if m != nil {
		before = m
	}
	in.put(before, next)
	in.wrote(next, team.By)
	return nil
}

const (
	inTeamFile = "is in its client's team file"
	inTurn     = "its client says that it is in a turn"
)

// Why a scope ended whose folders are gone.
const (
	TeamVanished = "a client deleted the team"
	ListVanished = "a client deleted the list"
)

// ForeignEnd is that a client deleted a team or list: its folders are gone.
type ForeignEnd struct{ Why string }

// Decide lets the client's members depart and asks ours to shut down, unless they are
// asked already. The store then moves the scope to the archive; if it dies before, this
// is decided again.
func (v *ForeignEnd) Decide(s Snap, c Command) ([]Event, error) {
	d := newDraft(s, c)
	members, err := collect(d.Members())
	if err != nil {
		return nil, err
	}
	open, err := collect(d.OpenAsks())
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		switch {
		case m.State == StateDeparted || m.Role == RoleLead:
		case m.Backend == BackendClient:
			if err := d.setMemberState(m.Name, StateDeparted, v.Why); err != nil {
				return nil, err
			}
		case m.Alive() && !slices.ContainsFunc(open, func(a *Ask) bool { return a.Kind == AskShutdown && a.Member == m.Name }):
			ask := d.ask(&Ask{Kind: AskShutdown, From: LeadName, Member: m.Name, Text: v.Why, Digest: Digest(v.Why), Approvers: []string{m.Name}})
			if err := d.tell(ask); err != nil {
				return nil, err
			}
		}
	}
	return d.finish()
}
