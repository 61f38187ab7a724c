package cli

import (
	"context"
	"os"
	"path/filepath"

	"cadre"
	"cadre/claudedir"
	"cadre/coord"
)

// takeOver is the import of a Claude Code folder from another place: a backup,
// another machine. That folder is only read; what comes of it stands in our own.
type takeOver struct {
	*program
	dir string
}

// Run takes over every team and list whose name is free here.
func (v *takeOver) Run(ctx context.Context, s *coord.Session) (any, error) {
	if s.Actor.Kind != cadre.ActorOperator {
		return nil, cadre.Refuse(cadre.RuleOperator, "", "only the operator may take over a folder of Claude Code's")
	}
	dir, err := v.folder()
	if err != nil {
		return nil, err
	}
	known, err := liveScopes(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	memory, err := os.MkdirTemp("", "cadre-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(memory)
	inner := s.Store
	if around, ok := inner.(interface{ Inner() cadre.Store }); ok {
		inner = around.Inner()
	}
	theirs := claudedir.New(inner, claudedir.Options{
		Dir: dir, Memory: memory, Now: v.now, Warn: v.warn, LookOnly: true, Who: &transcripts{program: v.program, dir: dir},
	})
	for scope, err := range theirs.Scopes(ctx) { // looking is taking in
		if err != nil {
			return nil, err
		}
		if theirs.Has(scope.Scope) && known[scope.Scope] {
			v.warn("%s is a name that is taken here, so theirs was left out", scope.Scope)
		}
	}
	lines, err := (&coord.TeamList{All: true}).Run(ctx, s)
	if err != nil {
		return nil, err
	}
	taken := []*coord.TeamLine{}
	for _, l := range lines.([]*coord.TeamLine) {
		if l.Where == cadre.Live && !known[l.Scope] {
			taken = append(taken, l)
		}
	}
	return taken, nil
}

// folder checks that there is something to take over.
func (v *takeOver) folder() (string, error) {
	dir, err := filepath.Abs(v.dir)
	if err != nil {
		return "", err
	}
	own, err := v.claudeDir()
	if err != nil {
		return "", err
	}
	if sameFolder(dir, own) {
		return "", usage("cadre team list", "%s is Claude Code's own folder here: its teams appear by themselves", dir)
	}
	for _, part := range []string{"tasks", "teams"} {
		if info, err := os.Stat(filepath.Join(dir, part)); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", cadre.Refuse(cadre.RuleMissing, "ls "+dir, "%s is no Claude Code folder: it has neither tasks nor teams", dir)
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func liveScopes(ctx context.Context, store cadre.Store) (map[cadre.Scope]bool, error) {
	known := map[cadre.Scope]bool{}
	for info, err := range store.Scopes(ctx) {
		if err != nil {
			return nil, err
		}
		known[info.Scope] = true
	}
	return known, nil
}
