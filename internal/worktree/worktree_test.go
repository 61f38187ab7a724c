package worktree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a real one with a commit in it.
type repository struct {
	*testing.T
	Git
	top, trees string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	home := t.TempDir()
	r := &repository{T: t, top: filepath.Join(home, "project"), trees: filepath.Join(home, "trees")}
	r.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	if err := os.MkdirAll(filepath.Join(r.top, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.git(r.top, "init", "-q", "-b", "main")
	r.commit(r.top, "sub/file", "first")
	return r
}

func (r *repository) git(dir string, args ...string) string {
	r.Helper()
	out, err := r.run(context.Background(), dir, args...)
	if err != nil {
		r.Fatal(err)
	}
	return out
}

func (r *repository) write(path, text string) {
	r.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *repository) commit(dir, name, text string) {
	r.Helper()
	r.write(filepath.Join(dir, name), text)
	r.git(dir, "add", ".")
	r.git(dir, "commit", "-q", "-m", text)
}

func (r *repository) add(from, name string) (*Tree, string) {
	r.Helper()
	t, folder, err := r.Add(context.Background(), from, r.trees, "crew/docs/", name)
	if err != nil {
		r.Fatal(err)
	}
	return t, folder
}

// left is what is to be seen of worktrees, in the folder and in git.
func (r *repository) left() string {
	r.Helper()
	names, _ := filepath.Glob(filepath.Join(r.trees, "*"))
	return strings.Join(names, "\n") + r.git(r.top, "for-each-ref", "refs/heads/crew") + r.git(r.top, "worktree", "list", "--porcelain")
}

func TestAddAndRemove(t *testing.T) {
	r := newRepository(t)
	before := r.left()
	tree, folder := r.add(filepath.Join(r.top, "sub"), "ann")
	if folder != filepath.Join(tree.Path, "sub") || tree.Branch != "crew/docs/ann" || tree.Base != r.git(r.top, "rev-parse", "HEAD") {
		t.Errorf("%+v with %s", tree, folder)
	}
	if got := r.git(folder, "symbolic-ref", "--short", "HEAD"); got != tree.Branch {
		t.Errorf("it is on %s", got)
	}
	again, _ := r.add(r.top, "ann") // the name is taken
	inside, _ := r.add(folder, "ben")
	if again.Branch != "crew/docs/ann-2" || inside.Repo != tree.Repo || inside.Path == tree.Path {
		t.Errorf("%+v and %+v", again, inside)
	}
	all, err := List(r.trees)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, one := range all {
		if dirty, err := r.Remove(t.Context(), one); dirty != "" || err != nil {
			t.Errorf("%s: %s, %v", one.Path, dirty, err)
		}
	}
	if after := r.left(); after != before {
		t.Errorf("left: %s", after)
	}
}

func TestWorkIsNeverRemoved(t *testing.T) {
	for name, work := range map[string]func(r *repository, dir string){
		"a new file":       func(r *repository, dir string) { r.write(filepath.Join(dir, "new"), "x") },
		"a changed file":   func(r *repository, dir string) { r.write(filepath.Join(dir, "sub", "file"), "x") },
		"a staged file":    func(r *repository, dir string) { r.write(filepath.Join(dir, "new"), "x"); r.git(dir, "add", ".") },
		"a commit nowhere": func(r *repository, dir string) { r.git(dir, "checkout", "-q", "--detach"); r.commit(dir, "new", "x") },
		"something half done": func(r *repository, dir string) {
			r.write(r.git(dir, "rev-parse", "--git-path", "MERGE_HEAD"), r.git(dir, "rev-parse", "HEAD"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			tree, _ := r.add(r.top, "ann")
			work(r, tree.Path)
			before := r.left()
			dirty, err := r.Remove(t.Context(), tree)
			if dirty == "" || err != nil || r.left() != before {
				t.Errorf("dirty is %q, %v; left: %s", dirty, err, r.left())
			}
		})
	}
}

func TestCommitsOutliveTheirWorktree(t *testing.T) {
	r := newRepository(t)
	tree, _ := r.add(r.top, "ann")
	r.commit(tree.Path, "new", "work")
	head := r.git(tree.Path, "rev-parse", "HEAD")
	if dirty, err := r.Remove(t.Context(), tree); dirty != "" || err != nil {
		t.Fatal(dirty, err)
	}
	if got := r.git(r.top, "rev-parse", tree.Branch); got != head {
		t.Errorf("the branch is at %s, want %s", got, head)
	}
	if err := r.Restore(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	if got := r.git(tree.Path, "rev-parse", "HEAD"); got != head {
		t.Errorf("it came back at %s, want %s", got, head)
	}
	if err := r.Restore(t.Context(), tree); err != nil {
		t.Errorf("what is there cannot be restored again: %v", err)
	}
	fresh, _ := r.add(r.top, "ben")
	if dirty, err := r.Remove(t.Context(), fresh); dirty != "" || err != nil {
		t.Fatal(dirty, err)
	}
	if err := r.Restore(t.Context(), fresh); err != nil || r.git(fresh.Path, "rev-parse", "HEAD") != fresh.Base {
		t.Errorf("one without commits cannot come back: %v", err)
	}
}

func TestAFailedAddLeavesNothing(t *testing.T) {
	r := newRepository(t)
	empty := filepath.Join(t.TempDir(), "empty")
	plain := t.TempDir()
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git(empty, "init", "-q")
	untracked := filepath.Join(r.top, "untracked")
	if err := os.Mkdir(untracked, 0o700); err != nil {
		t.Fatal(err)
	}
	before := r.left()
	for name, tt := range map[string]struct{ from, dir, prefix, name, says string }{
		"no repository":   {plain, r.trees, "crew/", "ann", "not a git repository"},
		"no commit":       {empty, r.trees, "crew/", "ann", "no commit"},
		"a bad name":      {r.top, r.trees, "crew/..", "ann", "not a valid branch name"},
		"not committed":   {untracked, r.trees, "crew/", "ann", "not part of the commit"},
		"nowhere to go":   {r.top, filepath.Join(r.top, "sub", "file"), "crew/", "ann", "not a directory"},
		"a branch's path": {r.top, r.trees, "main/", "ann", "cannot lock ref"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := r.Add(t.Context(), tt.from, tt.dir, tt.prefix, tt.name)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("it says %v, want %q", err, tt.says)
			}
			if after := r.left(); after != before {
				t.Errorf("left: %s", after)
			}
		})
	}
}

func TestAHooksEnvironmentIsNotFollowed(t *testing.T) {
	r, other := newRepository(t), newRepository(t)
	r.Env = append(r.Env, "GIT_DIR="+filepath.Join(other.top, ".git"), "GIT_WORK_TREE="+other.top)
	tree, _ := r.add(r.top, "ann")
	if !strings.HasPrefix(tree.Repo, filepath.Dir(r.top)) {
		t.Errorf("the worktree is of %s", tree.Repo)
	}
	cmd := exec.Command("git", "rev-parse", "--show-toplevel")
	cmd.Dir, cmd.Env = tree.Path, Clean(r.Env)
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != tree.Path {
		t.Errorf("%s, %v", out, err)
	}
}
