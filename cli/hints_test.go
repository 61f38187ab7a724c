package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cadre"
	"cadre/coord"
)

// TestHintsNameCommandsThatExist reads every text in the product's own code: a
// command that a message tells people to type must be one.
func TestHintsNameCommandsThatExist(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				return true
			}
			for _, bad := range unknownCommands(text) {
				t.Errorf("%s tells people to type %q, which is no command", path, bad)
			}
			checked += len(namedCommand.FindAllString(text, -1))
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 50 {
		t.Errorf("only %d commands were found in the texts", checked)
	}
}

// TestUnknownHintsAreNoticed shows that the check can fail.
func TestUnknownHintsAreNoticed(t *testing.T) {
	for text, want := range map[string]int{
		"cadre task list": 0, "cadre task frobnicate 3": 1, "try cadre heal --fix": 1, "cadre log, or cadre nothing": 1, "the cadre that led": 0,
	} {
		if got := unknownCommands(text); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// namedCommand finds a command where a text names one: at its start, after "try",
// a colon, a comma or "or".
var namedCommand = regexp.MustCompile(`(?:^|try |: |, |or |\$ )cadre ([a-z]+)(?: ([a-z]+))?`)

func unknownCommands(text string) []string {
	known := map[string]bool{}
	for _, v := range coord.Verbs() {
		noun, verb, _ := strings.Cut(v.Name, " ")
		known[noun] = true
		known[strings.TrimSpace(noun+" "+verb)] = true
	}
	for _, own := range []string{"demo", "version", "completion", "man", "mcp", "help"} {
		known[own] = true
	}
	nouns := map[string]bool{"task": true, "team": true, "member": true, "msg": true, "ask": true, "audit": true, "token": true}
	var bad []string
	for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if nouns[name] && m[2] != "" {
			name += " " + m[2]
		}
		if !known[name] {
			bad = append(bad, "cadre "+name)
		}
	}
	return bad
}

func TestWhoDecidesIsToldWhatItMeans(t *testing.T) {
	pg := &page{program: &program{options: options{scope: "docs"}}}
	want := "cadre ask approve a7 --scope docs (it is tried again), or cadre ask reject a7 --scope docs (it is left to you)"
	if got := pg.answerTo(&cadre.Ask{ID: "a7", Kind: cadre.AskPerson}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
