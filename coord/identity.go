package coord

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"cadre"
)

// Place is what a process knows about itself when it starts: the only thing that
// a caller's identity is made of.
type Place struct {
	Env      map[string]string
	CWD      string
	Terminal bool // a person could be there: a terminal on standard input and error
	Pipe     bool // an agent is at the other end: not the operator, who would type commands, unless a token says so

	// Ancestors gives the processes that started this one, the nearest first. It is
	// asked only where members run; nil where a system cannot tell.
	Ancestors func() []Ancestor
}

// Ancestor is a process that the caller descends from. The caller is apart if what the
// ancestor started on the way to it is in another session.
type Ancestor struct {
	cadre.Process
	Apart bool
}

// agentMarks are variables that agents set in the shells they start.
var agentMarks = []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CADRE_SESSION", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT", "AIDER"}

const agentPrefix = "CODEX_"

// agentSettings begin as marks do, and are what a person tells an agent.
var agentSettings = []string{"CODEX_HOME", "CODEX_API_KEY"}

// marks says whether a variable is one that an agent sets.
func marks(name string) bool {
	return slices.Contains(agentMarks, name) || strings.HasPrefix(name, agentPrefix) && !slices.Contains(agentSettings, name)
}

// inAgent says whether an agent's shell started this process.
func (p Place) inAgent() bool {
	for k, v := range p.Env {
		if v != "" && marks(k) {
			return true
		}
	}
	return false
}

// session is the id of the agent's session, if it said one.
func (p Place) session() string {
	if id := p.Env["CADRE_SESSION"]; id != "" {
		return id
	}
	return p.Env["CLAUDE_CODE_SESSION_ID"]
}

// Nameless is an environment without anything that says who somebody is or on which
// list it works, for a process that is to be somebody else.
func Nameless(env []string) []string {
	own := []string{"CADRE_TOKEN", "CADRE_SCOPE", "CADRE_TASK", "CADRE_FENCE", "CLAUDE_CODE_TASK_LIST_ID", "CLAUDE_CODE_TEAM_NAME", "CLAUDE_CODE_AGENT_ID", "CLAUDE_CODE_AGENT_TYPE"}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		return slices.Contains(own, k) || marks(k)
	})
}

// Identify says who a local caller is, once per process: the member whose process
// it was started by, else the holder of a token, else an agent's session or a guest,
// else the operator. Nothing that a caller passes as a parameter changes it but as,
// which only the operator may give.
func (c *Coord) Identify(ctx context.Context, p Place, as string) (cadre.Actor, error) {
	actor, err := c.identify(ctx, p)
	if err != nil || as == "" {
		return actor, err
	}
	if actor.Kind != cadre.ActorOperator {
		return actor, cadre.Refuse(cadre.RuleOperator, "", "only the operator may act as somebody else; this is %s: leave --as out", actor)
	}
	name, _, _ := strings.Cut(as, "@")
	return cadre.Actor{Kind: cadre.ActorMember, Name: name, Proof: actor.Proof, Token: actor.Token, By: string(cadre.RoleOperator)}, nil
}

func (c *Coord) identify(ctx context.Context, p Place) (cadre.Actor, error) {
	token := p.Env["CADRE_TOKEN"]
	if member, err := c.inside(ctx, p); err != nil || member != nil {
		if err == nil && token != "" {
			err = c.ownToken(ctx, member, token)
		}
		return actorOf(member), err
	}
	if token != "" {
		return c.byToken(ctx, token)
	}
	if !p.inAgent() && !p.Pipe {
		proof := cadre.ProofOwner
		if p.Terminal {
			proof = cadre.ProofTerminal
		}
		return cadre.Actor{Kind: cadre.ActorOperator, Name: string(cadre.RoleOperator), Proof: proof}, nil
	}
	id := p.session()
	if id == "" && p.Pipe {
		return cadre.Actor{Kind: cadre.ActorGuest, Name: "guest", Session: "guest" + connectionID(), Proof: cadre.ProofEnv}, nil
	}
	if id == "" {
		return cadre.Actor{Kind: cadre.ActorGuest, Name: "guest", Proof: cadre.ProofEnv}, nil
	}
	if _, err := cadre.ParseScope(id); err != nil {
		return cadre.Actor{}, err
	}
	own, err := cadre.ParseScope(id[:min(8, len(id))])
	actor := cadre.Actor{Kind: cadre.ActorSession, Name: "session-" + string(own), Session: id, Proof: cadre.ProofEnv}
	if list := p.Env["CLAUDE_CODE_TASK_LIST_ID"]; list != "" {
		actor.List, err = cadre.ParseScope(list)
	}
	return actor, err
}

// connectionID is something to know a connection by that has nothing else.
func connectionID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// inside gives the member whose process started this one, whatever the environment
// says: any process of the same user can read another's environment, but none can
// choose its parents. What a member leaves whose process was killed becomes its
// supervisor's, until it is ended: it is nobody.
func (c *Coord) inside(ctx context.Context, p Place) (member *cadre.Running, err error) {
	if p.Ancestors == nil {
		return nil, nil
	}
	err = c.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
		if n, err := snap.Count(cadre.Index(cadre.KindRunning), ""); err != nil || n == 0 {
			return err
		}
		for _, a := range p.Ancestors() {
			o, err := snap.Get(cadre.RunningRef(a.Process))
			if err != nil {
				return err
			}
			if r, ok := o.(*cadre.Running); ok && (!r.Supervises() || a.Apart) {
				member = r
				return nil
			}
		}
		return nil
	})
	if err == nil && member != nil && member.Supervises() {
		s := &Session{Coord: c, Door: "cli", Scope: member.Scope}
		s.Posed(ctx, "what a killed member left", "ran a command")
		err = cadre.Refuse(cadre.RuleRead, "", "this was left by a member of %s whose process was killed, and ends soon", member.Scope)
	}
	return member, err
}

// actorOf is a member that is known by its process.
func actorOf(r *cadre.Running) cadre.Actor {
	if r == nil {
		return cadre.Actor{}
	}
	return cadre.Actor{Kind: cadre.ActorMember, Name: r.Member, Scope: r.Scope, Role: cadre.RoleTeammate, Joined: r.Joined, Proof: cadre.ProofProcess}
}

// ownToken refuses a token that is not the member's own, and tells its lead.
func (c *Coord) ownToken(ctx context.Context, r *cadre.Running, token string) error {
	actor, err := c.byToken(ctx, token)
	if err == nil && actor.Kind == cadre.ActorMember && actor.Name == r.Member && actor.Scope == r.Scope {
		return nil
	}
	s := &Session{Coord: c, Door: "cli", Scope: r.Scope}
	s.Posed(ctx, r.Member, "used a token that is not its own")
	return cadre.Refuse(cadre.RuleRead, "unset CADRE_TOKEN", "the token in CADRE_TOKEN is not %s's, and this runs inside %[1]s", r.Member)
}

// Posed records that a member tried what only somebody else may do.
func (s *Session) Posed(ctx context.Context, member, did string) {
	self := *s
	self.Actor = cadre.Self
	if _, _, err := self.change(ctx, "member posed", &cadre.MemberPosed{Name: member, Did: did}); err != nil {
		s.warn("%v", err)
	}
}

// noteOverreach records that a member tried to answer what is not its own to answer.
func (s *Session) noteOverreach(ctx context.Context, name string, verb any, err error) {
	var id cadre.AskID
	switch v := verb.(type) {
	case *cadre.AskApprove:
		id = v.ID
	case *cadre.AskReject:
		id = v.ID
	case *cadre.AskAnswer:
		id = v.ID
	}
	e := cadre.AsError(err)
	if id == "" || e == nil || s.Actor.Kind != cadre.ActorMember || s.Actor.By != "" || e.Code != cadre.CodeForbidden && e.Code != cadre.CodePerson {
		return
	}
	s.Posed(ctx, s.Actor.Name, fmt.Sprintf("tried to %s %s", name, id))
}

// ChooseScope says which list a caller works on: the first of these that is set.
func (c *Coord) ChooseScope(ctx context.Context, p Place, a cadre.Actor, explicit string) (cadre.Scope, error) {
	for _, name := range []string{explicit, p.Env["CADRE_SCOPE"], p.Env["CLAUDE_CODE_TASK_LIST_ID"], string(a.Scope)} {
		if name != "" {
			return cadre.ParseScope(name)
		}
	}
	if a.Kind == cadre.ActorSession {
		if scope, err := c.bound(ctx, cadre.BindSession(a.Session)); err != nil || scope != "" {
			return scope, err
		}
		if scope, err := c.there(ctx, cadre.SessionTeam(a.Session)); err != nil || scope != "" {
			return scope, err // newer clients make it by themselves, and keep their tasks there
		}
	}
	if name := p.Env["CLAUDE_CODE_TEAM_NAME"]; name != "" {
		return cadre.ParseScope(name)
	}
	switch a.Kind {
	case cadre.ActorSession:
		return cadre.OwnScope(a.Session), nil
	case cadre.ActorGuest:
		if !p.Pipe {
			return cadre.DefaultScope, nil
		}
	}
	scope, err := c.bound(ctx, foldersUp(p.CWD)...)
	return cmp.Or(scope, cadre.DefaultScope), err
}

// foldersUp names a folder and its parents as callers, nearest first.
func foldersUp(dir string) []string {
	if dir == "" {
		return nil
	}
	var callers []string
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		callers = append(callers, cadre.BindFolder(dir))
		if dir == filepath.Dir(dir) {
			return callers
		}
	}
}

// bound is the newest scope that the first of these callers was bound to and that
// is still there: somebody else may have deleted it.
func (c *Coord) bound(ctx context.Context, callers ...string) (cadre.Scope, error) {
	var scopes []cadre.Scope
	err := c.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
		for _, caller := range callers {
			b, err := snap.Binding(caller)
			if err != nil {
				return err
			}
			if b != nil {
				for _, scope := range slices.Backward(b.Scopes) {
					scopes = append(scopes, scope)
				}
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	for _, scope := range scopes {
		if scope, err := c.there(ctx, scope, cadre.SessionTeam(string(scope))); err != nil || scope != "" {
			return scope, err // a session's list may have been renamed by its client
		}
	}
	return "", nil
}

// there is the first of some scopes that somebody wrote to and that is not archived.
func (c *Coord) there(ctx context.Context, scopes ...cadre.Scope) (cadre.Scope, error) {
	for _, scope := range scopes {
		if scope == "" {
			continue
		}
		there := false
		err := c.Store.View(ctx, scope, func(snap cadre.Snap) error {
			if there = snap.Head().Seq > 0; there {
				return nil
			}
			team, err := snap.Team() // one that only its client's files tell of is taken in by this
			there = team != nil
			return err
		})
		if err != nil && !errors.Is(err, cadre.ErrNotFound) {
			return "", err
		}
		if there {
			return scope, nil
		}
	}
	return "", nil
}

// bind makes a scope the one that this caller works on, or takes it away again.
// It is a commit of its own: it can be made again from the team itself.
func (s *Session) bind(ctx context.Context, scope cadre.Scope, undo bool) error {
	caller := cadre.BindFolder(filepath.Clean(s.CWD))
	switch s.Actor.Kind {
	case cadre.ActorSession:
		caller = cadre.BindSession(s.Actor.Session)
	case cadre.ActorMember, cadre.ActorGuest, cadre.ActorReader:
		return nil
	}
	_, _, err := s.on(cadre.Host).change(ctx, "bind", &cadre.Bind{Caller: caller, Scope: scope, Undo: undo})
	return err
}

// ownScopes gives the scopes that this caller might have meant: every live one
// for the operator, those it is bound to for a session.
func (s *Session) ownScopes(ctx context.Context) ([]cadre.Scope, error) {
	var out []cadre.Scope
	switch s.Actor.Kind {
	case cadre.ActorOperator:
		for info, err := range s.Store.Scopes(ctx) {
			if err != nil {
				return nil, err
			}
			if info.Where == cadre.Live && info.Scope != cadre.Host {
				out = append(out, info.Scope)
			}
		}
	case cadre.ActorSession:
		err := s.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
			b, err := snap.Binding(cadre.BindSession(s.Actor.Session))
			if b != nil {
				out = append(out, b.Scopes...)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, cadre.OwnScope(s.Actor.Session))
		if team := cadre.SessionTeam(s.Actor.Session); team != "" {
			out = append(out, team)
		}
	}
	const most = 50
	return out[:min(most, len(out))], nil
}

// taskIDIn finds the id that a verb about one task was called with.
func taskIDIn(verb any) cadre.TaskID {
	v := reflect.Indirect(reflect.ValueOf(verb))
	if v.Kind() != reflect.Struct {
		return ""
	}
	field := v.FieldByName("ID")
	if !field.IsValid() {
		return ""
	}
	id, _ := reflect.TypeAssert[cadre.TaskID](field)
	return id
}
