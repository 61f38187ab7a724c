package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/coord"
	"cadre/internal/worktree"
)

func (r supervisors) git() worktree.Git { return worktree.Git{Env: r.environ} }

// trees is where the worktrees of a team's members are.
func (r supervisors) trees(scope cadre.Scope) (string, error) {
	state, err := r.stateDir()
	return filepath.Join(state, "worktrees", url.PathEscape(string(scope))), err
}

// Isolate makes a worktree, on a branch that is called after the team and the member.
func (r supervisors) Isolate(ctx context.Context, s *coord.Session, v *cadre.MemberSpawn) error {
	dir, err := r.trees(s.Scope)
	if err != nil {
		return err
	}
	t, folder, err := r.git().Add(ctx, v.Folder, dir, "cadre/"+string(s.Scope)+"/", v.Name)
	if err != nil {
		return cadre.Fault(err, "cadre member spawn "+v.Name+" --cwd FOLDER --isolation worktree", "%s cannot have a worktree of its own", v.Name)
	}
	v.Worktree, v.Folder = &cadre.Worktree{Path: t.Path, Branch: t.Branch, Base: t.Base, Repo: t.Repo}, folder
	return nil
}

// Restore makes a worktree again.
func (r supervisors) Restore(ctx context.Context, t *cadre.Worktree) error {
	return r.git().Restore(ctx, &worktree.Tree{Path: t.Path, Branch: t.Branch, Base: t.Base, Repo: t.Repo})
}

// Discard takes a worktree away; one with work in it stays, and is told of.
func (r supervisors) Discard(ctx context.Context, path string) error {
	t, err := worktree.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dirty, err := r.git().Remove(ctx, t)
	if dirty != "" {
		r.warn("%s stays: %s", path, dirty)
	}
	return err
}

// Clear waits until the team's supervisor has ended, and takes away what is left.
func (r supervisors) Clear(ctx context.Context, s *coord.Session, erased bool) error {
	state, err := r.stateDir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(state, "supervisors", url.PathEscape(string(s.Scope))+".lock")); errors.Is(err, fs.ErrNotExist) {
		return nil // it never had a supervisor
	}
	lock, err := r.lock(s.Scope)
	if err != nil {
		return err
	}
	defer lock.Close()
	short, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := lock.Acquire(short); err != nil {
		return cadre.Fault(err, "cadre gc", "the members of %s still run", s.Scope)
	}
	if err := agent.NewSupervisor(s, agent.Options{}).Sweep(ctx); err != nil {
		return err
	}
	dir, err := r.trees(s.Scope)
	if err != nil {
		return err
	}
	trees, err := worktree.List(dir)
	for _, t := range trees {
		err = errors.Join(err, r.Discard(ctx, t.Path))
	}
	_ = os.Remove(dir) // only where it is empty
	if erased {
		err = errors.Join(err, r.removeOutput(s.Scope))
	}
	return err
}

// removeOutput takes away what is kept of what a team's members and its supervisor said.
func (r supervisors) removeOutput(scope cadre.Scope) error {
	output, err := r.file(scope, "")
	if err != nil {
		return err
	}
	log, err := r.file(scope, ".log")
	if err == nil {
		err = os.RemoveAll(output)
	}
	if rerr := os.Remove(log); err == nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = rerr
	}
	return err
}

// Leftovers finds processes and their records without a supervisor, worktrees of members
// that are gone, and the output of teams that were erased.
func (r supervisors) Leftovers(ctx context.Context, s *coord.Session) ([]coord.Leftover, error) {
	known := map[cadre.Scope]cadre.Where{}
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return nil, err
		}
		known[info.Scope] = info.Where
	}
	out, err := r.leftProcesses(ctx, s)
	if err != nil {
		return nil, err
	}
	trees, err := r.leftTrees(ctx, s, known)
	if err != nil {
		return nil, err
	}
	outputs, err := r.leftOutput(known)
	return append(append(out, trees...), outputs...), err
}

// leftProcesses are those that Cadre started and that no supervisor looks after.
func (r supervisors) leftProcesses(ctx context.Context, s *coord.Session) (out []coord.Leftover, err error) {
	var all []*cadre.Running
	err = s.Store.View(ctx, cadre.Host, func(snap cadre.Snap) (err error) {
		all, err = snap.AllProcesses()
		return err
	})
	for _, running := range all {
		free, err := r.free(running.Scope)
		if err != nil {
			return nil, err
		}
		if !free {
			continue
		}
		why := fmt.Sprintf("process %d of %s has ended, and nothing noted it", running.Process.PID, running.Member)
		if running.Supervises() {
			why = fmt.Sprintf("its supervisor, process %d, has ended, and nothing noted it", running.Process.PID)
		} else if n := len(agent.Left(running.Process)); n > 0 {
			why = fmt.Sprintf("%d processes of %s run and no supervisor does", n, running.Member)
		}
		out = append(out, coord.Leftover{
			GCLine: coord.GCLine{Scope: running.Scope, Why: why, Action: "end"},
			Remove: func(ctx context.Context) error { return r.endLeft(ctx, s, running.Scope) },
		})
	}
	return out, err
}

// endLeft ends what is left of a team's members, unless a supervisor came meanwhile, and
// notes that they are dead.
func (r supervisors) endLeft(ctx context.Context, s *coord.Session, scope cadre.Scope) error {
	lock, err := r.lock(scope)
	if err != nil {
		return err
	}
	defer lock.Close()
	if got, err := lock.TryAcquire(); err != nil || !got {
		return err
	}
	team := *s
	team.Scope = scope
	return agent.NewSupervisor(&team, agent.Options{}).Bury(ctx)
}

// Recover notes that a team's members wait for a supervisor, where they ran and none does.
func (r supervisors) Recover(ctx context.Context, s *coord.Session) (bool, error) {
	ran := false
	err := s.Store.View(ctx, s.Scope, func(snap cadre.Snap) error {
		for m, err := range snap.Members() {
			if err != nil {
				return err
			}
			ran = ran || m.Backend.Supervised() && m.Process != nil
		}
		return nil
	})
	if err != nil || !ran {
		return false, err
	}
	lock, err := r.lock(s.Scope)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if got, err := lock.TryAcquire(); err != nil || !got {
		return false, err
	}
	return agent.NewSupervisor(s, agent.Options{}).Recover(ctx)
}

// leftTrees are worktrees that belong to no member that could go on in them.
func (r supervisors) leftTrees(ctx context.Context, s *coord.Session, known map[cadre.Scope]cadre.Where) (out []coord.Leftover, err error) {
	state, err := r.stateDir()
	if err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob(filepath.Join(state, "worktrees", "*"))
	for _, dir := range dirs {
		name, err := url.PathUnescape(filepath.Base(dir))
		if err != nil {
			continue // nothing that Cadre made
		}
		scope := cadre.Scope(name)
		used, err := usedTrees(ctx, s, scope, known[scope])
		if err != nil {
			return nil, err
		}
		trees, err := worktree.List(dir)
		if err != nil {
			return nil, err
		}
		for _, t := range trees {
			if used[t.Path] {
				continue
			}
			line := coord.GCLine{Scope: scope, Why: "nobody works in the worktree " + t.Path, Action: "remove"}
			left := coord.Leftover{GCLine: line, Remove: func(ctx context.Context) error { return r.Discard(ctx, t.Path) }}
			if dirty, err := r.git().Dirty(ctx, t); err != nil || dirty != "" {
				if err != nil {
					dirty = err.Error()
				}
				left.Why += ", but " + strings.TrimSpace(dirty)
				left.Action, left.Remove = "keep", nil
			}
			out = append(out, left)
		}
	}
	return out, err
}

// usedTrees are the worktrees of members that are there.
func usedTrees(ctx context.Context, s *coord.Session, scope cadre.Scope, where cadre.Where) (map[string]bool, error) {
	used := map[string]bool{}
	if where != cadre.Live {
		return used, nil
	}
	return used, s.Store.View(ctx, scope, func(snap cadre.Snap) error {
		for m, err := range snap.Members() {
			if err != nil {
				return err
			}
			if m.Worktree != nil && m.State != cadre.StateDeparted && m.State != cadre.StateDead {
				used[m.Worktree.Path] = true
			}
		}
		return nil
	})
}

// leftOutput is what is kept of what members of erased teams printed.
func (r supervisors) leftOutput(known map[cadre.Scope]cadre.Where) (out []coord.Leftover, err error) {
	state, err := r.stateDir()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(state, "supervisors", "*.lock"))
	for _, file := range files {
		name, err := url.PathUnescape(strings.TrimSuffix(filepath.Base(file), ".lock"))
		scope := cadre.Scope(name)
		if err != nil || known[scope] != "" {
			continue
		}
		free, err := r.free(scope)
		if err != nil {
			return nil, err
		}
		output, err := r.file(scope, "")
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(output); err != nil || !free {
			continue
		}
		out = append(out, coord.Leftover{
			GCLine: coord.GCLine{Scope: scope, Why: "it was erased, and what its members printed is still there", Action: "remove"},
			Remove: func(context.Context) error { return r.removeOutput(scope) },
		})
	}
	return out, err
}
