//go:build unix

package soak_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var long = strings.Repeat("a", 300)

// hostile are values that want to be more than names.
var hostile = []string{
	"../x", "../../etc", "/etc/passwd", "..", ".", "a/b", "./a", "a/../../b", `..\x`, `C:\x`, "~", "~root", "$HOME", "`id`", "*", "?", "a b", " ", "-", "--",
	"dосs", "аnn", "ａnn", "a\u202enn", "a\u200bnn", "ﬁn", "\u212aelvin", "a\nb", "a\tb", "\x1b[31mred", "\x7f", "\u009b31m", "\xff\xfe", "@host", "cadre.db", long,
}

// door is a place where a command takes a name, and the exit codes with which it
// may refuse one; 0 where a list's name is made of it, as clients make theirs.
type door struct {
	args  func(value string) []string
	codes []int
}

var doors = map[string]door{
	"--scope":     {func(v string) []string { return []string{"task", "add", "x", "--scope=" + v} }, []int{0, 2}},
	"--team":      {func(v string) []string { return []string{"task", "add", "x", "--team=" + v} }, []int{0, 2}},
	"--as":        {func(v string) []string { return []string{"task", "add", "x", "--as=" + v} }, []int{2}},
	"owner":       {func(v string) []string { return []string{"task", "add", "x", "--owner=" + v} }, []int{2}},
	"team create": {func(v string) []string { return []string{"team", "create", "--", v} }, []int{2}},
	"team use":    {func(v string) []string { return []string{"team", "use", "--", v} }, []int{0, 2, 3}},
	"team delete": {func(v string) []string { return []string{"team", "delete", "--", v} }, []int{2, 3}},
	"team join":   {func(v string) []string { return []string{"team", "join", "docs", "--name=" + v} }, []int{2}},
	"task id":     {func(v string) []string { return []string{"task", "show", "--", v} }, []int{2, 3}},
	"blocker":     {func(v string) []string { return []string{"task", "add", "x", "--blocked-by=" + v} }, []int{2, 3}},
	"recipient":   {func(v string) []string { return []string{"msg", "send", "--", v, "hello"} }, []int{2, 3}},
	"log point":   {func(v string) []string { return []string{"at", "--", v} }, []int{2, 3}},
}

// allowed are the values that are harmless in one of the doors after all.
func allowed(name, value string) bool {
	switch name {
	case "owner":
		return value == "@host" // the member host
	case "blocker":
		return value == " " // none
	}
	return false
}

// TestSoakHostileNames gives every door names that could be paths, are too long,
// look like others or hold control characters. Each is refused with its exit code
// or made into a name, nothing outside of the state folder is touched, and no
// control character comes back.
func TestSoakHostileNames(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	home := filepath.Join(outer, "up", "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outer, "x"), []byte("a file to be hit"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := machineIn(t, home)
	m.must("team", "create", "docs")
	before := listing(t, outer, m.state)
	tried, refused := 0, 0
	for _, name := range slices.Sorted(maps.Keys(doors)) {
		d := doors[name]
		for _, value := range hostile {
			tried++
			r := m.run(d.args(value)...)
			if r.code != 0 {
				refused++
			}
			if !slices.Contains(d.codes, r.code) && (r.code != 0 || !allowed(name, value)) {
				t.Errorf("%s %q must end with one of %v: %s", name, value, d.codes, r)
			}
			if r.code != 0 && !strings.HasPrefix(r.err, "cadre: ") {
				t.Errorf("%s %q is refused without a word: %s", name, value, r)
			}
			if c, ok := control(r.out + r.err); ok {
				t.Errorf("%s %q gives back the control character %q: %s", name, value, c, r)
			}
		}
		if after := listing(t, outer, m.state); after != before {
			t.Fatalf("%s: something outside of the state folder changed:\n%s\nwas\n%s", name, after, before)
		}
	}
	m.onlyOwnFiles()
	m.audited()
	t.Logf("%d hostile names at %d doors: %d refused, %d made into the name of a list; nothing outside was touched", tried, len(doors), refused, tried-refused)
}

// control finds what could steer a terminal.
func control(text string) (rune, bool) {
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e') {
			return r, true
		}
	}
	return 0, false
}

// ownFile is what may stand in a state folder.
var ownFile = regexp.MustCompile(`^(cadre\.(db|db-wal|db-shm|lock)|heads|heads/[@=a-z0-9_-]+)$`)

// onlyOwnFiles checks that no name became a file of its own.
func (m *machine) onlyOwnFiles() {
	m.t.Helper()
	for line := range strings.Lines(listing(m.t, m.state, "")) {
		path, _, _ := strings.Cut(line, "\t")
		if path != "." && !ownFile.MatchString(path) {
			m.t.Errorf("there is a file %s in the state folder", path)
		}
	}
}

// listing is everything below a folder but for one folder in it: names, kinds,
// permissions, times, and a hash of what the files hold. The times of the folder
// that holds the exception count too.
func listing(t testing.TB, dir, except string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == except {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s\t%s\t%d\t%s", filepath.ToSlash(rel), info.Mode(), info.Size(), info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "\t%x", sha256.Sum256(data))
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
