package transcript

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"cadre"
)

// view is what follows from all files together. Families are resolved when
// somebody asks for them.
type view struct {
	files    []*file // oldest first
	families map[string]*family
	teams    map[string]bool // every team that any file names, folded
	events   map[cadre.Scope][]*Event
}

// family is a session with its sub-agents.
type family struct {
	session  string
	roots    []*file // none where only sub-agents are left, two where the session changed its folder
	subs     []*file
	resolved bool
	of       map[*file]identity
	events   []*Event
	led      []span
}

// span is the team that a session led from a time on, none after it was deleted.
type span struct {
	from time.Time
	team string
}

// identity is whose transcript a file is.
type identity struct {
	name     string // the member
	team     string
	teammate bool
}

func (x *Index) view() *view {
	if x.seen != nil {
		return x.seen
	}
	v := &view{families: map[string]*family{}, teams: map[string]bool{}, events: map[cadre.Scope][]*Event{}}
	// Of two files that hold the same lines the one that ended first is the original.
	v.files = slices.SortedFunc(maps.Values(x.files), func(a, b *file) int {
		return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last), cmp.Compare(a.Path, b.Path))
	})
	for _, f := range v.files {
		fam := v.families[f.Session]
		if fam == nil {
			fam = &family{session: f.Session}
			v.families[f.Session] = fam
		}
		if f.Agent != "" {
			fam.subs = append(fam.subs, f)
		} else {
			fam.roots = append(fam.roots, f)
		}
		for _, t := range f.Teams {
			v.teams[fold(t)] = true
		}
	}
	x.seen = v
	return v
}

// fold makes the folder name that a lead's client makes of a team's name.
func fold(team string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, team))
}

// own is the team that newer clients make for every session.
func own(session string) string { return "session-" + session[:min(8, len(session))] }

// canonical gives one name to a session's list, which has two.
func canonical(s cadre.Scope) cadre.Scope {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		return cadre.Scope(own(string(s)))
	}
	return s
}

// touches says whether a family may have events of a list.
func (fam *family) touches(scope cadre.Scope) bool {
	if canonical(scope) == canonical(cadre.Scope(fam.session)) {
		return true
	}
	names := func(f *file) bool {
		return slices.ContainsFunc(f.Teams, func(t string) bool { return fold(t) == fold(string(scope)) })
	}
	return slices.ContainsFunc(fam.roots, names) || slices.ContainsFunc(fam.subs, names)
}

// when is the time at which an event counts.
func (e *Event) when() time.Time {
	if e.Done.IsZero() {
		return e.At
	}
	return e.Done
}

// resolve finds out whose transcripts a family's are, and completes its events.
func (x *Index) resolve(fam *family) {
	if fam.resolved {
		return
	}
	fam.resolved, fam.of = true, map[*file]identity{}
	all := slices.Concat(fam.roots, fam.subs)
	for _, f := range all {
		if f.unpack() != nil {
			f.opened = &opened{}
			f.Size, f.Print = -1, "" // so that the next update reads it again
		}
	}
	fam.nameSubs()
	for e := range fam.rootEvents() {
		if e.worked() && !e.Done.IsZero() && e.Kind == TeamCreate {
			fam.led = append(fam.led, span{e.Done, e.Team})
		} else if e.worked() && !e.Done.IsZero() && e.Kind == TeamDelete && e.Team != "" {
			fam.led = append(fam.led, span{e.Done, ""})
		}
	}
	slices.SortStableFunc(fam.led, func(a, b span) int { return a.from.Compare(b.from) })
	for _, f := range all {
		if f.Agent == "" {
			id := fam.itself()
			if n := len(f.Teams); !id.teammate && n > 0 {
				id.name, id.team = cadre.LeadName, f.Teams[n-1]
			} else if !id.teammate && x.seen.teams[own(fam.session)] {
				id.name, id.team = cadre.LeadName, own(fam.session)
			}
			fam.of[f] = id
		}
		for _, e := range f.events {
			c := *e
			x.place(fam, f, &c)
			fam.events = append(fam.events, &c)
		}
	}
}

// itself is the session's own identity: a teammate's where its client was
// started as one.
func (fam *family) itself() identity {
	for _, f := range fam.roots {
		if f.Member != "" {
			return identity{f.Member, f.Team, true}
		}
	}
	return identity{}
}

// leads is the team that the session led at a time, none where it had none.
func (x *Index) leads(fam *family, at time.Time) string {
	for _, led := range slices.Backward(fam.led) {
		if !led.from.After(at) {
			return led.team
		}
	}
	if x.seen.teams[own(fam.session)] {
		return own(fam.session)
	}
	return ""
}

// rootEvents are the events of the session itself.
func (fam *family) rootEvents() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for _, f := range fam.roots {
			for _, e := range f.events {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// place says who an event is by and which list it is about. A sub-agent that is
// not a teammate acts for its session.
func (x *Index) place(fam *family, f *file, e *Event) {
	e.File, e.Session = f.Path, fam.session
	id := fam.of[f]
	if !id.teammate {
		id = fam.itself()
	}
	if id.teammate {
		e.Who = id.name
		if e.Team == "" {
			e.Team = id.team
		}
		if e.Task != nil || e.Kind == TaskList {
			e.Scope = scopeOf(e.Team)
		} else {
			e.Scope = cadre.Scope(fold(e.Team))
		}
		return
	}
	if e.Team == "" || e.Failed || e.Kind == Spawn && !e.Agent.Teammate {
		e.Team = x.leads(fam, e.when())
	}
	e.Who, e.Scope = cadre.LeadName, cadre.Scope(fold(e.Team))
	if e.Team == "" {
		e.Who, e.Scope = fam.session, scopeOf(fam.session)
	}
}

// scopeOf is the folder that a teammate's client uses for its team's tasks.
func scopeOf(name string) cadre.Scope {
	s, err := cadre.ParseScope(name)
	if err != nil {
		return "" // no list can have this name
	}
	return s
}

// nameSubs finds the names of sub-agents. Newer clients write them down. Older ones
// begin a new file for every turn of a teammate: the first line of a turn follows
// the last line of the turn before, and the first turn begins with the prompt of
// the call that started it.
func (fam *family) nameSubs() {
	var spawns []*Event
	for e := range fam.rootEvents() {
		if e.Kind == Spawn && e.worked() && e.Agent.Teammate {
			spawns = append(spawns, e)
		}
	}
	tail := map[string]*file{}
	for _, f := range fam.subs {
		if f.Tail != "" {
			tail[f.Tail] = f
		}
	}
	used := map[*Event]bool{} // calls whose first turn is known by another sign
	for _, f := range fam.subs {
		for _, s := range slices.Backward(spawns) {
			if f.Prev == "" && s.Agent.Name == cmp.Or(f.Member, f.Sender) && !s.At.After(f.First) {
				used[s] = true
				break
			}
		}
	}
	for _, f := range fam.subs { // oldest first: a turn's predecessor has its name already
		id := identity{name: cmp.Or(f.Member, f.Sender), team: f.Team, teammate: f.Member != "" || f.Mailed && !f.Meta}
		if prev := tail[f.Prev]; id.name == "" && prev != nil && prev != f {
			id.name = fam.of[prev].name
		}
		if id.name == "" && f.Prev == "" && f.Mailed {
			id.name = started(f, spawns, used)
		}
		id.name = cmp.Or(id.name, f.Asked)
		fam.of[f] = id
	}
	for _, f := range slices.Backward(fam.subs) {
		if prev := tail[f.Prev]; prev != nil && prev != f && fam.of[prev].name == "" {
			id := fam.of[prev]
			id.name = fam.of[f].name
			fam.of[prev] = id
		}
	}
	for _, f := range fam.subs {
		id := fam.of[f]
		for _, s := range spawns {
			if id.team == "" && s.Agent.Name == id.name && !s.At.After(f.First) {
				id.team = s.Team
			}
		}
		fam.of[f] = id
	}
}

// started is the name that a teammate's first turn was started with: that of the
// oldest call with the prompt that the turn begins with, of those not used up.
func started(f *file, spawns []*Event, used map[*Event]bool) string {
	var first *Event
	for _, e := range f.events {
		if e.Kind == Mail && (first == nil || e.At.Before(first.At)) {
			first = e
		}
	}
	for _, s := range spawns {
		if first != nil && first.Letter.From == cadre.LeadName && first.Letter.Text == s.Agent.Prompt && !used[s] && !s.At.After(first.At) {
			used[s] = true
			return s.Agent.Name
		}
	}
	return ""
}

// Events lists what the transcripts tell about a list, oldest first: a team's by
// its name, a session's own by its id. An empty scope means all. A line that a
// resumed session copied is told once. The events are shared: change nothing.
func (x *Index) Events(scope cadre.Scope) []*Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.eventsOf(scope))
}

func (x *Index) eventsOf(scope cadre.Scope) []*Event {
	v := x.view()
	if all, ok := v.events[scope]; ok {
		return all
	}
	type line struct {
		id string
		at time.Time
	}
	told := map[line]bool{}
	asked := map[string]bool{}
	var all []*Event
	for _, f := range v.files {
		fam := v.families[f.Session]
		if asked[f.Session] || scope != "" && !fam.touches(scope) {
			continue
		}
		asked[f.Session] = true
		x.resolve(fam)
		for _, e := range fam.events {
			l := line{e.Call, e.At}
			if e.Kind == Mail {
				l.id = e.UUID + "/" + e.Call
			}
			if scope != "" && !e.about(scope) || told[l] {
				continue
			}
			told[l] = true
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b *Event) int { return a.when().Compare(b.when()) })
	v.events[scope] = all
	return all
}

// about says whether an event belongs to a list. Only tasks tell apart two lists
// whose names differ in what a team's folder does not keep.
func (e *Event) about(scope cadre.Scope) bool {
	return canonical(e.Scope) == canonical(scope) || e.Task == nil && fold(string(canonical(e.Scope))) == fold(string(canonical(scope)))
}
