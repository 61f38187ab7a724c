package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/install"
	"cadre/internal/diskfull"
	"cadre/internal/termtext"
)

// installHere and uninstallHere work on the settings that this environment names.
type (
	installHere   struct{ coord.Install }
	uninstallHere struct{ coord.Uninstall }
)

func (v *installHere) read(p *program) (any, error) {
	place, err := p.programs()
	v.Settings = place
	return &v.Install, err
}

func (v *uninstallHere) read(p *program) (any, error) {
	place, err := p.programs()
	v.Settings = place
	return &v.Uninstall, err
}

// programs gives the settings of the programs on this machine. They start Cadre by its name
// where that finds this very program, and else by its path.
func (p *program) programs() (settings, error) {
	home, err := p.home()
	if err != nil {
		return settings{}, usage("", "HOME is not set, and other programs keep their settings there")
	}
	program, err := os.Executable()
	if err != nil {
		return settings{}, err
	}
	if named, err := exec.LookPath("cadre"); err == nil && sameFile(named, program) {
		program = "cadre"
	}
	return settings{install.Place{Home: home, Project: p.cwd, Env: p.env, Command: program}}, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

type settings struct{ install.Place }

// agentProgram is one on this machine that agents are run by.
type agentProgram struct {
	Name      string `json:"name"`
	Path      string `json:"path"`
	Version   string `json:"version"`
	Settings  string `json:"settings"`
	Installed bool   `json:"installed"` // it starts this program for its tools
	Hint      string `json:"hint,omitempty"`
}

// versionPatience is how long a program may take to say its version.
const versionPatience = 5 * time.Second

// agentPrograms finds those whose settings we could write.
func (p *program) agentPrograms(ctx context.Context) ([]agentProgram, error) {
	s, err := p.programs()
	if err != nil {
		return nil, err
	}
	out := []agentProgram{}
	for _, t := range install.Tools {
		path := p.which(t.Name)
		if !t.Writable() || path == "" {
			continue
		}
		a := agentProgram{Name: t.Name, Path: path, Version: p.versionOf(ctx, path)}
		changes, err := t.Plan(s.Place, install.Wish{})
		a.Settings, a.Installed = t.Path(s.Place), err == nil && !slices.ContainsFunc(changes, install.Change.Needed)
		if _, other := errors.AsType[*install.TakenError](err); other {
			a.Hint = err.Error() + "; cadre install " + t.Name + " --replace"
		} else if err != nil {
			a.Hint = err.Error() + "; " + byHand(err, t.Name)
		} else if !a.Installed {
			a.Hint = "cadre install " + t.Name
			if there, err := t.Plan(s.Place, install.Wish{Drop: true}); err == nil && len(there) > 0 {
				a.Hint = "its entry starts another program: " + a.Hint
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// which finds a program as the caller's shell would.
func (p *program) which(name string) string {
	for _, dir := range filepath.SplitList(p.env["PATH"]) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

func (p *program) versionOf(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "? (" + err.Error() + ")"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return termtext.Line(first)
}

// installed is what was changed in a program's settings, or would be.
type installed struct {
	Tool    string       `json:"tool"`
	Changes []fileChange `json:"changes"`
	Written bool         `json:"written"`

	title, again string // the program, and the command that writes it
	back         string // the one that takes it away again, where it was put in
	needed       bool   // something is to be changed
}

// fileChange is what becomes of one file.
type fileChange struct {
	Path    string   `json:"path"`
	Line    int      `json:"line"`
	Removed []string `json:"removed,omitempty"`
	Added   []string `json:"added,omitempty"`
	Kept    []string `json:"kept,omitempty"` // keys, or moments of hooks, that are as their user set them
	Left    string   `json:"left,omitempty"` // what an entry cadre starts that is not Cadre's, and stays
}

func (s settings) tool(name string) (install.Tool, error) {
	t, ok := install.Find(name)
	if !ok {
		return t, cadre.Refuse(cadre.RuleValue, "cadre install other --print", "nothing is known about the settings of %q; these are: %s", name, install.Names())
	}
	return t, nil
}

func (s settings) Print(name string) (any, error) {
	t, err := s.tool(name)
	if err != nil {
		return nil, err
	}
	file, text := t.Snippet(s.Place)
	return &snippet{file, text, t.Title}, nil
}

// snippet is an entry to be put in by hand.
type snippet struct {
	File  string `json:"file,omitempty"`
	Text  string `json:"text"`
	title string
}

func (s settings) Install(v *coord.Install) (any, error) {
	again := "cadre install " + v.Tool
	if v.Hooks {
		again += " --hooks"
	}
	return s.change(v.Tool, install.Wish{Project: v.Project, Hooks: v.Hooks, Replace: v.Replace}, v.Write, again)
}

func (s settings) Uninstall(v *coord.Uninstall) (any, error) {
	return s.change(v.Tool, install.Wish{Project: v.Project, Drop: true}, v.Write, "cadre uninstall "+v.Tool)
}

func (s settings) change(name string, w install.Wish, write bool, again string) (any, error) {
	t, err := s.tool(name)
	switch {
	case err != nil:
		return nil, err
	case !t.InProjects():
		return nil, cadre.Refuse(cadre.RuleValue, "cadre install "+name+" --print", "the settings of %s are only printed", t.Title)
	case !t.Writable() && !w.Project && w.Drop:
		return nil, cadre.Refuse(cadre.RuleValue, again+" --project", "the settings of %s are written for a project only", t.Title)
	case !t.Writable() && !w.Project:
		return nil, cadre.Refuse(cadre.RuleValue, "cadre install "+name+" --print", "the settings of %s are only printed, or written for a project (--project)", t.Title)
	case w.Hooks && !t.HasHooks():
		return nil, cadre.Refuse(cadre.RuleValue, "cadre install "+name, "%s has no hooks that Cadre knows", t.Title)
	}
	back := "cadre uninstall " + name
	if w.Project {
		again += " --project"
		back += " --project"
	}
	if w.Replace {
		again += " --replace"
	}
	changes, err := t.Plan(s.Place, w)
	if _, other := errors.AsType[*install.TakenError](err); other {
		again += " --replace"
		if write {
			again += " --write"
		}
		return nil, cadre.Refuse(cadre.RuleExists, again, "%v", err)
	}
	if err != nil {
		return nil, cadre.Fault(err, byHand(err, name), "the settings of %s", t.Title)
	}
	out := &installed{Tool: name, Changes: []fileChange{}, title: t.Title, again: again}
	if !w.Drop {
		out.back = back + " --write"
	}
	for _, c := range changes {
		get := fileChange{Path: c.Path, Kept: c.Kept, Left: c.Left}
		get.Line, get.Removed, get.Added = c.Lines()
		out.Changes = append(out.Changes, get)
		if !c.Needed() {
			continue
		}
		out.needed = true
		if !write {
			continue
		}
		if err := c.Apply(); err != nil {
			return nil, cadre.Fault(err, diskfull.Hint(err, again+" --write", filepath.Dir(c.Path)), "writing the settings of %s", t.Title)
		}
		out.Written = true
	}
	return out, nil
}

// byHand is what somebody types who has to change a program's settings without us.
func byHand(err error, tool string) string {
	if hand, ok := errors.AsType[*install.ByHandError](err); ok {
		return "$EDITOR " + hand.Path
	}
	return "cadre install " + tool + " --print"
}

// installedOrPrinted prints what install answers.
func (pg *page) installedOrPrinted(answer any) {
	if v, ok := answer.(*snippet); ok {
		pg.snippet(v)
		return
	}
	as((*page).installed)(pg, answer)
}

// installed prints what was changed, or would be.
func (pg *page) installed(v *installed) {
	for _, c := range v.Changes {
		if len(c.Removed)+len(c.Added) > 0 {
			pg.printf("%s, from line %d\n", line(c.Path), c.Line)
		}
		for _, l := range c.Removed {
			pg.printf("%s\n", pg.paint(red, "- "+line(l)))
		}
		for _, l := range c.Added {
			pg.printf("%s\n", pg.paint(green, "+ "+line(l)))
		}
		if len(c.Kept) > 0 {
			pg.printf("kept as you have it in %s: %s\n", line(c.Path), line(strings.Join(c.Kept, ", ")))
		}
		if c.Left != "" {
			pg.printf("left in %s: its entry %s starts something else: %s\n", line(c.Path), "cadre", line(c.Left))
		}
	}
	if !v.needed {
		pg.printf("%s\n", pg.paint(green, "✓ nothing to change for "+v.title))
		return
	}
	if !v.Written {
		pg.talk("nothing was written; to do it: %s --write", v.again)
		return
	}
	pg.printf("%s\n", pg.paint(green, "✓ written"))
	pg.hint("sessions of %s that run now see it when they are started again", v.title)
	if v.back != "" {
		pg.hint("to take it away: %s", v.back)
	}
}

// snippet prints the entry alone, so that it can be put into a file.
func (pg *page) snippet(v *snippet) {
	file := "its settings"
	if v.File != "" {
		file = v.File + " in your project's folder"
	}
	pg.talk("for %s: put this into %s", v.title, file)
	pg.printf("%s", v.Text)
}
