package coord

import (
	"context"
	"time"

	"cadre"
)

// GC finds what nobody needs any more. It only says so, unless told to act.
type GC struct {
	Apply bool          `json:"apply,omitempty" help:"do it; without, it only says what it would do"`
	Older time.Duration `json:"older,omitempty" help:"only what nobody touched for so long" default:"720h"`
	Erase bool          `json:"erase,omitempty" help:"erase archived teams that are old enough, for good"`
}

// GCLine is one thing that gc would do, or did.
type GCLine struct {
	Scope  cadre.Scope `json:"scope"`
	Why    string      `json:"why"`
	Action string      `json:"action"`
	Done   bool        `json:"done"`
}

// Run looks at every scope.
func (v *GC) Run(ctx context.Context, s *Session) (any, error) {
	if s.Actor.Kind != cadre.ActorOperator {
		return nil, cadre.Refuse(cadre.RuleOperator, askOperator("gc"), "only the operator may collect what is left over")
	}
	out := []*GCLine{}
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return nil, err
		}
		if info.Scope == cadre.Host || info.Scope == cadre.DefaultScope {
			continue
		}
		line, err := v.consider(ctx, s.on(info.Scope), info)
		if err != nil {
			return nil, err
		}
		if line == nil {
			continue
		}
		out = append(out, line)
	}
	for _, line := range out {
		if v.Apply {
			if err := v.act(ctx, s.on(line.Scope), line); err != nil {
				return nil, err
			}
		}
	}
	left, err := v.leftovers(ctx, s)
	return append(out, left...), err
}

// leftovers are what crashes left of members, whatever its age.
func (v *GC) leftovers(ctx context.Context, s *Session) ([]*GCLine, error) {
	if s.Runtime == nil {
		return nil, nil
	}
	left, err := s.Runtime.Leftovers(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []*GCLine
	for _, l := range left {
		if v.Apply && l.Remove != nil {
			if err := l.Remove(ctx); err != nil {
				return nil, err
			}
			l.Done = true
		}
		out = append(out, &l.GCLine)
	}
	return out, nil
}

// consider says what should be done with one scope, nil for nothing.
func (v *GC) consider(ctx context.Context, s *Session, info cadre.ScopeInfo) (*GCLine, error) {
	var last time.Time
	for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{Seq: info.Head.Seq - 1}, false) {
		if err != nil {
			return nil, err
		}
		last = e.Time
	}
	old := s.Now().Wall.Sub(last) >= v.Older
	if info.Where == cadre.Archive {
		if v.Erase && old {
			return &GCLine{Scope: s.Scope, Why: "archived and untouched since " + last.Format(time.DateOnly), Action: "erase"}, nil
		}
		return nil, nil
	}
	var line *GCLine
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		team, err := snap.Team()
		if err != nil {
			return err
		}
		open := 0
		for _, st := range []cadre.Status{cadre.Pending, cadre.InProgress} {
			for _, err := range snap.Tasks(cadre.TaskQuery{Index: cadre.IndexStatus, Key: string(st)}) {
				if err != nil {
					return err
				}
				open++
				break
			}
		}
		if team != nil {
			if _, err := (&cadre.TeamClose{}).Decide(snap, s.command("gc")); err != nil {
				return nil // somebody is still at work there
			}
		}
		switch {
		case !old:
		case team != nil && team.NoLead:
			line = &GCLine{Scope: s.Scope, Why: "its lead is gone since " + last.Format(time.DateOnly), Action: "archive"}
		case open == 0:
			line = &GCLine{Scope: s.Scope, Why: "nothing is open and nobody touched it since " + last.Format(time.DateOnly), Action: "archive"}
		}
		return nil
	})
	return line, err
}

func (v *GC) act(ctx context.Context, s *Session, line *GCLine) (err error) {
	if line.Action == "erase" {
		err = s.erase(ctx, "gc")
	} else {
		_, err = s.Store.Move(ctx, s.Scope, s.command("gc"), cadre.Dest{Where: cadre.Archive})
	}
	line.Done = err == nil
	return err
}
