package cadre

import (
	"fmt"
	"slices"
	"strings"
)

// rights is what a caller may do in a scope.
type rights int

const (
	nothing rights = iota // not even look
	reads                 // look
	works                 // a teammate: claim, and change what it owns or made
	leads                 // everything in this scope
)

// identify says who the caller is in this scope, from what the door proved.
func (d *draft) identify() (me string, r rights, joins *Member, err error) {
	a := d.cmd.Actor
	switch a.Kind {
	case ActorCadre, ActorPolicy, ActorExternal:
		return a.Name, leads, nil, nil
	case ActorGuest:
		return d.identifyGuest(a)
	case ActorReader:
		if a.Scope != "" && a.Scope != d.Scope() {
			return a.Name, nothing, nil, nil
		}
		return a.Name, reads, nil, nil
	case ActorOperator:
		team, err := d.Team()
		if team != nil {
			return LeadName, leads, nil, nil // in a team the operator is its lead, whoever made it
		}
		return string(RoleOperator), leads, nil, err
	case ActorSession:
		return d.identifySession(a)
	}
	if a.By == "" && a.Scope != d.Scope() {
		return a.Name, nothing, nil, nil
	}
	name, err := d.memberName(a.Name)
	if err != nil {
		return "", nothing, nil, err
	}
	m, err := d.Member(name)
	if err != nil {
		return "", nothing, nil, err
	}
	switch {
	case m != nil && m.State != StateDeparted && (a.Joined == 0 || a.Joined == m.N):
		return name, m.rights(), nil, nil
	case a.By == "":
		return name, nothing, nil, nil
	}
	if err := CheckMemberName(name); err != nil {
		return "", nothing, nil, err
	}
	return name, works, &Member{Name: name, Role: RoleTeammate, Backend: BackendHand, State: StateIdle, Evidence: "driven by hand"}, nil
}

// identifySession: a session leads its own list and the teams it created, works
// where it joined and on the list that it was started to share, and may look
// everywhere.
func (d *draft) identifySession(a Actor) (string, rights, *Member, error) {
	team, err := d.Team()
	if err != nil {
		return "", nothing, nil, err
	}
	if team == nil && (d.Scope() == OwnScope(a.Session) || d.Scope() == SessionTeam(a.Session)) {
		return a.Name, leads, nil, nil
	}
	if team != nil && !team.NoLead && team.Creator.Kind == ActorSession && team.Creator.Session == a.Session {
		return LeadName, leads, nil, nil
	}
	for m, err := range scan[*Member](d.Snap, IndexSession, prefixKey(a.Session), "") {
		if err != nil {
			return "", nothing, nil, err
		}
		return m.Name, m.rights(), nil, nil
	}
	if team == nil && a.List == d.Scope() && !isUUID(string(a.List)) {
		return a.Name, works, nil, nil
	}
	return a.Name, reads, nil, nil
}

// freeName is a name that nobody has or had: the wanted one, or that with a number.
func (d *draft) freeName(wanted string) (string, error) {
	all, err := collect(d.Members())
	if err != nil {
		return "", err
	}
	team, err := d.Team()
	if err != nil {
		return "", err
	}
	taken := func(name string) bool {
		return team != nil && strings.EqualFold(team.Creator.Name, name) || slices.ContainsFunc(all, func(m *Member) bool { return strings.EqualFold(m.Name, name) })
	}
	name := wanted
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s-%d", wanted, n)
	}
	return name, nil
}

// OwnScope is a session's own list: its id, as clients do it. An id that is no
// UUID could be the name of anything, so its list gets a name that says what it is.
func OwnScope(session string) Scope {
	if isUUID(session) {
		return Scope(session)
	}
	return Scope("own-" + strings.Map(folderRune, clip(session, maxScope/2)))
}

// isUUID says whether a text is what clients name their sessions with.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
		if dash != (r == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// SessionTeam is the team, and the list, that newer clients give a session; empty
// where the id is none of theirs.
func SessionTeam(session string) Scope {
	if !isUUID(session) {
		return ""
	}
	return Scope("session-" + session[:8])
}

func (m *Member) rights() rights {
	if m.Role == RoleLead {
		return leads
	}
	return works
}

// memberName makes a member's name of what a caller wrote: name@team means the
// name, and the operator and a team's creator mean its lead.
func (d *draft) memberName(s string) (string, error) {
	name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(s, "@")), "@")
	if name == "" {
		return "", refuse(RuleName, "a member's name is missing").hint("cadre member list")
	}
	if len(name) > maxScope {
		return "", refuse(RuleName, "%q cannot be a member's name", clip(name, 40)).hint("cadre member list")
	}
	team, err := d.Team()
	if err != nil {
		return "", err
	}
	if team == nil || name == LeadName {
		return name, nil
	}
	if m, err := d.Member(name); err != nil || m != nil {
		return name, err
	}
	if strings.EqualFold(name, string(RoleOperator)) || strings.EqualFold(name, team.Creator.Name) {
		return LeadName, nil
	}
	for m, err := range d.Members() { // Bob is bob
		if err != nil {
			return "", err
		}
		if strings.EqualFold(m.Name, name) {
			return m.Name, nil
		}
	}
	return name, nil
}

// ownerName checks a name that a task is to belong to. It need not have joined yet.
func (d *draft) ownerName(s string) (string, error) {
	name, err := d.memberName(s)
	if err != nil || name == LeadName || name == string(RoleOperator) {
		return name, err
	}
	if m, err := d.Member(name); err != nil || m != nil {
		return name, err
	}
	return name, CheckMemberName(name)
}

// needMember refuses callers that may only look.
func (d *draft) needMember() error {
	if d.rights >= works {
		return nil
	}
	if d.cmd.Actor.Kind == ActorReader {
		return refuse(RuleMember, "%s may look and do nothing else", d.cmd.Actor).hint("as the operator: cadre token create --role member --name NAME")
	}
	refusal := refuse(RuleMember, "%s is not a member of %s and may only look", d.cmd.Actor, d.Scope())
	team, err := d.Team()
	if err != nil {
		return err
	}
	if team == nil {
		return refusal.hint("cadre team list, then cadre team join TEAM --name NAME")
	}
	return refusal.hint("cadre team join %s --name NAME", d.Scope())
}

func (d *draft) needLead(what string) error {
	if d.rights < leads {
		return refuse(RuleLead, "only the lead or the operator may %s", what).hint(`cadre msg send team-lead "please %s"`, what)
	}
	return nil
}

// checkRun looks at a command that a task is given.
func checkRun(command string) error { return checkText("run command", command, MaxMetadata) }

// mayRun refuses a task's command of somebody who came with nothing but a member's
// token: it may be far away, and is not trusted with the machine that would run it.
func (d *draft) mayRun(command string) error {
	if a := d.cmd.Actor; command != "" && a.Kind == ActorMember && a.Proof == ProofToken && a.By == "" && d.rights < leads {
		return refuse(RuleLead, "only the lead, the operator or somebody on this machine may give a task a command to run").hint(`cadre msg send team-lead "please run …"`)
	}
	return nil
}

// needAuthor is for what belongs to the plan: subject, edges, owner, deletion.
func (d *draft) needAuthor(t *Task, what string) error {
	if d.rights >= leads || (d.rights >= works && t.Author == d.me) {
		return nil
	}
	return refuse(RuleAuthor, "only %s, the lead or the operator may %s task %s", t.Author, what, t.ID).
		hint(`cadre task comment %s "…"`, t.ID)
}

// needOwner is for what belongs to the work: status, result, metadata. While a
// task has no owner any member may.
func (d *draft) needOwner(t *Task, what string) error {
	if d.rights >= leads || (d.rights >= works && (t.Owner == d.me || t.Owner == "" || t.Author == d.me)) {
		return nil
	}
	if err := d.needMember(); err != nil {
		return err
	}
	return refuse(RuleOwner, "task %s belongs to %s: only %s, its author, the lead or the operator may %s it", t.ID, t.Owner, t.Owner, what).
		hint(`cadre msg send %s "…"`, t.Owner)
}

// mayForce says whether the caller may override a rule: a lead as itself, the
// operator only as a person who is provably there.
func (d *draft) mayForce() error {
	if err := d.needLead("force this"); err != nil {
		return err
	}
	if d.cmd.Actor.operates() && !d.cmd.Actor.Person() {
		return refuse(RulePerson, "forcing a rule as the operator needs a person: a terminal, or an operator token").
			hint("type it at a terminal, or with an operator token in CADRE_TOKEN")
	}
	return nil
}

// near gives the members whom somebody may have meant who wrote a name that nobody
// has: at most two letters or a third of it are wrong.
func (d *draft) near(name string) ([]string, error) {
	type candidate struct {
		name string
		far  int
	}
	var all []candidate
	for m, err := range d.Members() {
		if err != nil {
			return nil, err
		}
		if far := Distance(strings.ToLower(name), strings.ToLower(m.Name)); m.State != StateDeparted && far <= max(2, len(name)/3) {
			all = append(all, candidate{m.Name, far})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.far - b.far })
	names := make([]string, 0, 3)
	for _, c := range all[:min(3, len(all))] {
		names = append(names, c.name)
	}
	return names, nil
}
