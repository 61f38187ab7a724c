package teamfile

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cadre"
)

var update = flag.Bool("update", false, "write the schema anew")

func TestParse(t *testing.T) {
	f, err := Parse("ci.yaml", "/src", []byte(`
team:
  description: builds and tests
  policies:
    plan: wait
    permission: {answer: approve, after: 5m}
  limits: {members: 2, timeout: 10m}
members:
  builder: &shell
    backend: shell
    count: 2
  tester:
    <<: *shell
    cwd: sub
tasks:
  build:
    run: make
  test:
    subject: Run the tests
    run: |
      make test
      make bench
    after: build
    owner: builder-2
    attempts: 5
    priority: high
    labels: [slow, ci]
  yes:
    run: true
  ship:
    run: make ship
    after: [build, test]
    plan: true
hooks:
  TaskCompleted:
    - hooks:
        - {type: command, command: "test -f ok", timeout: 5}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Team.Name != "ci" || f.Members[1].Name != "tester" || f.Members[1].CWD != "sub" || !slices.Equal(f.Members[1].Names(), []string{"tester-1", "tester-2"}) {
		t.Errorf("%+v", f)
	}
	lines := f.Import().Lines
	if got := lines[3]; got.Key != "ship" || !slices.Equal(got.BlockedBy, []cadre.LineRef{"@1", "@2"}) || got.Plan == nil {
		t.Errorf("%+v", got)
	}
	if got := lines[1]; got.Run != "make test\nmake bench\n" || got.MaxAttempts != 5 || got.Priority != "high" || lines[0].Subject != "build" || lines[2].Run != "true" {
		t.Errorf("%+v", lines)
	}
	if h := f.Hooks.ByEvent()["TaskCompleted"]; len(h) != 1 || h[0].Command != "test -f ok" || h[0].Timeout.Seconds() != 5 {
		t.Errorf("%+v", h)
	}
	policies := f.Team.Policies.ByKind()
	if len(policies) != 2 || policies[cadre.AskPlan].Answer != "wait" || policies[cadre.AskPermission].After.Minutes() != 5 {
		t.Errorf("%+v", policies)
	}
}

// TestProblems: everything that is wrong is named, where it stands.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	check := func(m *cadre.Member) []string {
		var no []string
		if m.Backend != cadre.BackendShell {
			no = append(no, "backend: there is no "+string(m.Backend))
		}
		if m.Model != "" {
			no = append(no, "model: a shell has none")
		}
		return no
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(filepath.Base(path), "/src", data, check)
			if err == nil {
				t.Fatal("nothing is wrong with it")
			}
			got := err.Error() + "\n"
			want := strings.TrimSuffix(path, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			expected, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(expected) {
				t.Errorf("got\n%s\nwant\n%s", got, expected)
			}
			if hint := cadre.AsError(Must(Parse("x.yaml", "/src", data, check))).Hint; !strings.Contains(hint, "cadre run --dry-run x.yaml") {
				t.Errorf("the hint is %q", hint)
			}
		})
	}
}

// Must gives the error of something that fails.
func Must(_ *File, err error) error { return err }

// TestAliasesAreBounded: a short file cannot say arbitrarily much.
func TestAliasesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("members: {a: }\ntasks:\n  t0: &t {run: x, labels: [" + strings.Repeat("a,", 5000) + "a]}\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  t%d: *t\n", i+1)
	}
	if _, err := Parse("x.yaml", "/src", []byte(b.String()), nil); err == nil || !strings.Contains(err.Error(), "aliases written out") {
		t.Errorf("%.200v", err)
	}
}

// TestSchemaIsCurrent keeps the schema for editors what the types say.
func TestSchemaIsCurrent(t *testing.T) {
	const path = "../docs/team-file.schema.json"
	if *update {
		if err := os.WriteFile(path, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != string(Schema()) {
		t.Errorf("%s is out of date: run make docs (%v)", path, err)
	}
	var doc struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(Schema(), &doc); err != nil || len(doc.Properties) != 4 {
		t.Errorf("%v, %v", doc, err)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("tasks: {a: {run: x}}\nmembers: {b: {}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("x.yaml", "/src", data, nil)
		if (file == nil) == (err == nil) {
			t.Errorf("%v, %v", file, err)
		}
		if file != nil {
			file.Import()
		}
	})
}

func TestManyMistakesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("members: {ann: }\ntasks:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "  t%d: {run: make, after: nowhere-%d}\n", i, i)
	}
	_, err := Parse("x.yaml", "/src", []byte(b.String()), nil)
	if err == nil {
		t.Fatal("nothing is wrong with it")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != maxProblems+1 || lines[maxProblems] != "x.yaml: and maybe more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

// TestWhatWouldTakeTooLong: the parser's time grows with the square of the file.
func TestWhatWouldTakeTooLong(t *testing.T) {
	for name, text := range map[string]string{
		"many keys":     strings.Repeat("a: 1\n", 100_000),
		"deep brackets": "tasks: " + strings.Repeat("[", 200_000),
		"deep braces":   "tasks: " + strings.Repeat("{a: ", 100_000),
	} {
		_, err := Parse("team.yaml", ".", []byte(text), nil)
		if err == nil || !strings.Contains(err.Error(), "says too much") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}
