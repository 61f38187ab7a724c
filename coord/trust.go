package coord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"cadre"
	"cadre/internal/swapfile"
)

// projectSettings are the settings that a project has in its folder .claude: written by
// whoever writes to the project, so that their hooks run only where they are trusted.
var projectSettings = []string{"settings.json", "settings.local.json"}

// projectNear is the folder, or the nearest above it, that has settings of its own;
// none has the user's.
func (c *Coord) projectNear(dir string) string {
	if c.ClaudeDir == "" || dir == "" {
		return ""
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		own := filepath.Join(dir, ".claude")
		for _, name := range projectSettings {
			if _, err := os.Lstat(filepath.Join(own, name)); err == nil && !sameFolder(own, c.ClaudeDir) {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(first, second)
}

// settingsFile is a settings file of a project as it is now. Its digest is that of the
// hooks that Cadre runs: clients write other settings into it all the time.
type settingsFile struct {
	path, digest string
	hooks        map[HookEvent][]HookCommand
	err          error // why it cannot be read
}

// readProject reads the settings of a project. Nothing that stands there in their place
// is waited for or followed.
func readProject(dir string) []settingsFile {
	var out []settingsFile
	open := func() (*swapfile.Dir, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return swapfile.Open(root, ".claude")
	}
	folder, err := open()
	if err != nil {
		return []settingsFile{{path: filepath.Join(dir, ".claude"), err: err}}
	}
	defer folder.Close()
	for _, name := range projectSettings {
		f := settingsFile{path: filepath.Join(dir, ".claude", name)}
		data, _, err := swapfile.Read(folder, name, settingsLimit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var hooks *Hooks
		if err == nil {
			hooks, err = ParseHooks(data, f.path, nil)
		}
		if err == nil {
			f.hooks = hooks.Commands
			data, err = json.Marshal(f.hooks)
		}
		if f.err = err; err == nil {
			f.digest = cadre.Digest(string(data))
			for _, commands := range f.hooks {
				for i := range commands {
					commands[i].Project = dir
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// realPath is a folder under the name that it is trusted by.
func realPath(dir string) string {
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		return path
	}
	return filepath.Clean(dir)
}

// withProject adds the hooks of the project that the caller is in, as far as they are
// trusted. What would have been asked and is not is told, once for each process: a run
// is many changes.
func (s *Session) withProject(ctx context.Context, hooks *Hooks, gates []gated) (*Hooks, error) {
	if hooks == nil {
		hooks = &Hooks{}
	}
	dir := s.projectNear(s.CWD)
	if len(gates) == 0 || dir == "" {
		return hooks, nil
	}
	trusted, err := s.trustedFiles(ctx)
	if err != nil {
		return nil, err
	}
	dir = realPath(dir)
	for _, f := range readProject(dir) {
		known := trusted[f.path]
		if f.state(known) == Trusts {
			hooks = hooks.and(f.hooks, s.Env)
			continue
		}
		asked := func(g gated) bool {
			return f.err != nil || len(f.hooks[g.event]) > 0 || known != nil && slices.Contains(known.Events, string(g.event))
		}
		if !slices.ContainsFunc(gates, asked) {
			continue
		}
		why := f.unrun(dir, known)
		if _, again := s.told.LoadOrStore(why, true); !again {
			s.warn("%s", why)
		}
	}
	return hooks, nil
}

// unrun says why the hooks of a file are not run.
func (f settingsFile) unrun(dir string, known *cadre.Trusted) string {
	switch {
	case f.err != nil:
		return fmt.Sprintf("the hooks of a project are not run: %v", f.err)
	case known != nil:
		return fmt.Sprintf("%s has changed since it was trusted, so its hooks are not run; to look: cadre trust --list %s, to trust it as it is: cadre trust %[2]s", f.path, dir)
	}
	return fmt.Sprintf("%s is not trusted, so its hooks are not run; to look: cadre trust --list %s, to trust it: cadre trust %[2]s", f.path, dir)
}

// trustedFiles are those that are trusted, by their paths.
func (c *Coord) trustedFiles(ctx context.Context) (map[string]*cadre.Trusted, error) {
	out := map[string]*cadre.Trusted{}
	err := c.Store.View(ctx, cadre.Host, func(snap cadre.Snap) error {
		all, err := snap.Trusted()
		for _, t := range all {
			out[t.File] = t
		}
		return err
	})
	return out, err
}

// TrustState is how a project's settings stand to what was trusted.
type TrustState string

const (
	Trusts    TrustState = "trusted"
	Untrusted TrustState = "untrusted"
	Changed   TrustState = "changed" // since it was trusted
	Gone      TrustState = "gone"
	Removed   TrustState = "removed" // no longer trusted, just now
)

func (f settingsFile) state(known *cadre.Trusted) TrustState {
	switch {
	case known == nil:
		return Untrusted
	case f.err == nil && f.digest == known.Digest:
		return Trusts
	}
	return Changed
}

// Trust has the hooks of a project's own settings run, as they are now: once one is
// changed, the file is not trusted any more.
type Trust struct {
	Folder string `json:"folder,omitempty" arg:"[DIR]" help:"the project's folder, or one in it; this one without"`
	List   bool   `json:"list,omitempty" help:"only show what is trusted, and what this project has"`
	Remove bool   `json:"remove,omitempty" help:"trust the project's hooks no longer"`
}

// TrustView is a project's settings, and the hooks in it that Cadre runs.
type TrustView struct {
	File   string        `json:"file"`
	State  TrustState    `json:"state"`
	Digest string        `json:"digest,omitempty"`
	Hooks  []TrustedHook `json:"hooks"`
	Error  string        `json:"error,omitempty"` // why it cannot be read
}

// TrustedHook is one command that a project's settings name.
type TrustedHook struct {
	Event   HookEvent `json:"event"`
	Matcher string    `json:"matcher,omitempty"`
	Command string    `json:"command"`
}

func (f settingsFile) view(state TrustState) *TrustView {
	v := &TrustView{File: f.path, State: state, Digest: f.digest, Hooks: []TrustedHook{}}
	if f.err != nil {
		v.Error = f.err.Error()
	}
	for _, event := range slices.Sorted(maps.Keys(f.hooks)) {
		for _, c := range f.hooks[event] {
			v.Hooks = append(v.Hooks, TrustedHook{event, c.Matcher, c.Command})
		}
	}
	return v
}

// Run trusts them, shows what is trusted, or takes it back. Only the operator may.
func (v *Trust) Run(ctx context.Context, s *Session) (any, error) {
	if v.List && v.Remove {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre trust --list", "--list only shows, and --remove changes: give one of them")
	}
	if err := cadre.MayTrust(s.Actor); err != nil {
		return nil, err
	}
	trusted, err := s.trustedFiles(ctx)
	if err != nil {
		return nil, err
	}
	dir := v.Folder
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.CWD, dir)
	}
	switch {
	case v.List:
		return s.listTrusted(dir, trusted), nil
	case v.Remove:
		return s.untrust(ctx, dir, trusted)
	}
	return s.trust(ctx, dir)
}

// trust trusts the files of a project that have hooks.
func (s *Session) trust(ctx context.Context, dir string) (any, error) {
	project := s.projectNear(dir)
	if project == "" {
		return nil, cadre.Refuse(cadre.RuleMissing, "cadre trust DIR", "neither %s nor a folder above it has a .claude/settings.json of its own", dir)
	}
	set, out := &cadre.TrustSet{}, []*TrustView{}
	for _, f := range readProject(realPath(project)) {
		switch {
		case f.err != nil:
			return nil, cadre.Fault(f.err, "ls -la "+filepath.Join(project, ".claude"), "nothing was trusted")
		case len(f.hooks) == 0:
			continue
		}
		t := cadre.Trusted{File: f.path, Digest: f.digest}
		for _, event := range slices.Sorted(maps.Keys(f.hooks)) {
			t.Events = append(t.Events, string(event))
		}
		set.Files = append(set.Files, t)
		out = append(out, f.view(Trusts))
	}
	if len(out) == 0 {
		return nil, cadre.Refuse(cadre.RuleMissing, "", "the settings of %s name no hooks that Cadre runs: %s, %s or %s", project, TaskCreated, TaskCompleted, TeammateIdle)
	}
	_, _, err := s.on(cadre.Host).change(ctx, "trust", set)
	return out, err
}

// listTrusted shows what is trusted, and what the project has that is not.
func (s *Session) listTrusted(dir string, trusted map[string]*cadre.Trusted) []*TrustView {
	out := []*TrustView{}
	projects := []string{}
	for _, path := range slices.Sorted(maps.Keys(trusted)) {
		projects = append(projects, filepath.Dir(filepath.Dir(path)))
	}
	if here := s.projectNear(dir); here != "" {
		projects = append(projects, realPath(here))
	}
	seen := map[string]bool{}
	slices.Sort(projects)
	for _, project := range slices.Compact(projects) {
		for _, f := range readProject(project) {
			if known := trusted[f.path]; known != nil || f.err != nil || len(f.hooks) > 0 {
				seen[f.path] = true
				out = append(out, f.view(f.state(known)))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(trusted)) {
		if !seen[path] {
			out = append(out, settingsFile{path: path, digest: trusted[path].Digest}.view(Gone))
		}
	}
	return out
}

// untrust takes back what was trusted in a folder, or in the nearest one above it where
// something was.
func (s *Session) untrust(ctx context.Context, dir string, trusted map[string]*cadre.Trusted) (any, error) {
	set, out := &cadre.TrustSet{Remove: true}, []*TrustView{}
	for at := realPath(dir); ; at = filepath.Dir(at) {
		for _, name := range projectSettings {
			if t := trusted[filepath.Join(at, ".claude", name)]; t != nil {
				set.Files = append(set.Files, *t)
				out = append(out, settingsFile{path: t.File, digest: t.Digest}.view(Removed))
			}
		}
		if len(out) > 0 || at == filepath.Dir(at) {
			break
		}
	}
	if len(out) == 0 {
		return nil, cadre.Refuse(cadre.RuleMissing, "cadre trust --list", "nothing is trusted in %s or above it", dir)
	}
	_, _, err := s.on(cadre.Host).change(ctx, "trust", set)
	return out, err
}
