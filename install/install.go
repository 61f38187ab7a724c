// Package install puts Cadre into the settings of other programs, so that their
// agents have its tools: one entry in the file that the program itself reads.
//
// It changes the entry and no other byte, and says first what it would change. What
// it put there it can take away again, also when the rest of the file has changed
// since.
package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// name is what Cadre is called in the settings of others.
const name = "cadre"

// maxFile is how long a settings file may be. Claude Code keeps much in its own.
const maxFile = 64 << 20

// Place is where programs look for their settings.
type Place struct {
	Home    string            // the user's folder
	Project string            // the project's; settings there hold for it alone
	Env     map[string]string // some programs are told another folder
	Command string            // how they are to start Cadre
}

// Tool is a program whose settings are known.
type Tool struct {
	Name  string
	Title string
	tools file  // where it says who serves tools
	hooks *file // where it says what it starts at certain moments; nil where there is no such thing
}

// file is one settings file.
type file struct {
	user   func(Place) string // for all of a user's projects; nil: not written, only printed
	in     string             // and for one project; empty where that is not known
	format format
}

// format is how a program writes down a server of tools.
type format interface {
	// add gives the settings with the entry, drop without it; both give the text
	// itself where it is so already. What the entry has of its user's own making stays,
	// and add names it. Where the entry is another program's, both give a TakenError; add
	// with the settings with our entry in its place, drop with the text itself.
	add(text []byte, command string) (with []byte, kept []string, err error)
	drop(text []byte, command string) ([]byte, error)
	// ours is what drop takes away, for somebody who does it by hand.
	ours() string
}

// Tools are all that are known.
var Tools = []Tool{
	{
		"claude", "Claude Code",
		file{inDir("CLAUDE_CONFIG_DIR", "", ".claude.json"), ".mcp.json", entry{"mcpServers", claudeServer}},
		&file{inDir("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), ".claude/settings.json", claudeHooks{}},
	},
	{"codex", "Codex", file{inDir("CODEX_HOME", ".codex", "config.toml"), ".codex/config.toml", table{}}, nil},
	{"gemini", "Gemini CLI", file{inDir("GEMINI_CLI_HOME", "", ".gemini/settings.json"), ".gemini/settings.json", entry{"mcpServers", geminiServer}}, nil},
	{"cursor", "Cursor", file{nil, ".cursor/mcp.json", entry{"mcpServers", plainServer}}, nil},
	{"vscode", "VS Code", file{nil, ".vscode/mcp.json", entry{"servers", typedServer}}, nil},
	{"opencode", "opencode", file{nil, "opencode.json", entry{"mcp", opencodeServer}}, nil},
	{"other", "any other program", file{nil, "", entry{"mcpServers", plainServer}}, nil},
}

// inDir is a file in the folder that a variable names, or in one of the user's.
func inDir(variable, usual, name string) func(Place) string {
	return func(p Place) string {
		if dir := p.Env[variable]; dir != "" {
			return filepath.Join(dir, name)
		}
		return filepath.Join(p.Home, usual, name)
	}
}

// Find gives the tool of a name.
func Find(wanted string) (Tool, bool) {
	for _, t := range Tools {
		if t.Name == wanted {
			return t, true
		}
	}
	return Tool{}, false
}

// Writable says whether its settings are written, and not only shown.
func (t Tool) Writable() bool { return t.tools.user != nil }

// InProjects says whether they can be written for one project: it is known where.
func (t Tool) InProjects() bool { return t.tools.in != "" }

// HasHooks says whether it can be told to start something at certain moments.
func (t Tool) HasHooks() bool { return t.hooks != nil }

// Names lists the names of the tools.
func Names() string {
	names := make([]string, len(Tools))
	for i, t := range Tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// Snippet is what to put where, for somebody who does it by hand; where is empty if it
// is not known.
func (t Tool) Snippet(p Place) (file, text string) {
	out, _, err := t.tools.format.add(nil, p.Command)
	if err != nil {
		panic(err) // an empty file has no faults
	}
	return t.tools.in, string(out)
}

// Change is a settings file as it is and as it would be. One of a project is for all
// who work there.
type Change struct {
	Path   string   `json:"path"`
	Before []byte   `json:"-"` // nil: there is none
	After  []byte   `json:"-"`
	Kept   []string `json:"kept"` // what its user has set otherwise than we would
	Left   string   `json:"left"` // what an entry of our name starts that is another program's, and stays

	shared bool
}

// Needed says whether anything is different.
func (c Change) Needed() bool { return !bytes.Equal(c.Before, c.After) }

// ErrUnknownText is a settings file that is not written as its program writes it.
var ErrUnknownText = errors.New("it is written in a way that could not be kept, with remarks for example")

// BrokenError says where a settings file is wrong, so that its own program cannot read
// it either.
type BrokenError struct {
	Line      int
	Language  string // that it should be written in
	Complaint string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("line %d is not valid %s: %s", e.Line, e.Language, e.Complaint)
}

// ByHandError is a settings file that only a person can change.
type ByHandError struct {
	Path string
	err  error
}

func (e *ByHandError) Error() string { return e.Path + ": " + e.err.Error() }
func (e *ByHandError) Unwrap() error { return e.err }

// TakenError says that an entry of our name is another program's.
type TakenError struct{ Starts string } // what it starts, or where that is

func (e *TakenError) Error() string {
	return "its entry " + name + " starts something else: " + e.Starts
}

// taken is the error of an entry with this command line, or, without one, address.
func taken(line []string, address string) error {
	starts := strings.TrimSpace(strings.Join(line, " "))
	return &TakenError{cmp.Or(starts, address, "nothing that is known")}
}

// Wish is what is to be so.
type Wish struct {
	Project bool // in the project's settings, not the user's
	Hooks   bool // with hooks
	Drop    bool // nothing of Cadre is to be left
	Replace bool // also where another program has an entry of our name
}

// Plan finds out what is to be changed so that a wish is so. Hooks that are there are
// to start this program, asked for or not. A file in which nothing is to be changed is
// among them where something is kept or left.
func (t Tool) Plan(p Place, w Wish) (changes []Change, err error) {
	files := []file{t.tools}
	if t.hooks != nil {
		files = append(files, *t.hooks)
	}
	for i, f := range files {
		unasked := i > 0 && !w.Hooks && !w.Drop
		if unasked {
			f.format = claudeHooks{onlyThere: true}
		}
		c, err := f.plan(p, w)
		if err != nil && unasked {
			continue
		}
		if _, broken := errors.AsType[*BrokenError](err); broken {
			return nil, &ByHandError{c.Path, err}
		}
		if errors.Is(err, ErrUnknownText) && w.Drop {
			return nil, &ByHandError{c.Path, fmt.Errorf("%w; take out by hand %s", err, f.format.ours())}
		}
		if errors.Is(err, ErrUnknownText) {
			err = fmt.Errorf("%w; put the entry in by hand", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		if c.Needed() || len(c.Kept) > 0 || c.Left != "" {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// Path is where a tool's servers of tools are written down.
func (t Tool) Path(p Place) string { return t.tools.user(p) }

func (f file) plan(p Place, w Wish) (c Change, err error) {
	c.Path = filepath.Join(p.Project, filepath.FromSlash(f.in))
	if c.shared = w.Project; !c.shared {
		c.Path = f.user(p)
	}
	if c.Path, err = followed(c.Path); err != nil {
		return c, err
	}
	if c.Before, err = read(c.Path); err != nil {
		return c, err
	}
	if w.Drop {
		c.After, err = f.format.drop(c.Before, p.Command)
	} else {
		c.After, c.Kept, err = f.format.add(c.Before, p.Command)
	}
	if other, ok := errors.AsType[*TakenError](err); ok && w.Drop {
		c.Left, err = other.Starts, nil
	} else if ok && w.Replace {
		err = nil
	}
	return c, err
}

// followed is where a file really is: settings are often links into a folder that
// somebody keeps under version control, and a link must stay one, also where nothing
// is at its end yet.
func followed(path string) (string, error) {
	to, err := filepath.EvalSymlinks(path)
	if err == nil {
		return to, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	dir, errDir := filepath.EvalSymlinks(filepath.Dir(path))
	if to, err = os.Readlink(path); err != nil { // it is only not there yet
		if to, err := os.Readlink(filepath.Dir(path)); err == nil && errDir != nil {
			return path, fmt.Errorf("its folder is a link to %s, which is not there", to)
		}
		return path, nil
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	if _, err := os.Stat(filepath.Dir(to)); err != nil {
		return path, fmt.Errorf("it is a link to %s, and there is no such folder", to)
	}
	return followed(to)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is longer than %d bytes", path, maxFile)
	}
	return os.ReadFile(path)
}

// Apply writes the change, unless somebody changed the file since it was planned. At
// every moment there is either the old file or the new.
func (c Change) Apply() error {
	now, err := read(c.Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s was changed in this moment", c.Path)
	}
	mode, dirMode := fs.FileMode(0o600), fs.FileMode(0o700)
	if c.shared {
		mode, dirMode = 0o644, 0o755
	}
	if info, err := os.Stat(c.Path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), dirMode); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(c.Path), ".cadre-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(c.After)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.Path)
}

// Lines gives the lines that go and those that come, and the number of the first. Where
// lines only become others, those between them are left out.
func (c Change) Lines() (first int, gone, come []string) {
	before, after := lines(c.Before), lines(c.After)
	for first < len(before) && first < len(after) && before[first] == after[first] {
		first++
	}
	before, after = before[first:], after[first:]
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	if len(before) == len(after) {
		for i, line := range before {
			if line != after[i] {
				gone, come = append(gone, line), append(come, after[i])
			}
		}
		return first + 1, gone, come
	}
	return first + 1, before, after
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
}
