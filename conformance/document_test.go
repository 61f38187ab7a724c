package conformance

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// atLeast is how many rows docs/conformance.md has. Rows may be added; one that is
// taken away has to be taken away here too.
const atLeast = 326

// row is one line of a table: what a document says and how it is in Cadre.
type row struct {
	line                   int
	says, kind, shown, why string
}

const (
	same    = "same"
	better  = "better"
	differs = "differs on purpose"
)

var (
	testName = regexp.MustCompile("`(Test[A-Za-z0-9_]+)(?:/[^`]*)?`")
	tally    = regexp.MustCompile(`(\d+) rows: (\d+) same, (\d+) better, (\d+) differs on purpose`)
)

// TestTheDocumentIsTrue: every row of the document names a test that make test runs.
func TestTheDocumentIsTrue(t *testing.T) {
	text, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsIn(t, "..")
	for _, fault := range check(string(text), tests, atLeast) {
		t.Error(fault)
	}
	for name, file := range tests {
		if filepath.Base(filepath.Dir(file)) == "conformance" && filepath.Base(file) != "document_test.go" && name != "TestMain" && !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("no row names %s", name)
		}
	}
}

// TestTheCheckNoticesABadDocument plants each fault that check is for.
func TestTheCheckNoticesABadDocument(t *testing.T) {
	const head = "2 rows: 1 same, 1 better, 0 differs on purpose\n\n| It says | In Cadre | Shown by | Why |\n|---|---|---|---|\n"
	const good = "| a | same | `TestThere` | |\n| b | better | `TestThere` | so |\n"
	tests := map[string]string{"TestThere": "there_test.go"}
	if faults := check(head+good, tests, 2); len(faults) != 0 {
		t.Fatalf("a good document has faults: %v", faults)
	}
	for name, tt := range map[string]struct{ table, says string }{
		"a test that is not there": {strings.Replace(good, "TestThere", "TestGone", 1), "TestGone"},
		"a part of a test's name":  {strings.Replace(good, "TestThere", "TestTher", 1), "TestTher"},
		"one of two is not there":  {strings.Replace(good, "`TestThere`", "`TestThere`, `TestGone`", 1), "TestGone"},
		"no test":                  {strings.Replace(good, "`TestThere`", "", 1), "no test"},
		"an unknown kind":          {strings.Replace(good, "same", "nearly", 1), "nearly"},
		"no reason":                {strings.Replace(good, "same", differs, 1), "why"},
		"too few cells":            {strings.Replace(good, " |\n", "\n", 1), "cells"},
		"a row is gone":            {good[:strings.Index(good, "\n")+1], "1 rows"},
		"twice the same":           {good + good, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			faults := check(head+tt.table, tests, 2)
			if !strings.Contains(strings.Join(faults, "\n"), tt.says) {
				t.Errorf("the faults %q do not say %q", faults, tt.says)
			}
		})
	}
	if faults := check(strings.Replace(head, "1 same", "7 same", 1)+good, tests, 2); len(faults) == 0 {
		t.Error("a wrong count went unnoticed")
	}
	if faults := check(good, tests, 2); len(faults) == 0 {
		t.Error("a document without counts went unnoticed")
	}
}

// check gives everything that is wrong with the document.
func check(text string, tests map[string]string, atLeast int) (faults []string) {
	fault := func(line int, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
	}
	counts := map[string]int{}
	seen := map[string]bool{}
	rows := 0
	for _, r := range readRows(text, fault) {
		rows++
		counts[r.kind]++
		if seen[r.says] {
			fault(r.line, "%q is there twice in one table", r.says)
		}
		seen[r.says] = true
		names := testName.FindAllStringSubmatch(r.shown, -1)
		for _, n := range names {
			if tests[n[1]] == "" {
				fault(r.line, "there is no test %s", n[1])
			}
		}
		switch r.kind {
		case same, better, differs:
			if len(names) == 0 {
				fault(r.line, "no test shows %q", r.says)
			}
			if r.kind != same && r.why == "" {
				fault(r.line, "it does not say why it is %s", r.kind)
			}
		default:
			fault(r.line, "%q is none of same, better, differs on purpose", r.kind)
		}
	}
	if rows < atLeast {
		fault(0, "there are %d rows, there were %d", rows, atLeast)
	}
	told := fmt.Sprintf("%d rows: %d same, %d better, %d differs on purpose", rows, counts[same], counts[better], counts[differs])
	if got := tally.FindString(text); got != told {
		fault(0, "the document says %q, and it is %q", got, told)
	}
	return faults
}

// readRows reads every table of the document that has the four columns.
func readRows(text string, fault func(int, string, ...any)) (rows []row) {
	table, heading := false, ""
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") {
			heading = line
		}
		if !strings.HasPrefix(line, "|") {
			table = false
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if strings.HasPrefix(line, "| It says |") {
			table = true
			continue
		}
		if !table || strings.HasPrefix(line, "|---") {
			continue
		}
		if len(cells) != 6 {
			fault(i+1, "a row has %d cells, want 4", len(cells)-2)
			continue
		}
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		rows = append(rows, row{i + 1, heading + ": " + cells[1], cells[2], cells[3], cells[4]})
	}
	return rows
}

// testsIn finds every test that make test runs, and the file it is in.
func testsIn(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		names, err := testsOf(file)
		for _, name := range names {
			found[name] = file
		}
		return err
	})
	if err != nil || len(found) < 100 {
		t.Fatalf("found %d tests: %v", len(found), err)
	}
	return found
}

// testsOf gives the tests of a file that run: not those of a file that is built with a
// tag or for another system alone, nor one that only skips itself or does nothing.
// Whether a test shows what a row says, no program can tell.
func testsOf(file string) (names []string, err error) {
	linux := build.Default
	linux.GOOS = "linux"
	if built, err := linux.MatchFile(filepath.Split(file)); err != nil || !built {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || len(f.Body.List) == 0 || slices.ContainsFunc(f.Body.List, skips) {
			continue
		}
		names = append(names, f.Name.Name)
	}
	return names, nil
}

// skips says whether a statement skips the test, whatever is the case.
func skips(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	of, ok := call.Fun.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(of.Sel.Name, "Skip")
}

// TestWhatDoesNotRunShowsNothing plants tests that are there and never run.
func TestWhatDoesNotRunShowsNothing(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"runs":               {"a_test.go", "package a\nfunc TestA(t *testing.T) {\n\tif x { t.Skip() }\n\tt.Error(1)\n}", "TestA"},
		"another system's":   {"a_windows_test.go", "package a\nfunc TestA(t *testing.T) { t.Error(1) }", ""},
		"behind a tag":       {"a_test.go", "//go:build realclient\n\npackage a\nfunc TestA(t *testing.T) { t.Error(1) }", ""},
		"skips itself":       {"a_test.go", "package a\nfunc TestA(t *testing.T) {\n\tt.Skip(1)\n\tt.Error(1)\n}", ""},
		"does nothing":       {"a_test.go", "package a\nfunc TestA(t *testing.T) {}", ""},
		"stands in comments": {"a_test.go", "package a\n/*\nfunc TestA(t *testing.T) { t.Error(1) }\n*/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), tt.file)
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := testsOf(file); err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("it has %v, %v, want %q", got, err, tt.want)
			}
		})
	}
}
