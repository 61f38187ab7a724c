package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cadre"
)

// Overview is what a person sees who types nothing but the program's name: what
// needs them, who does what, what changed, and the next command worth typing.
type Overview struct {
	Since cadre.Head `json:"-" door:"-"` // where this person last looked
}

// OverviewView is that one screen.
type OverviewView struct {
	Scope   cadre.Scope         `json:"scope"`
	Fresh   bool                `json:"fresh"` // nothing was ever written anywhere
	Team    *cadre.TeamView     `json:"team"`
	Needs   []Need              `json:"needsYou"`
	Digest  *cadre.MessageView  `json:"digest,omitempty"` // what needs nobody
	Members []*cadre.MemberView `json:"members"`
	Running []*cadre.TaskView   `json:"running"`
	Ready   []*cadre.TaskView   `json:"ready"`
	Changes []cadre.Event       `json:"changes"`
	More    int                 `json:"moreChanges"` // how many changes are not listed
	Others  []*TeamLine         `json:"others"`
	Next    []string            `json:"next"`
	Head    cadre.Head          `json:"head"`
}

// Need is one thing that waits for the person.
type Need struct {
	What    string         `json:"what"`
	Since   time.Time      `json:"since"`
	Command string         `json:"command"`
	Message *cadre.Message `json:"message,omitempty"` // where it is one that waits
}

// Run collects the screen. It costs the same for a long list as for a short one,
// but for what is shown.
func (v *Overview) Run(ctx context.Context, s *Session) (any, error) {
	stranded := s.listen(ctx)
	out := &OverviewView{Scope: s.Scope, Needs: []Need{}, Members: []*cadre.MemberView{}, Changes: []cadre.Event{}}
	err := s.view(ctx, func(snap cadre.Snap) error {
		out.Head = snap.Head()
		return v.look(snap, s, out)
	})
	if err != nil {
		return nil, err
	}
	if err := v.changes(ctx, s, out); err != nil {
		return nil, err
	}
	others, err := (&TeamList{}).Run(ctx, s)
	if err != nil {
		return nil, err
	}
	out.Others = []*TeamLine{}
	for _, line := range others.([]*TeamLine) {
		if line.Scope != s.Scope {
			out.Others = append(out.Others, line)
		}
	}
	if err := v.erased(ctx, s, out); err != nil {
		return nil, err
	}
	out.needsSupervisor(s.Now().Wall, stranded)
	out.Fresh = out.Head.Seq == 0 && len(out.Others) == 0
	out.Next = out.nextCommands()
	return out, nil
}

// glance is how long the one screen reads transcripts that are new to it. What is
// left is read the next time.
const glance = 100 * time.Millisecond

// erased adds the teams that only transcripts tell of, the newest first.
func (v *Overview) erased(ctx context.Context, s *Session, out *OverviewView) error {
	if s.Actor.Kind != cadre.ActorOperator {
		return nil
	}
	known := map[cadre.Scope]bool{}
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return err
		}
		known[info.Scope] = true
	}
	short, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	erased, err := s.Coord.erased(short, known)
	for _, t := range slices.Backward(erased) {
		if !t.Solo {
			out.Others = append(out.Others, t.line())
		}
	}
	return err
}

// mostShown is how many lines each part of the screen has at most.
const mostShown = 8

func (v *Overview) look(snap cadre.Snap, s *Session, out *OverviewView) error {
	c := s.command("overview")
	shown, err := (&cadre.TeamShow{}).Look(snap, c)
	if err != nil {
		return err
	}
	out.Team = shown.(*cadre.TeamView)
	for _, m := range out.Team.Members {
		if m.Member.State != cadre.StateDeparted {
			out.Members = append(out.Members, m)
		}
	}
	running, err := (&cadre.TaskList{Status: string(cadre.InProgress), Limit: mostShown}).Look(snap, c)
	if err != nil {
		return err
	}
	out.Running = running.([]*cadre.TaskView)
	ready, err := (&cadre.TaskReady{Limit: mostShown}).Look(snap, c)
	if err != nil {
		return err
	}
	out.Ready = ready.([]*cadre.TaskView)
	return out.needs(snap, s)
}

// needs lists what waits for the person: asks, and mail for the lead. A lead that a
// client plays reads its mail itself; only what Cadre has to say is then for both.
// That somebody is idle waits for nobody, and the mail of an ask only for those who
// did not answer it in time.
func (out *OverviewView) needs(snap cadre.Snap, s *Session) error {
	for ask, err := range snap.OpenAsks() {
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%s asks (%s): %s", ask.From, ask.Kind, ask.Text)
		if ask.Kind == cadre.AskRefusal {
			what = ask.Text
		}
		out.Needs = append(out.Needs, Need{what, ask.AskedAt, "cadre ask show " + string(ask.ID), nil})
	}
	theirs := slices.ContainsFunc(out.Members, func(m *cadre.MemberView) bool { return m.Role == cadre.RoleLead && m.Backend == cadre.BackendClient })
	mail, err := (&cadre.MsgInbox{Limit: mostShown}).Look(snap, s.command("overview"))
	if err != nil {
		return err
	}
	for _, m := range mail.([]*cadre.MessageView) {
		if m.Kind == cadre.MessageDigest {
			out.Digest = m
			continue
		}
		ask, err := snap.Ask(m.Ask)
		if err != nil {
			return err
		}
		answered := ask != nil && ask.State != cadre.AskExpired // or listed itself
		about, err := snap.Task(m.Task)
		if err != nil {
			return err
		}
		over := m.Kind == cadre.MessageNotice && about != nil && about.Status == cadre.Completed // whatever it was that Cadre told
		if answered || over || m.Kind == cadre.MessageIdle || theirs && m.Kind != cadre.MessageNotice {
			continue
		}
		out.Needs = append(out.Needs, Need{fmt.Sprintf("message from %s: %s", m.From, m.Summary), m.SentAt, "cadre msg inbox", m.Message})
	}
	return nil
}

// changes lists what happened since the person last looked, the newest of it.
func (v *Overview) changes(ctx context.Context, s *Session, out *OverviewView) error {
	from := v.Since
	if from.Epoch != out.Head.Epoch {
		from = cadre.Head{}
	}
	if out.Head.Seq <= from.Seq {
		return nil
	}
	const most = 256 // of these the signs of life are left out; earlier events are only counted
	if total := int(out.Head.Seq - from.Seq); total > most {
		from = cadre.Head{Seq: out.Head.Seq - most}
		out.More = total - most
	}
	for e, err := range s.Store.Events(ctx, s.Scope, from, false) {
		if _, epoch := errors.AsType[*cadre.EpochError](err); epoch {
			return nil
		}
		if err != nil {
			return err
		}
		if !e.SignOfLife() {
			out.Changes = append(out.Changes, e)
		}
	}
	if more := len(out.Changes) - mostShown; more > 0 {
		out.More += more
		out.Changes = slices.Clone(out.Changes[more:])
	}
	return nil
}

// needsSupervisor puts it first that members have work and nothing runs them: such as were
// found to be stranded, or that nobody started for too long. Where others run there is a
// supervisor, and these wait for room.
func (out *OverviewView) needsSupervisor(now time.Time, found bool) {
	var names []string
	var since time.Time
	for _, m := range out.Members {
		if m.Process != nil {
			return
		}
		if m.Backend.Supervised() && m.Member.State == cadre.StateStarting && m.Process == nil && (found || now.Sub(m.Since) > soon) {
			names, since = append(names, m.Name), m.Since
		}
	}
	if len(names) > 0 && out.open() > 0 {
		out.Needs = slices.Insert(out.Needs, 0, Need{"nothing runs " + strings.Join(names, ", "), since, "cadre up", nil})
	}
}

// open is how many tasks are not completed.
func (out *OverviewView) open() int {
	return out.Team.Tasks[cadre.Pending] + out.Team.Tasks[cadre.InProgress]
}

// nextCommands are the commands most worth typing now.
func (out *OverviewView) nextCommands() []string {
	switch {
	case len(out.Needs) > 0:
		return []string{out.Needs[0].Command}
	case out.Fresh:
		return []string{"cadre team create my-team", `cadre task add "what is to be done"`}
	case out.Head.Seq == 0 && out.Scope == cadre.DefaultScope:
		return out.chooseOne()
	case out.open() == 0:
		return []string{`cadre task add "what is to be done"`}
	case len(out.Ready) > 0:
		return []string{"cadre task next --claim", "cadre task list"}
	}
	return []string{"cadre task list", "cadre watch"}
}

// soon is how long the start of a member takes where something runs the members.
const soon = 5 * time.Second

// chooseOne is for somebody who works on nothing yet: the newest team that is
// there, or the only list, or what else there is.
func (out *OverviewView) chooseOne() []string {
	next := []string{"cadre team list --all"}
	var newest *TeamLine
	for _, l := range out.Others {
		if l.Where == cadre.Live && l.Team != nil && (newest == nil || l.Team.CreatedAt.After(newest.Team.CreatedAt)) {
			newest = l
		}
	}
	if newest == nil && len(out.Others) == 1 && out.Others[0].Where == cadre.Live {
		newest = out.Others[0]
	}
	if newest == nil {
		return append(next, "cadre team create my-team")
	}
	return append([]string{"cadre team use " + string(newest.Scope)}, next...)
}
