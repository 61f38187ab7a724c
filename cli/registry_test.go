package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cadre"
	"cadre/coord"
	"cadre/install"
	"cadre/internal/termtext"
)

// TestEveryVerbIsComplete holds the command line against the registry: a verb
// that was added there and forgotten here fails.
func TestEveryVerbIsComplete(t *testing.T) {
	for _, v := range coord.Verbs() {
		t.Run(v.Name, func(t *testing.T) {
			if rendererOf(v.Name) == nil {
				t.Error("nothing shows its answer to people")
			}
			if _, err := os.Stat(filepath.Join("testdata", "golden", strings.ReplaceAll(v.Name, " ", "-")+".txt")); err != nil {
				t.Errorf("it has no golden page: %v", err)
			}
			if err := parses(exampleArgs(v.Example)); err != nil {
				t.Errorf("its example does not parse: %v", err)
			}
			checkHelp(t, v)
		})
	}
}

// exampleArgs gives the arguments of an example, without where its output goes.
func exampleArgs(example string) []string {
	line, _, _ := strings.Cut(example, " > ")
	words := shellWords(line)
	return words[1:]
}

// parses parses a command line without carrying it out.
func parses(args []string) error {
	p := &program{out: bufio.NewWriter(&bytes.Buffer{}), stderr: &bytes.Buffer{}}
	p.buildTree(args, false)
	cmd, rest, err := p.root.Find(args)
	if err != nil {
		return err
	}
	p.bind(cmd)
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	c := p.commands[cmd]
	if c == nil {
		return usage("", "%v is no verb", args)
	}
	return c.setArgs(cmd.Flags().Args())
}

// checkHelp looks for what every help must have and for lines that do not fit.
func checkHelp(t *testing.T, v coord.Verb) {
	var out bytes.Buffer
	if code := Run(t.Context(), append(strings.Fields(v.Name), "--help"), nil, &out, &out, nil); code != 0 {
		t.Fatalf("--help exits with %d", code)
	}
	for l := range strings.SplitSeq(out.String(), "\n") {
		if termtext.Width(l) > helpWidth {
			t.Errorf("its help is wider than %d columns: %s", helpWidth, l)
		}
	}
	for _, part := range []string{"Usage:", "Example:", v.Example, "Exit codes:", v.Help} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("its help does not have %q", part)
		}
	}
}

// TestNoFlagIsHidden makes sure that no verb has a flag that every command has.
func TestNoFlagIsHidden(t *testing.T) {
	global := []string{"scope", "team", "as", "json", "jsonl", "quiet", "color", "help"}
	shorts := []string{"q", "h"}
	for _, v := range coord.Verbs() {
		for _, f := range fieldsOf(newForm(v)) {
			if f.place == "" && (slices.Contains(global, f.name) || slices.Contains(shorts, f.short)) {
				t.Errorf("%s has its own --%s", v.Name, f.name)
			}
			if f.help == "" {
				t.Errorf("--%s of %s is not explained", f.name, v.Name)
			}
			if f.def != "" && setValue(f.value, f.def) != nil {
				t.Errorf("the default of --%s of %s is no value of it", f.name, v.Name)
			}
		}
	}
}

// TestKnownValuesAreTaken: what the shell offers for a parameter is what the verb takes.
func TestKnownValuesAreTaken(t *testing.T) {
	var tools, backends []string
	for _, tool := range install.Tools {
		tools = append(tools, tool.Name)
	}
	for name := range (supervisors{&program{}}).backends(nil) {
		backends = append(backends, string(name))
	}
	seen := 0
	for _, v := range coord.Verbs() {
		for _, f := range fieldsOf(v.New()) {
			if f.known == nil {
				continue
			}
			seen++
			all := map[string][]string{"install tool": tools, "uninstall tool": tools[:len(tools)-1], "member spawn backend": backends, "team limit backend": backends}[v.Name+" "+f.name]
			if all != nil && !slices.Equal(slices.Sorted(slices.Values(all)), slices.Sorted(slices.Values(f.known))) {
				t.Errorf("%s has %v for %s, and there are %v", v.Name, f.known, f.name, all)
			}
			for _, word := range f.known {
				var err error
				switch f.name {
				case "status":
					_, err = cadre.ParseStatus(word)
				case "priority":
					_, err = cadre.ParsePriority(word)
				default:
					if all == nil && !strings.Contains(f.help, word) {
						err = errors.New("its help does not name it")
					}
				}
				if err == nil {
					err = setValue(f.value, word)
				}
				if err != nil {
					t.Errorf("%s: %s %s: %v", v.Name, f.name, word, err)
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d parameters with known values", seen)
	}
}
