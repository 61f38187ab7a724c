// Package coord carries out verbs: it finds out who calls and on which list,
// has the rule book decide, runs gate hooks outside every lock, has it decide
// again on what is true by then, and has the store append the events. Every door
// calls it and has no rules of its own.
//
// A Coord may be used by any number of goroutines.
package coord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"

	"cadre"
)

// Coord is the way to a store.
type Coord struct {
	Store cadre.Store
	Now   func() cadre.Time
	Hooks *Hooks                           // the user's own; nil runs none
	Warn  func(format string, args ...any) // talk that refuses nothing

	Transcripts Transcripts // nil: nothing is known from them
	Terminal    io.Writer   // a person's; nil: there is none
	Env         []string    // for commands that a person names
	ClaudeDir   string      // where the user's own settings are; empty: no project's are looked for
	Runtime     Runtime     // nil: members cannot be run
	Fresh       bool        // there was no state before this process came
	Claim       Claim       // the work that this process is a part of
	Bearers     bool        // callers send their token with each request

	told  sync.Map // what was said of hooks that are not run
	shown sync.Map // the hashes of tokens that callers showed, by what people call them
}

// Claim is one taking of a task. What a command says of its own task counts only for as
// long as that holds.
type Claim struct {
	Task  cadre.TaskID
	Fence uint64
}

// ClaimOf reads the claim under which a command runs from its environment.
func ClaimOf(env map[string]string) (c Claim) {
	if fence, err := strconv.ParseUint(env["CADRE_FENCE"], 10, 64); err == nil {
		c = Claim{cadre.TaskID(env["CADRE_TASK"]), fence}
	}
	return c
}

// bind has a verb about the claim's task hold only under that claim.
func (c Claim) bind(verb any) {
	switch v := verb.(type) {
	case *cadre.TaskDone:
		c.set(v.ID, &v.Fence)
	case *cadre.TaskRelease:
		c.set(v.ID, &v.Fence)
	case *cadre.TaskUpdate:
		c.set(v.ID, &v.Fence)
	}
}

func (c Claim) set(id cadre.TaskID, fence *uint64) {
	if *fence == 0 && id == c.Task {
		*fence = c.Fence
	}
}

// Session is one caller at one door, working on one scope.
type Session struct {
	*Coord
	Actor cadre.Actor
	Door  string
	Scope cadre.Scope
	CWD   string
}

// Procedure is a verb that is made of several commands or looks at several
// scopes. Whatever it changes it changes through Do.
type Procedure interface {
	Run(context.Context, *Session) (any, error)
}

// Do carries out one verb under its name and answers what the caller is told.
func (s *Session) Do(ctx context.Context, name string, verb any) (any, error) {
	s, err := s.scopedTo(verb)
	if err != nil {
		return nil, err
	}
	if err := s.stillValid(ctx); err != nil {
		return nil, err
	}
	s.Claim.bind(verb)
	switch v := verb.(type) {
	case Procedure:
		return v.Run(ctx, s)
	case cadre.Change:
		_, answer, err := s.change(ctx, name, v)
		s.noteOverreach(ctx, name, verb, err)
		return answer, s.elsewhere(ctx, err, verb)
	case cadre.Query:
		var answer any
		seen := false
		look := func(snap cadre.Snap) (err error) {
			seen = true
			answer, err = v.Look(snap, s.command(name))
			return err
		}
		err := s.view(ctx, look)
		if !seen && errors.Is(err, cadre.ErrNotFound) {
			err = s.lookInArchive(ctx, look, err)
		}
		return answer, s.elsewhere(ctx, err, verb)
	}
	return nil, fmt.Errorf("%s is neither a change nor a query", name)
}

// view shows the scope. Whoever looks where an ask waited too long has the team's
// policy answer it first; and where a guest is gone, has what it held given back, since
// nobody else may be there to do it. Where that cannot be written, on a full disk, one
// can still look.
func (s *Session) view(ctx context.Context, show func(cadre.Snap) error) error {
	late, lost := false, false
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) (err error) {
		if late, err = snap.LateAsks(s.Now().Wall); err != nil {
			return err
		}
		if lost, err = snap.GuestsLost(s.Now()); err != nil || late || lost {
			return err
		}
		return show(snap)
	})
	if err != nil || !late && !lost {
		return err
	}
	if late {
		err = s.expireAsks(ctx)
	}
	if err == nil && lost {
		self := *s
		self.Actor = cadre.Self
		_, _, err = self.change(ctx, "leases expire", &cadre.LeasesExpire{Guests: true})
	}
	if err != nil {
		s.warn("what is overdue stays as it is: %v", err)
	}
	return s.Store.View(ctx, s.Scope, show)
}

// expireAsks has the policy of the scope's team answer what waited too long.
func (s *Session) expireAsks(ctx context.Context) error {
	c := s.command("ask expire")
	_, err := s.Store.Update(ctx, s.Scope, c, func(snap cadre.Snap) ([]cadre.Event, error) { return (&cadre.AsksExpire{}).Decide(snap, c) })
	return err
}

// lookInArchive shows an archived scope as it was left; for whom there is none, it
// is the error that said so.
func (s *Session) lookInArchive(ctx context.Context, look func(cadre.Snap) error, missing error) error {
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return err
		}
		if info.Scope == s.Scope && info.Where == cadre.Archive {
			if err := s.mayRestore(ctx, info.Head.Seq); err != nil {
				return err
			}
			s.warn("%s is archived, and shown as it was left; to work on it again: cadre team restore %[1]s", s.Scope)
			return s.Store.At(ctx, s.Scope, info.Head.Seq, look)
		}
	}
	return missing
}

// scopedTo lets a verb's own parameter choose the scope.
func (s *Session) scopedTo(verb any) (*Session, error) {
	v, ok := verb.(cadre.Scoped)
	if !ok || v.ScopeName() == "" {
		return s, nil
	}
	scope, err := cadre.ParseScope(v.ScopeName())
	if err != nil {
		return nil, err
	}
	return s.on(scope), nil
}

// on is the same caller on another scope.
func (s *Session) on(scope cadre.Scope) *Session {
	other := *s
	other.Scope = scope
	return &other
}

func (s *Session) command(verb string) cadre.Command {
	return cadre.Command{ID: newID(), Actor: s.Actor, Door: s.Door, Verb: verb, Now: s.Now()}
}

// newID is a command id that nobody else has. Nobody needs to be kept from
// guessing it, and the system's generator costs a process a page of its own.
func newID() cadre.CommandID {
	return cadre.CommandID(fmt.Sprintf("%s%016x%08x", cadre.DrawnMark, rand.Uint64(), rand.Uint32()))
}

// keyedID is the command id of a caller's own key: the same call again, the same id.
func keyedID(s *Session, verb, key string) cadre.CommandID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%s", s.Actor.Kind, s.Actor.Name, s.Actor.Session, verb, key))
	return cadre.CommandID("key-" + hex.EncodeToString(sum[:16]))
}

// errGate means that what a hook agreed to is not what would be committed now.
var errGate = errors.New("the task changed while its hook ran")

// change decides, gates, decides again and appends.
func (s *Session) change(ctx context.Context, name string, v cadre.Change) (cadre.Receipt, any, error) {
	c := s.command(name)
	if k, ok := v.(cadre.Keyed); ok && k.CommandKey() != "" {
		c.ID = keyedID(s, name, k.CommandKey())
	}
	if u, ok := v.(*undoing); ok {
		c.ID = u.CommandID()
	}
	if r, ok := v.(cadre.ReadOnly); ok && r.ReadOnly() {
		answer, err := s.lookOnly(ctx, c, v)
		return cadre.Receipt{}, answer, err
	}
	said := &reply{}
	receipt, err := s.commit(ctx, c, v, said)
	if err != nil {
		return receipt, nil, err
	}
	if lost := receipt.Lost(); lost != "" {
		s.warn("%s: %s", s.Scope, lost)
	}
	if said.made && !receipt.Replayed {
		return receipt, said.answer, nil
	}
	err = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		said.answer, err = v.Answer(snap, c, receipt)
		return err
	})
	return receipt, said.answer, err
}

// reply is what a caller will be told.
type reply struct {
	answer any
	made   bool
}

// decide decides and makes the answer of the scope as the command leaves it: what
// others do a moment later is not part of it. A command without an answer is not
// committed.
func (r *reply) decide(snap cadre.Snap, c cadre.Command, v cadre.Change) ([]cadre.Event, error) {
	events, err := v.Decide(snap, c)
	if err != nil {
		return nil, err
	}
	after := cadre.Overlay(snap, events)
	if r.answer, err = v.Answer(after, c, cadre.Receipt{Head: after.Head(), Events: events}); err != nil {
		return nil, err
	}
	r.made = true
	return events, nil
}

// lookOnly answers a change that, as it was called, writes nothing.
func (s *Session) lookOnly(ctx context.Context, c cadre.Command, v cadre.Change) (answer any, err error) {
	err = s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		if _, err := v.Decide(snap, c); err != nil {
			return err
		}
		answer, err = v.Answer(snap, c, cadre.Receipt{Head: snap.Head()})
		return err
	})
	return answer, err
}

// commit appends what the verb decides, once its gates agreed to exactly that.
func (s *Session) commit(ctx context.Context, c cadre.Command, v cadre.Change, said *reply) (cadre.Receipt, error) {
	if s.Hooks.empty() && s.projectNear(s.CWD) == "" {
		receipt, err := s.Store.Update(ctx, s.Scope, c, func(snap cadre.Snap) ([]cadre.Event, error) {
			events, err := said.decide(snap, c, v)
			if err == nil && len(gatesOf(events)) > 0 {
				err = s.noMoreHooks(snap)
			}
			return events, err
		})
		if !errors.Is(err, errGate) {
			return receipt, err
		}
	}
	if receipt, done, err := s.replay(ctx, c, v); done || err != nil {
		return receipt, err
	}
	agreed := map[gate]bool{}
	for range mostGateRounds {
		var events []cadre.Event
		hooks, asks := s.Hooks, *s
		err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) (err error) {
			if events, err = v.Decide(snap, c); err == nil {
				hooks, err = s.allHooks(snap)
			}
			if err == nil {
				asks.CWD, err = s.hookFolder(snap)
			}
			return err
		})
		if err != nil {
			return cadre.Receipt{}, err
		}
		gates := gatesOf(events)
		if hooks, err = asks.withProject(ctx, hooks, gates); err != nil {
			return cadre.Receipt{}, err
		}
		for _, g := range gates {
			if err := asks.pass(ctx, g, hooks, agreed); err != nil {
				return cadre.Receipt{}, err
			}
		}
		c.Now = s.Now() // hooks take their time
		receipt, err := s.Store.Update(ctx, s.Scope, c, func(snap cadre.Snap) ([]cadre.Event, error) {
			events, err := said.decide(snap, c, v)
			for _, g := range gatesOf(events) {
				if !agreed[g.gate] {
					return nil, errGate
				}
			}
			return events, err
		})
		if !errors.Is(err, errGate) {
			return receipt, err
		}
		if err := ctx.Err(); err != nil {
			return cadre.Receipt{}, err
		}
	}
	return cadre.Receipt{}, cadre.Refuse(cadre.RuleChanged, "", "the task was changed each time while its hook ran, %d times: try again", mostGateRounds)
}

// mostGateRounds is how often hooks are asked again because what they agreed to
// was changed meanwhile.
const mostGateRounds = 5

// replay gives the receipt of a keyed command that was committed before: its
// hooks agreed then and are not asked again.
func (s *Session) replay(ctx context.Context, c cadre.Command, v cadre.Change) (cadre.Receipt, bool, error) {
	if k, ok := v.(cadre.Keyed); !ok || k.CommandKey() == "" {
		return cadre.Receipt{}, false, nil
	}
	receipt, err := s.Store.Update(ctx, s.Scope, c, func(cadre.Snap) ([]cadre.Event, error) { return nil, errGate })
	if errors.Is(err, errGate) {
		return cadre.Receipt{}, false, nil
	}
	return receipt, err == nil, err
}

// elsewhere adds to "no such task" where this caller has a task of that id.
func (s *Session) elsewhere(ctx context.Context, err error, verb any) error {
	e := cadre.AsError(err)
	if e == nil || e.Rule != cadre.RuleTaskMissing {
		return err
	}
	id := taskIDIn(verb)
	if id == "" {
		return err
	}
	scopes, listErr := s.ownScopes(ctx)
	if listErr != nil {
		return err
	}
	for _, scope := range scopes {
		if scope == s.Scope {
			continue
		}
		found := false
		viewErr := s.Store.View(ctx, scope, func(snap cadre.Snap) error {
			t, err := snap.Task(id)
			found = t != nil && t.Status != cadre.Deleted
			return err
		})
		if viewErr == nil && found {
			hinted := *e
			hinted.Message += fmt.Sprintf("; %s has one", scope)
			hinted.Hint = fmt.Sprintf("cadre task show %s --scope %s", id, scope)
			return &hinted
		}
	}
	return err
}
