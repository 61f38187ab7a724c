package transcript

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cadre"
)

// Team is what the transcripts tell about a team, or about a session's own list.
// A team whose name was used again is several.
type Team struct {
	Scope       cadre.Scope      `json:"scope"`
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Session     string           `json:"session"` // the lead's
	Solo        bool             `json:"solo"`    // a session's own list: nobody but the session
	CWD         string           `json:"cwd,omitempty"`
	Created     time.Time        `json:"created"`
	Deleted     time.Time        `json:"deleted,omitzero"` // zero where no call deleted it
	Last        time.Time        `json:"last"`             // when something was last said about it
	Tasks       []*cadre.Task    `json:"tasks"`            // deleted ones too
	Members     []*cadre.Member  `json:"members"`          // with the lead; who left is departed, of others no state is known
	Messages    []*cadre.Message `json:"messages"`
	Gaps        []string         `json:"gaps"` // what is not known, in words
}

// Teams rebuilds every team that the transcripts tell of, oldest first, as it stood
// when it was deleted or when the transcripts end: from what its members' calls say
// they did, with what the client is known to do by itself. Calls that failed are
// left out. What other programs wrote is not in transcripts, and the tasks in which
// old clients note their running agents are not rebuilt.
func (x *Index) Teams() []*Team {
	x.mu.Lock()
	defer x.mu.Unlock()
	lists := map[cadre.Scope][]*Event{}
	for _, e := range x.eventsOf("") {
		if e.Scope != "" {
			s := canonical(e.Scope)
			lists[s] = append(lists[s], e)
		}
	}
	var all []*Team
	for _, events := range lists {
		for _, life := range lives(events) {
			r := &rebuild{
				x:       x,
				team:    &Team{Tasks: []*cadre.Task{}, Members: []*cadre.Member{}, Gaps: []string{}},
				tasks:   map[cadre.TaskID]*cadre.Task{},
				members: map[string]*cadre.Member{},
				post:    post{all: []*cadre.Message{}},
			}
			if t := r.run(life); len(t.Tasks) > 0 || !t.Solo {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Team) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Scope, b.Scope))
	})
	return all
}

// lives cuts the events of a name into the teams that had it: the client gives a
// name that is in use to nobody else.
func lives(events []*Event) [][]*Event {
	var all [][]*Event
	for _, e := range events {
		if len(all) == 0 || e.Kind == TeamCreate && e.worked() && !e.Done.IsZero() {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], e)
	}
	return all
}

// rebuild plays the events of one team.
type rebuild struct {
	x       *Index
	team    *Team
	tasks   map[cadre.TaskID]*cadre.Task
	members map[string]*cadre.Member
	order   []string // members as they joined
	post    post
}

func (r *rebuild) run(events []*Event) *Team {
	t := r.team
	t.Scope = events[0].Scope
	t.Created = events[0].At
	for _, e := range events {
		r.begin(e)
	}
	if t.Name == "" {
		t.Name, t.Solo = string(t.Scope), true
		t.Session = events[0].Session
	} else {
		r.join(cadre.LeadName, t.Created).Session = t.Session
	}
	for _, e := range events {
		if at := e.when(); at.After(t.Last) {
			t.Last = at
		}
		r.play(e)
	}
	r.finish()
	return t
}

// begin takes from an event what it says about the team itself.
func (r *rebuild) begin(e *Event) {
	t := r.team
	if e.Team == "" || e.Failed {
		return
	}
	if t.Name == "" {
		t.Name, t.Scope = e.Team, e.Scope
		if s := r.x.sessionOf(e.Team); s != "" { // newer clients make the team when the session begins
			t.Session = s
			t.Created = r.x.seen.families[s].roots[0].First
		}
	}
	if e.Kind == TeamCreate && !e.Done.IsZero() {
		t.Name, t.Description, t.Created = e.Team, e.About, e.Done
	}
	if e.Kind == TeamDelete {
		t.Deleted = e.Done
	}
	if e.Who == cadre.LeadName && t.Session == "" {
		t.Session = e.Session
	}
}

// sessionOf is the session that a team made by its client belongs to.
func (x *Index) sessionOf(team string) string {
	for id, fam := range x.seen.families {
		if own(id) == team && len(fam.roots) > 0 {
			return id
		}
	}
	return ""
}

func (r *rebuild) gap(format string, args ...any) {
	if g := fmt.Sprintf(format, args...); !slices.Contains(r.team.Gaps, g) {
		r.team.Gaps = append(r.team.Gaps, g)
	}
}

// play applies one event.
func (r *rebuild) play(e *Event) {
	if e.Failed {
		return
	}
	if e.Kind != Mail && e.Done.IsZero() {
		r.gap("a %s of %s has no answer in the transcript: whether it was done is not known", e.Kind, e.Who)
		return
	}
	switch e.Kind {
	case TaskCreate:
		r.create(e)
	case TaskUpdate:
		r.update(e)
	case TaskList:
		r.listed(e)
	case Spawn:
		r.spawn(e)
	case SendMessage:
		r.post.send(e)
	case Mail:
		r.post.show(e, r.prompts(e))
	}
	if name := e.left(); name != "" {
		r.leave(name, e.when(), "it agreed to shut down")
	}
}

// join gives a member, a new one where there is none of this name.
func (r *rebuild) join(name string, at time.Time) *cadre.Member {
	m := r.members[name]
	if m == nil {
		m = &cadre.Member{Name: name, Role: cadre.RoleTeammate, Backend: cadre.BackendClient, JoinedAt: at}
		if name == cadre.LeadName {
			m.Role = cadre.RoleLead
		}
		r.members[name], r.order = m, append(r.order, name)
	}
	return m
}

func (r *rebuild) spawn(e *Event) {
	a := e.Agent
	if !a.Teammate {
		return
	}
	m := r.join(a.Name, e.At)
	m.AgentType, m.Model, m.Prompt, m.Description, m.Color, m.PlanMode = a.Type, a.Model, a.Prompt, a.Description, a.Color, a.PlanMode
	m.JoinedAt, m.State, m.Since = e.At, "", time.Time{}
}

// prompts says whether mail is the prompt with which its reader was started.
func (r *rebuild) prompts(e *Event) bool {
	m := r.members[e.Who]
	return m != nil && e.Letter.From == cadre.LeadName && m.Prompt != "" && m.Prompt == e.Letter.Text
}

// leave does what the lead's client does for a member that is gone: its open tasks
// are nobody's again.
func (r *rebuild) leave(name string, at time.Time, why string) {
	m := r.members[name]
	if m == nil || m.State == cadre.StateDeparted {
		return
	}
	m.State, m.Since, m.Evidence = cadre.StateDeparted, at, why
	for _, t := range r.tasks {
		if t.Owner == name && t.Open() {
			t.Owner, t.Status, t.StartedAt, t.UpdatedAt = "", cadre.Pending, nil, at
		}
	}
}

// finish puts things in order and says what is missing.
func (r *rebuild) finish() {
	t := r.team
	for _, id := range slices.SortedFunc(maps.Keys(r.tasks), compareIDs) {
		task := r.tasks[id]
		for _, b := range task.BlockedBy {
			if o := r.tasks[b]; o != nil && o.Open() {
				task.OpenBlockers++
			}
		}
		t.Tasks = append(t.Tasks, task)
	}
	t.Messages = r.post.sorted()
	r.identify()
	for _, name := range r.order {
		m := r.members[name]
		if !t.Deleted.IsZero() && m.State == "" {
			m.State, m.Since, m.Evidence = cadre.StateDeparted, t.Deleted, "the team was deleted"
		}
		t.Members = append(t.Members, m)
	}
}

// identify joins members with their transcripts, and says which have none.
func (r *rebuild) identify() {
	t := r.team
	lost := map[string]int{}
	for _, fam := range r.x.seen.families {
		if !fam.touches(t.Scope) {
			continue
		}
		for f, id := range fam.of {
			if id.teammate && fold(id.team) == fold(t.Name) && !t.Solo {
				if id.name == "" {
					r.gap("the transcript %s is of a member whose name is not known", f.Path)
					continue
				}
				m := r.join(id.name, f.First)
				m.CWD = cmp.Or(m.CWD, f.CWD)
				m.Session = cmp.Or(m.Session, f.Session)
			}
			if f.Agent == "" && f.Session == t.Session {
				t.CWD = f.CWD
				if m := r.members[cadre.LeadName]; m != nil {
					m.CWD, m.Model = f.CWD, f.Model
				}
			}
			lost[f.Path] = f.TooLong + f.Dropped
		}
	}
	for name, n := range lost {
		if n > 0 {
			r.gap("%d lines of %s are too long to be kept", n, name)
		}
	}
	for _, name := range r.order {
		if name != cadre.LeadName && r.members[name].Session == "" {
			r.gap("there is no transcript of %s: what it did is known only as far as others saw it", name)
		}
	}
	if !t.Solo && t.CWD == "" {
		r.gap("there is no transcript of the lead: what it did is known only as far as others saw it")
	}
	slices.Sort(t.Gaps)
}

// compareIDs orders task ids as people count.
func compareIDs(a, b cadre.TaskID) int {
	if a.Numeric() && b.Numeric() {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(string(a), string(b)))
	}
	if a.Numeric() != b.Numeric() {
		if a.Numeric() {
			return -1
		}
		return 1
	}
	return strings.Compare(string(a), string(b))
}
