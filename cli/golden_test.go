package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/sqlitestore"
)

var update = flag.Bool("update", false, "write the golden files and the reference anew")

// desk is a person at a terminal of 80 columns, in a world whose clock goes on
// by a minute with each command.
type desk struct {
	t     *testing.T
	dir   string
	clock time.Time
	color string
	width int
	stdin string
	limit time.Duration // how long a command may run before it is interrupted
	env   map[string]string
	raw   bool                                          // show also what is different in every run
	open  func(dir, beside string) (cadre.Store, error) // the usual store without
}

func newDesk(t *testing.T) *desk {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, dir: dir, clock: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), color: "never", width: 80, limit: time.Minute}
}

// run types a command and gives what appears, talk included, and the exit code.
func (d *desk) run(args ...string) (string, int) {
	d.t.Helper()
	d.clock = d.clock.Add(time.Minute)
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	p := &program{
		stdin: strings.NewReader(d.stdin), out: w, stderr: flushed{w, &out}, cwd: filepath.Join(d.dir, "cwd"),
		env: map[string]string{
			"CADRE_STATE_DIR": filepath.Join(d.dir, "state"), "XDG_CACHE_HOME": filepath.Join(d.dir, "cache"), "HOME": d.dir,
		},
		now: func() cadre.Time { return cadre.Time{Wall: d.clock, Boot: "boot", Up: d.clock.Sub(time.Time{})} },
		open: func(dir, beside string) (cadre.Store, error) {
			return sqlitestore.Open(dir, sqlitestore.Beside(beside))
		},
		inTerm: d.stdin == "", outTerm: true, errTerm: true, width: d.width, patience: time.Hour,
	}
	maps.Copy(p.env, d.env)
	if d.open != nil {
		p.open = d.open
	}
	p.runtime = prompt{supervisors{p}}
	ctx, cancel := context.WithTimeout(d.t.Context(), d.limit)
	defer cancel()
	code := p.run(ctx, append(slices.Clone(args), "--color", d.color))
	return d.normal(out.String()), code
}

// prompt is a runtime whose members start and end at once, without a process.
type prompt struct{ supervisors }

func (r prompt) Wake(ctx context.Context, s *coord.Session) error {
	system := *s
	system.Actor = cadre.Self
	list, err := s.Do(ctx, "member list", &cadre.MemberList{All: true})
	if err != nil {
		return err
	}
	process := cadre.Process{PID: 4711, Start: "boot"}
	for _, m := range list.([]*cadre.MemberView) {
		switch m.Member.State {
		case cadre.StateStarting:
			_, err = system.Do(ctx, "member started", &cadre.MemberStarted{Name: m.Name, Process: process})
		case cadre.StateDeparted:
			_, err = system.Do(ctx, "member gone", &cadre.MemberGone{Name: m.Name, Process: &process})
		}
	}
	return err
}

// Recover finds nothing: members without a process are never stranded.
func (r prompt) Recover(context.Context, *coord.Session) (bool, error) { return false, nil }

func (r prompt) Serve(_ context.Context, s *coord.Session, _ *coord.Up) error {
	r.ready(s.Scope)
	return nil
}

// flushed writes talk after the answer before it, as a terminal shows them.
type flushed struct {
	before *bufio.Writer
	out    *bytes.Buffer
}

func (f flushed) Write(p []byte) (int, error) {
	f.before.Flush()
	return f.out.Write(p)
}

// normal replaces what is different in every run.
func (d *desk) normal(s string) string {
	if d.raw {
		return s
	}
	hexes := regexp.MustCompile(`\b[0-9a-f]{24,128}\b`)
	if self, err := os.Executable(); err == nil {
		s = strings.ReplaceAll(s, self, "/usr/local/bin/cadre")
	}
	s = regexp.MustCompile(`cadre-[A-Z2-7]{26}`).ReplaceAllString(s, "cadre-…token…")
	return hexes.ReplaceAllString(strings.ReplaceAll(s, d.dir, "/home/ann"), "…hex…")
}

// step is one command of the story.
type step struct {
	verb string // whose golden file shows it; empty for none
	line string // the command line, in the shell's quoting
	in   string
}

// story is a day of a team, told in commands: every verb has its page in it.
func story() []step {
	todos := `{"todos":[{"content":"Test it","activeForm":"Testing it","status":"in_progress"},{"content":"Ship it","activeForm":"Shipping it","status":"pending"}]}`
	plan := `{"subject":"Translate the manual","blockedBy":["4"]}` + "\n" + `{"subject":"Print the manual","blockedBy":["@1"],"labels":["paper"]}` + "\n"
	return []step{
		{"overview", "", ""},
		{"team create", `team create docs -d "The new manual"`, ""},
		{"task add", `task add "Design the manual" -d "Chapters, and who reads them." --priority high --labels plan`, ""},
		{"task add", `task add "Write the first chapter" --blocked-by 1 --owner bob`, ""},
		{"task add", `task add "Write the first chapter"`, ""},
		{"", `task rm 3`, ""},
		{"task add", `task add "Draw the pictures 🎨 for 日本語 readers and for everyone else who cannot read so much text" --blocked-by 1,2`, ""},
		{"team join", `team join docs --as bob -d "writes"`, ""},
		{"team join", `team join docs --as eve`, ""},
		{"task list", `task list`, ""},
		{"task ready", `task ready`, ""},
		{"task why", `task why 4`, ""},
		{"task claim", `task claim 2 --as eve`, ""},
		{"task claim", `task claim 1`, ""},
		{"task start", `task start 1`, ""},
		{"task start", `task start 2 --as bob`, ""},
		{"task block", `task block 2 --by 4`, ""},
		{"task comment", `task comment 1 "Six chapters are enough."`, ""},
		{"task update", `task update 1 --metadata pages=120 --paths docs/manual.md`, ""},
		{"task update", `task update 1 --subject "Design" --if-version 1`, ""},
		{"task show", `task show 1`, ""},
		{"task graph", `task graph`, ""},
		{"task graph", `task graph --mermaid`, ""},
		{"msg send", `msg send bob "Please begin with the index." --summary index`, ""},
		{"msg broadcast", `msg broadcast "The design is nearly done."`, ""},
		{"msg inbox", `msg inbox --as bob`, ""},
		{"msg wait", `msg wait --timeout 1s --as eve`, ""},
		{"msg ack", `msg ack --as bob`, ""},
		{"overview", ``, ""},
		{"task done", `task done 1 --result "Six chapters, see the picture" --files docs/plan.md`, ""},
		{"task next", `task next --claim --as bob`, ""},
		{"task next", `task next --claim --as eve`, ""},
		{"task release", `task release 2 --as bob`, ""},
		{"task rm", `task rm 2`, ""},
		{"task rm", `task rm 2 --unblock`, ""},
		{"task restore", `task restore 2`, ""},
		{"task accept", `task accept 2`, ""},
		{"task unblock", `task unblock 4 --by 2`, ""},
		{"task wait", `task wait 1 --timeout 1s`, ""},
		{"ask for", `ask for question "How many copies shall be printed?" --as bob`, ""},
		{"ask list", `ask list`, ""},
		{"overview", ``, ""},
		{"ask answer", `ask answer ASK "Three hundred."`, ""},
		{"", `task update 4 --owner eve`, ""},
		{"ask for", `ask for plan "First the cover, then the rest." --task 4 --as eve`, ""},
		{"ask show", `ask show ASK`, ""},
		{"ask approve", `ask approve ASK "go on"`, ""},
		{"", `ask for permission "run rm -rf build" --as bob`, ""},
		{"ask reject", `ask reject ASK "not that folder"`, ""},
		{"todo write", `todo write`, todos},
		{"todo show", `todo show`, ""},
		{"import", `import -`, plan},
		{"export", `export`, ""},
		{"member list", `member list`, ""},
		{"member show", `member show bob`, ""},
		{"member report", `member report waiting --evidence "for the printer" --as bob`, ""},
		{"member stop", `member stop eve --reason "all is done"`, ""},
		{"ask show", `ask show ASK`, ""},
		{"ask show", `ask show ASK --as eve`, ""},
		{"member leave", `member leave --as eve`, ""},
		{"msg send", `msg send eve "come back"`, ""},
		{"msg dead", `msg dead`, ""},
		{"team label", `team label "The Manual"`, ""},
		{"team show", `team show`, ""},
		{"log", `log --limit 12`, ""},
		{"blame", `blame 1`, ""},
		{"diff", `diff 30 40`, ""},
		{"at", `at 8`, ""},
		{"undo", `undo`, ""},
		{"watch", `watch --since 40`, ""},
		{"audit verify", `audit verify`, ""},
		{"audit anchor", `audit anchor`, ""},
		{"backup", `backup copy.db`, ""},
		{"", `team create side`, ""},
		{"audit export", `audit export`, ""},
		{"team use", `team use docs`, ""},
		{"team list", `team list`, ""},
		{"team take", `team take side`, ""},
		{"team delete", `team delete side`, ""},
		{"team list", `team list --all`, ""},
		{"team restore", `team restore side`, ""},
		{"gc", `gc --older 1m`, ""},
		{"gc", `gc --older 1m --apply`, ""},
		{"overview", `--scope elsewhere`, ""},
		{"doctor", `doctor`, ""},
		{"doctor", `doctor --fix --dry-run`, ""},
		{"doctor", `doctor --fix`, ""},
		{"doctor", `doctor --restore`, ""},
		{"doctor", `doctor --restore`, ""},
		{"install", `install claude`, ""},
		{"install", `install codex --write`, ""},
		{"install", `install codex --write`, ""},
		{"install", `install vscode --print`, ""},
		{"install", `install claude --hooks`, ""},
		{"install", `install codex --hooks`, ""},
		{"install", `install cursor`, ""},
		{"install", `install notepad`, ""},
		{"uninstall", `uninstall codex`, ""},
		{"uninstall", `uninstall codex --write`, ""},
		{"uninstall", `uninstall codex --write`, ""},
		{"token create", `token create --role member --name bob --expires 30d --note "his laptop"`, ""},
		{"token create", `token create --role read-only --everywhere`, ""},
		{"token create", `token create --role operator`, ""},
		{"token create", `token create --role member --name zoe`, ""},
		{"token create", `token create --role boss`, ""},
		{"token list", `token list`, ""},
		{"token revoke", `token revoke TOKEN`, ""},
		{"token revoke", `token revoke t999`, ""},
		{"token list", `token list --all`, ""},
		{"team policy", `team policy plan approve --after 5m`, ""},
		{"team policy", `team policy question approve`, ""},
		{"team policy", `team policy permission wait --as bob`, ""},
		{"", `task add "Bind the manual" --plan --owner bob`, ""},
		{"", `ask for plan "Thread, then glue." --task 7 --as bob`, ""},
		{"ask show", `ask show ASK`, ""},
		{"", `ask for permission "buy glue" --as bob`, ""},
		{"team approvals", `team approvals token`, ""},
		{"team approvals", `team approvals any`, ""},
		{"", `member stop bob`, ""},
		{"ask reject", `ask reject ASK "the glue is wet" --as bob`, ""},
		{"overview", ``, ""},
		{"ask show", `ask show ASK`, ""},
		{"ask list", `ask list --all`, ""},
		{"task start", `task start 7 --as bob`, ""},
		{"", `team create crew`, ""},
		{"", `task add "Test the manual" --run "make test"`, ""},
		{"member spawn", `member spawn robin --tasks 1 --cwd . -d "runs the tests"`, ""},
		{"member spawn", `member spawn maria --model large --cwd nowhere`, ""},
		{"member spawn", `member spawn maria --backend brain`, ""},
		{"member show", `member show robin`, ""},
		{"member nudge", `member nudge robin`, ""},
		{"member resume", `member resume robin`, ""},
		{"member kill", `member kill robin`, ""},
		{"member nudge", `member nudge robin`, ""},
		{"member resume", `member resume robin`, ""},
		{"up", `up`, ""},
		{"run", `run team.yaml --dry-run`, ""},
		{"run", `run bad.yaml`, ""},
		{"run", `run nowhere.yaml`, ""},
		{"run", `run team.yaml --resume`, ""},
		{"team mode", `team mode dispatch`, ""},
		{"team mode", `team mode chaos`, ""},
		{"team limit", `team limit 4`, ""},
		{"team limit", `team limit 2 --backend shell`, ""},
		{"team limit", `team limit 0`, ""},
		{"team limit", `team limit 1 --backend hand`, ""},
		{"sync", `sync`, ""},
		{"sync", `sync --team docs --as bob`, ""},
		{"sync", `sync --cursor web::3`, ""},
		{"trust", `trust`, ""},
		{"trust", `trust --list`, ""},
		{"trust", `trust`, ""},
		{"trust", `trust --list`, ""},
		{"trust", `trust --as bob`, ""},
		{"trust", `trust --remove`, ""},
		{"trust", `trust --remove`, ""},
	}
}

// These are team files of the story: one of them is as it should be.
const (
	goodFile = `team: {name: press}
members:
  printer: {count: 2}
tasks:
  ink: {subject: Mix the ink, run: make ink}
  paper: {subject: Cut the paper, run: make paper}
  print: {subject: Print the manual, run: make print, after: [ink, paper], owner: printer-2}
  bind: {subject: Bind it, run: make bind, after: print, plan: true}
`
	badFile = `members:
  printer: {backend: press}
tasks:
  print: {run: make print, after: [ink], prio: high}
  bind: {run: make bind, after: bind}
`
)

// TestGolden tells the story and compares every page with what it looked like
// when somebody last looked at it and was content.
func TestGolden(t *testing.T) {
	d := newDesk(t)
	if err := os.Mkdir(filepath.Join(d.dir, "cwd"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"team.yaml": goodFile, "bad.yaml": badFile} {
		if err := os.WriteFile(filepath.Join(d.dir, "cwd", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pages := map[string]string{}
	for _, s := range story() {
		line := strings.ReplaceAll(s.line, "ASK", d.last(s.line, "ASK", "ask"))
		line = strings.ReplaceAll(line, "TOKEN", d.last(s.line, "TOKEN", "token"))
		d.stdin, d.limit = s.in, time.Minute
		if s.verb == "watch" {
			d.limit = 300 * time.Millisecond
		}
		switch s.line {
		case "doctor":
			d.plant()
		case "trust --list":
			d.plantHooks()
		}
		out, code := d.run(shellWords(line)...)
		if s.verb == "" {
			if code != 0 {
				t.Fatalf("%s: exit code %d\n%s", s.line, code, out)
			}
			continue
		}
		if code != 0 {
			out += fmt.Sprintf("(exit code %d)\n", code)
		}
		pages[s.verb] += "$ " + strings.TrimSpace("cadre "+line) + "\n" + out + "\n"
	}
	for _, v := range coord.Verbs() {
		if pages[v.Name] == "" {
			t.Errorf("%s has no page in the story", v.Name)
		}
	}
	for verb, page := range pages {
		golden(t, filepath.Join("testdata", "golden", strings.ReplaceAll(verb, " ", "-")+".txt"), page)
	}
}

// plant puts into Claude Code's folder what another program might.
func (d *desk) plant() {
	for name, content := range map[string]string{
		"tasks/plans/1.json":           `{"id":"1","subject":"Old plan","description":"","status":"open","blocks":[],"blockedBy":["7"]}`,
		"tasks/plans/2.json":           `{"id":"2","subject":"Half a pl`,
		"teams/plans/inboxes/zoe.json": `[{"from":"ann","text":"Hello?","timestamp":"2026-03-01T09:00:00.000Z","read":false}]`,
	} {
		path := filepath.Join(d.dir, ".claude", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
}

// plantHooks gives the folder settings of its own.
func (d *desk) plantHooks() {
	path := filepath.Join(d.dir, "cwd", ".claude", "settings.json")
	hooks := `{"hooks":{"TaskCreated":[{"hooks":[{"command":"./named-well"}]}],"TaskCompleted":[{"matcher":"*","hooks":[{"command":"make test\n\u001b[2Kmake lint"}]}]}}`
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(hooks), 0o600)); err != nil {
		d.t.Fatal(err)
	}
}

// last is the ask or the token that a command is about: the newest there is.
func (d *desk) last(line, word, noun string) string {
	if !strings.Contains(line, word) {
		return ""
	}
	out, _ := d.run(noun, "list", "-q")
	words := strings.Fields(out)
	if len(words) == 0 {
		d.t.Fatalf("there is no %s", noun)
	}
	return words[len(words)-1]
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is out of date; run go test ./cli -update and look at it\n%s", path, firstDifference(got, string(want)))
	}
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(the end)", "(the end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n got: %s\nwant: %s", i+1, a, b)
		}
	}
	return ""
}

// shellWords splits a command line as a shell does, double quotes included.
func shellWords(s string) []string {
	var words []string
	var word strings.Builder
	quoted, open := false, false
	for _, r := range s {
		switch {
		case r == '"':
			quoted, open = !quoted, true
		case r == ' ' && !quoted:
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
