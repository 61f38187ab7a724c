// Package install puts Cadre into the settings of other programs, so that their
// agents have its tools: one entry in the file that the program itself reads.
//
// It changes the entry and no other byte, and says first what it would change. What
// it put there it can take away again, also when the rest of the file has changed
// since.
package install

import (
	"bytes"
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
	Name   string
	Title  string
	user   func(Place) string // its settings for all of a user's projects; nil: not written, only printed
	in     string             // and for one project
	format format
}

// format is how a program writes down a server of tools.
type format interface {
	// add gives the settings with the entry, drop without it; both give the text
	// itself where it is so already.
	add(text []byte, command string) ([]byte, error)
	drop(text []byte) ([]byte, error)
}

// Tools are all that are known.
var Tools = []Tool{
	{"claude", "Claude Code", func(p Place) string { return filepath.Join(p.dir("CLAUDE_CONFIG_DIR", ""), ".claude.json") }, ".mcp.json", entry{"mcpServers", claudeServer}},
	{"codex", "Codex", func(p Place) string { return filepath.Join(p.dir("CODEX_HOME", ".codex"), "config.toml") }, ".codex/config.toml", table{}},
	{"gemini", "Gemini CLI", func(p Place) string { return filepath.Join(p.Home, ".gemini", "settings.json") }, ".gemini/settings.json", entry{"mcpServers", plainServer}},
	{"cursor", "Cursor", nil, ".cursor/mcp.json", entry{"mcpServers", plainServer}},
	{"vscode", "VS Code", nil, ".vscode/mcp.json", entry{"servers", typedServer}},
	{"opencode", "opencode", nil, "opencode.json", entry{"mcp", opencodeServer}},
	{"other", "any other program", nil, "its settings", entry{"mcpServers", plainServer}},
}

// dir is the folder that a variable names, or one in the user's.
func (p Place) dir(variable, usual string) string {
	if dir := p.Env[variable]; dir != "" {
		return dir
	}
	return filepath.Join(p.Home, usual)
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
func (t Tool) Writable() bool { return t.user != nil }

// Names lists the names of the tools.
func Names() string {
	names := make([]string, len(Tools))
	for i, t := range Tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// Snippet is what to put where, for somebody who does it by hand.
func (t Tool) Snippet(p Place) (file, text string) {
	out, err := t.format.add(nil, p.Command)
	if err != nil {
		panic(err) // an empty file has no faults
	}
	return t.in, string(out)
}

// Change is a settings file as it is and as it would be.
type Change struct {
	Path   string `json:"path"`
	Before []byte `json:"-"` // nil: there is none
	After  []byte `json:"-"`
}

// Needed says whether anything is different.
func (c Change) Needed() bool { return !bytes.Equal(c.Before, c.After) }

// ErrUnknownText is a settings file that is not written as its program writes it.
var ErrUnknownText = errors.New("it cannot be changed without losing something")

// Plan finds out what is to be changed so that a tool has the entry, or with drop has
// not; in the user's settings, or the project's.
func (t Tool) Plan(p Place, project, drop bool) (Change, error) {
	path := filepath.Join(p.Project, filepath.FromSlash(t.in))
	if !project {
		path = t.user(p)
	}
	c := Change{Path: path}
	var err error
	if c.Path, err = followed(path); err != nil {
		return c, err
	}
	if c.Before, err = read(c.Path); err != nil {
		return c, err
	}
	if drop {
		c.After, err = t.format.drop(c.Before)
	} else {
		c.After, err = t.format.add(c.Before, p.Command)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", c.Path, err)
	}
	return c, nil
}

// followed is where a file really is: settings are often links into a folder that
// somebody keeps under version control, and a link must stay one.
func followed(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return real, err
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
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(c.Path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
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

// Lines gives the lines that go and those that come, and the number of the first.
func (c Change) Lines() (first int, gone, come []string) {
	before, after := lines(c.Before), lines(c.After)
	for first < len(before) && first < len(after) && before[first] == after[first] {
		first++
	}
	before, after = before[first:], after[first:]
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return first + 1, before, after
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
