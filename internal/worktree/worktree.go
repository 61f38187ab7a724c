// Package worktree makes git worktrees and takes them away again, with the git of the
// machine. Beside each one stands a note of what was made, so that nothing else is ever
// touched, and one with work in it is never removed.
package worktree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is a worktree on a branch of its own.
type Tree struct {
	Path   string `json:"-"`
	Repo   string `json:"repo"` // where git keeps what all its worktrees share
	Branch string `json:"branch"`
	Base   string `json:"base"` // the commit that the branch began at
}

// Git runs git.
type Git struct{ Env []string }

// Clean is an environment without what would have git work on another repository than
// that of the folder it runs in, as inside a hook of git's.
func Clean(env []string) []string {
	own := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(own, name)
	})
}

// run runs git in a folder and gives what it says.
func (g Git) run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, append(Clean(g.Env), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(errs.String())
		if said == "" {
			said = err.Error()
		}
		return "", fmt.Errorf("git %s: %s", args[0], said)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Add makes a worktree of the repository of a folder, from the commit that is checked
// out there. It stands in a folder called name under dir, and its branch is called name
// after prefix; where one of them is taken, name gets a number. It gives the tree and
// the folder in it that is the same as the one it was made from. When it fails it
// leaves nothing.
func (g Git) Add(ctx context.Context, from, dir, prefix, name string) (_ *Tree, folder string, err error) {
	top, err := g.run(ctx, from, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, "", err
	}
	under, err := g.run(ctx, from, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, "", err
	}
	repo, err := g.run(ctx, from, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, "", err
	}
	base, err := g.run(ctx, from, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return nil, "", fmt.Errorf("the repository %s has no commit to begin from", top)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	t, err := g.reserve(ctx, &Tree{Repo: repo, Base: base}, dir, prefix, name)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.undo(context.WithoutCancel(ctx), t))
		}
	}()
	if _, err := g.run(ctx, from, "worktree", "add", "--quiet", "-b", t.Branch, t.Path, base); err != nil {
		return nil, "", err
	}
	if got, err := g.run(ctx, t.Path, "rev-parse", "--show-toplevel"); err != nil || got == top {
		return nil, "", errors.Join(err, fmt.Errorf("%s is no worktree of its own: git takes it for %s", t.Path, got))
	}
	folder = filepath.Join(t.Path, filepath.FromSlash(under))
	if _, err := os.Stat(folder); err != nil {
		return nil, "", fmt.Errorf("the folder is not part of the commit: %w", err)
	}
	return t, folder, nil
}

// reserve finds a name that is free, and notes what will be made.
func (g Git) reserve(ctx context.Context, t *Tree, dir, prefix, name string) (*Tree, error) {
	for n := 1; ; n++ {
		free := name
		if n > 1 {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		t.Path, t.Branch = filepath.Join(dir, free), prefix+free
		if _, err := g.run(ctx, t.Repo, "check-ref-format", "--branch", t.Branch); err != nil {
			return nil, err
		}
		if _, err := g.run(ctx, t.Repo, "show-ref", "--verify", "--quiet", "refs/heads/"+t.Branch); err == nil {
			continue
		}
		if _, err := os.Lstat(t.Path); err == nil {
			continue
		}
		err := t.write()
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		return t, err
	}
}

func (t *Tree) note() string { return t.Path + ".json" }

func (t *Tree) write() error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(t.note(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// undo takes away what a failed Add may have made.
func (g Git) undo(ctx context.Context, t *Tree) error {
	if _, err := os.Lstat(t.Path); err == nil {
		if _, err := g.run(ctx, t.Repo, "worktree", "remove", "--force", t.Path); err != nil {
			if err := os.RemoveAll(t.Path); err != nil {
				return err
			}
		}
	}
	return g.forget(ctx, t)
}

// forget takes away the branch, if nothing was committed to it, and the note.
func (g Git) forget(ctx context.Context, t *Tree) error {
	if _, err := g.run(ctx, t.Repo, "worktree", "prune"); err == nil {
		_, _ = g.run(ctx, t.Repo, "update-ref", "-d", "refs/heads/"+t.Branch, t.Base) // only where it still is at its base
	}
	if err := os.Remove(t.note()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List gives the worktrees that were made in a folder.
func List(dir string) ([]*Tree, error) {
	notes, err := filepath.Glob(filepath.Join(dir, "*.json"))
	var out []*Tree
	for _, note := range notes {
		t, err := Open(strings.TrimSuffix(note, ".json"))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, err
}

// Open gives a worktree that was made at a path.
func Open(path string) (*Tree, error) {
	t := &Tree{Path: path}
	data, err := os.ReadFile(t.note())
	if err == nil {
		err = json.Unmarshal(data, t)
	}
	return t, err
}

// unfinished are what git keeps of something that it is in the middle of.
var unfinished = []string{"rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"}

// Dirty says what would be lost with the worktree, or nothing. What git ignores does
// not count.
func (g Git) Dirty(ctx context.Context, t *Tree) (string, error) {
	if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if top, err := g.run(ctx, t.Path, "rev-parse", "--show-toplevel"); err != nil {
		return "", err
	} else if real, err := filepath.EvalSymlinks(t.Path); err != nil || top != real {
		return "it is no worktree any more", err
	}
	changed, err := g.run(ctx, t.Path, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return "", err
	}
	if changed != "" {
		return fmt.Sprintf("%d changes there are not committed", strings.Count(changed, "\n")+1), nil
	}
	for _, name := range unfinished {
		path, err := g.run(ctx, t.Path, "rev-parse", "--path-format=absolute", "--git-path", name)
		if err != nil {
			return "", err
		}
		if _, err := os.Lstat(path); err == nil {
			return "git is in the middle of something there (" + name + ")", nil
		}
	}
	on, err := g.run(ctx, t.Path, "for-each-ref", "--contains", "HEAD", "--count=1")
	if err == nil && on == "" {
		return "its last commit is on no branch", nil
	}
	return "", err
}

// Remove takes a worktree away that has nothing to lose: the folder, the note, and the
// branch if nothing was committed to it. Where there is something to lose it says what
// and leaves everything.
func (g Git) Remove(ctx context.Context, t *Tree) (dirty string, err error) {
	if dirty, err = g.Dirty(ctx, t); err != nil || dirty != "" {
		return dirty, err
	}
	if _, err := os.Lstat(t.Path); err == nil {
		if _, err := g.run(ctx, t.Repo, "worktree", "remove", t.Path); err != nil {
			return "", err
		}
	}
	return "", g.forget(ctx, t)
}

// Restore makes a worktree again that was removed, on its branch as that was left, or
// from its base.
func (g Git) Restore(ctx context.Context, t *Tree) error {
	if _, err := os.Lstat(t.Path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o700); err != nil {
		return err
	}
	args := []string{"worktree", "add", "--quiet", t.Path, t.Branch}
	if _, err := g.run(ctx, t.Repo, "show-ref", "--verify", "--quiet", "refs/heads/"+t.Branch); err != nil {
		args = []string{"worktree", "add", "--quiet", "-b", t.Branch, t.Path, t.Base}
	}
	if _, err := g.run(ctx, t.Repo, args...); err != nil {
		return err
	}
	if err := t.write(); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
