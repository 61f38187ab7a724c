package cli

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // for the team
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
	"cadre/internal/proc"
	"cadre/teamfile"
)

//go:embed demo/team.yaml
var demoTeam []byte

// demoTime is how long the demo may take.
const demoTime = time.Minute

// demoFiles are where the demo leaves something.
type demoFiles struct {
	Report string `json:"report,omitempty" help:"write the report to this file too"`
	Record string `json:"record,omitempty" help:"write the team's whole log to this file, one event a line"`
}

// demo is the whole of it in a throw-away folder: a team of real processes surveys the
// folder that it is started in, and whatever is said to happen is looked for afterwards.
type demo struct {
	demoFiles
	*program          // whose terminal it is
	inner    *program // that of the throw-away folder
	place    string
	shows    *live
	passed   []string // what was looked at, and is so

	mu     sync.Mutex
	victim string // the member that was killed
}

func (p *program) demoCommand() *cobra.Command {
	c := &command{verb: coord.Verb{Name: "demo"}}
	cmd := &cobra.Command{
		Use: "demo", Short: "Show it all: a team surveys this folder, in a throw-away state",
		Example: "cadre demo --report survey.md", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			if err := p.checkOptions(); err != nil {
				return err
			}
			return (&demo{demoFiles: *c.form.(*demoFiles), program: p}).run(cmd.Context())
		},
	}
	p.commands[cmd] = c
	return cmd
}

// run makes the folder, has everything happen there, and takes it away again.
func (d *demo) run(ctx context.Context) error {
	if err := proc.Supported(); err != nil {
		return cadre.Fault(err, "cadre run --simulate team.yaml", "the demo runs real members")
	}
	place, err := os.MkdirTemp("", "cadre-demo-")
	if err != nil {
		return err
	}
	d.place = place
	defer os.RemoveAll(place)
	ctx, cancel := context.WithTimeout(ctx, demoTime)
	defer cancel()
	if err := d.prepare(); err != nil {
		return err
	}
	defer func() {
		if d.inner.store != nil {
			_ = d.inner.store.Close() // the folder goes away
		}
	}()
	s, report, err := d.survey(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, *coord.Session) error{d.race, d.takeBack, d.audit} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return d.tell(ctx, s, report)
}

// prepare makes a state of its own: nothing of the caller's environment gets in but where
// programs are, and what its terminal is.
func (d *demo) prepare() error {
	for _, dir := range []string{d.path("home"), d.path("out")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	env := map[string]string{
		"PATH": d.env["PATH"], "HOME": d.path("home"), "CADRE_STATE_DIR": d.path("state"),
		"CLAUDE_CONFIG_DIR": d.path("claude"), "XDG_CACHE_HOME": d.path("cache"), "CADRE_DEMO": d.path("out"),
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", // it only reads
	}
	for _, name := range []string{"TERM", "NO_COLOR", "LANG", "LC_ALL", "TMPDIR"} {
		if v := d.env[name]; v != "" {
			env[name] = v
		}
	}
	d.inner = &program{
		stdin: strings.NewReader(""), out: bufio.NewWriter(&bytes.Buffer{}), stderr: d.stderr, env: env, cwd: d.cwd, now: d.now, open: openState,
		patience: time.Hour, errTerm: d.errTerm, host: "demo",
	}
	d.inner.color = d.color
	for _, k := range slices.Sorted(maps.Keys(env)) {
		d.inner.environ = append(d.inner.environ, k+"="+env[k])
	}
	d.inner.runtime = supervisors{d.inner}
	return nil
}

func (d *demo) path(name string) string { return filepath.Join(d.place, name) }

// survey runs the team.
func (d *demo) survey(ctx context.Context) (*coord.Session, *coord.RunReport, error) {
	d.shows = d.newLive(false)
	defer d.shows.close()
	// The first operator token of a new state folder: kept in memory, and in no
	// environment that a member could read.
	first := &coord.TokenCreate{Role: cadre.RoleOperator, Note: "the demo"}
	s, err := d.inner.session(ctx, first)
	if err != nil {
		return nil, nil, err
	}
	issued, err := s.Do(ctx, "token create", first)
	if err != nil {
		return nil, nil, err
	}
	d.inner.env["CADRE_TOKEN"] = issued.(*coord.Issued).Token
	file, err := teamfile.Parse("demo/team.yaml", d.cwd, demoTeam, d.inner.runtime.Check)
	if err != nil {
		return nil, nil, err
	}
	run := &coord.Run{File: file, View: d}
	if s, err = d.inner.session(ctx, run); err != nil {
		return nil, nil, err
	}
	answer, err := s.Do(ctx, "run", run)
	if err != nil {
		return nil, nil, err
	}
	s.Scope = cadre.Scope(file.Team.Name)
	report := answer.(*coord.RunReport)
	return s, report, d.check(ctx, s, report)
}

// Saw shows what happens, and kills whoever reads every file for the first time.
func (d *demo) Saw(s *coord.Session, e cadre.Event) {
	d.shows.Saw(s, e)
	t, ok := e.After.(*cadre.Task)
	before, _ := e.Before.(*cadre.Task)
	if !ok || t.Key != "sums" || t.Status != cadre.InProgress || before == nil || before.Status == cadre.InProgress || t.Attempts > 0 {
		return
	}
	time.AfterFunc(time.Second, func() { d.kill(s, t.Owner) })
}

// kill ends a member as hard as that can be done.
func (d *demo) kill(s *coord.Session, name string) {
	answer, err := s.Do(context.Background(), "member show", &cadre.MemberShow{Name: name})
	if m, ok := answer.(*cadre.MemberView); err == nil && ok && m.Process != nil {
		d.mu.Lock()
		d.victim = name
		d.mu.Unlock()
		d.shows.tell(cell{fmt.Sprintf("$ kill -9 %d      # %s, in the middle of its work", m.Process.PID, name), bold})
		var process *os.Process
		if process, err = os.FindProcess(m.Process.PID); err == nil {
			err = process.Kill()
		}
	}
	if err != nil {
		d.warn("%v", err)
	}
}

// Stands shows how things stand, and approves the plan as the operator.
func (d *demo) Stands(s *coord.Session, now *coord.Standing) {
	d.shows.Stands(s, now)
	for _, a := range now.Asks {
		if a.Kind != cadre.AskPlan {
			continue
		}
		d.shows.tell(cell{"$ cadre ask approve " + string(a.ID) + "      # with the operator token", bold})
		_, err := s.Do(context.Background(), "ask approve", &cadre.AskApprove{ID: a.ID, Digest: a.Digest, Text: "the demo's operator has read it"})
		if err != nil {
			d.warn("%v", err)
		}
	}
}

// check looks whether it all happened as it was to.
func (d *demo) check(ctx context.Context, s *coord.Session, r *coord.RunReport) error {
	byKey := map[string]*coord.RunTask{}
	for _, t := range r.Tasks {
		byKey[t.Key] = t
	}
	sums, folders, publish := byKey["sums"], byKey["folders"], byKey["publish"]
	d.mu.Lock()
	victim := d.victim
	d.mu.Unlock()
	list, err := s.Do(ctx, "member list", &cadre.MemberList{All: true})
	if err != nil {
		return err
	}
	left := slices.ContainsFunc(list.([]*cadre.MemberView), func(m *cadre.MemberView) bool { return m.Process != nil })
	var approved *cadre.Event
	for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{}, false) {
		if err != nil {
			return err
		}
		if a, ok := e.After.(*cadre.Ask); ok && a.Kind == cadre.AskPlan && a.State == cadre.AskApproved {
			approved = &e
		}
	}
	for _, c := range []struct {
		so   bool
		what string
	}{
		{r.Outcome == coord.RunCompleted, fmt.Sprintf("all %d tasks are done", len(r.Tasks))},
		{len(folders.Tries) == 2 && folders.Tries[0].How == "failed" && folders.Tries[1].How == "done", "a task that failed was tried again"},
		{len(sums.Tries) == 2 && sums.Tries[0].By == victim && sums.Tries[1].By != victim && sums.Tries[1].How == "done", "a member was killed in the middle of its work, and another did that work"},
		{publish.Plan != nil && approved != nil && approved.Actor.Proof == cadre.ProofToken, "nothing was handed over before the operator had approved it"},
		{!left, "nothing of the members is left running"},
	} {
		if !c.so {
			return cadre.Fault(nil, "cadre demo", "the demo went wrong: this is not so: %s", c.what)
		}
		d.passed = append(d.passed, c.what)
	}
	return nil
}

// shown runs the program itself, as a person would type it.
func (d *demo) shown(ctx context.Context, args ...string) (string, int, error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	cmd := exec.CommandContext(ctx, self, append(args, "--team", "survey")...)
	cmd.Env, cmd.Dir = d.inner.environ, d.cwd
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return "", 0, err
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode(), nil
}

// must runs the program, shows it, and fails with it.
func (d *demo) must(ctx context.Context, args ...string) (string, error) {
	words := each(args, func(a string) string {
		if strings.Contains(a, " ") {
			return `"` + a + `"`
		}
		return a
	})
	d.talk("$ cadre %s", strings.Join(words, " "))
	out, code, err := d.shown(ctx, args...)
	if err == nil && code != 0 {
		err = cadre.Fault(nil, "cadre demo", "the demo went wrong: cadre %s: %s", strings.Join(args, " "), out)
	}
	if err == nil {
		d.talk("%s", out)
	}
	return out, err
}

// racers is how many processes claim one task at the same moment.
const racers = 16

// race has many processes claim one task.
func (d *demo) race(ctx context.Context, s *coord.Session) error {
	d.talk("\nA race: %d processes claim one task at the same moment", racers)
	id, err := d.must(ctx, "task", "add", "Be the first", "-q")
	if err != nil {
		return err
	}
	type end struct {
		said string
		code int
		err  error
	}
	ends := make(chan end, racers)
	for i := range racers {
		go func() {
			said, code, err := d.shown(ctx, "task", "claim", id, "--as", fmt.Sprintf("racer-%d", i+1))
			ends <- end{said, code, err}
		}()
	}
	var won int
	var losers []string
	for range racers {
		e := <-ends
		switch {
		case e.err != nil:
			return e.err
		case e.code == 0:
			won++
		case e.code == exitCode(cadre.CodeConflict):
			losers = append(losers, e.said)
		}
	}
	shown, err := s.Do(ctx, "task show", &cadre.TaskShow{ID: cadre.TaskID(id)})
	if err != nil {
		return err
	}
	winner := shown.(*cadre.TaskView).Owner
	told := len(slices.DeleteFunc(slices.Clone(losers), func(said string) bool { return !strings.Contains(said, winner) }))
	what := fmt.Sprintf("%d won (%s), %d lost, and %d of them were told who won", won, winner, len(losers), told)
	if won != 1 || told != racers-1 {
		return cadre.Fault(nil, "cadre demo", "the race went wrong: %s", what)
	}
	d.talk("%s", what)
	d.passed = append(d.passed, fmt.Sprintf("of %d processes that claimed one task exactly one won", racers))
	return nil
}

// takeBack makes a mistake, and takes it back.
func (d *demo) takeBack(ctx context.Context, s *coord.Session) error {
	d.talk("\nA mistake, and back again")
	for _, args := range [][]string{{"task", "update", "1", "--subject", "Lits the flies"}, {"undo"}} {
		if _, err := d.must(ctx, args...); err != nil {
			return err
		}
	}
	shown, err := s.Do(ctx, "task show", &cadre.TaskShow{ID: "1"})
	if err == nil && shown.(*cadre.TaskView).Subject != "List the files" {
		err = cadre.Fault(nil, "cadre demo", "the demo went wrong: the change was not taken back")
	}
	d.passed = append(d.passed, "a mistake was taken back, as a new change")
	return err
}

// audit checks the record.
func (d *demo) audit(ctx context.Context, s *coord.Session) error {
	d.talk("\nProof that nobody rewrote the record")
	out, err := d.must(ctx, "audit", "verify")
	d.passed = append(d.passed, "the record holds: "+strings.Join(strings.Fields(strings.TrimPrefix(out, "✓ the record holds")), " "))
	return err
}

// tell writes the report: what the team found, and how it came about.
func (d *demo) tell(ctx context.Context, s *coord.Session, r *coord.RunReport) error {
	found, err := os.ReadFile(filepath.Join(d.path("out"), "report.md"))
	if err != nil {
		return cadre.Fault(err, "cadre demo", "the demo went wrong: the report is missing")
	}
	var b bytes.Buffer
	b.Write(found)
	fmt.Fprintf(&b, "\n## How this report came about\n\n%s\n\n", outcomeLine(&page{program: &program{}}, r))
	b.Write(taskTable(r))
	b.WriteString("\nLooked at afterwards:\n\n")
	for _, what := range d.passed {
		fmt.Fprintf(&b, "- %s\n", what)
	}
	if d.Record != "" {
		if err := d.record(ctx, s); err != nil {
			return err
		}
	}
	if d.Report != "" {
		if err := os.WriteFile(d.Report, b.Bytes(), 0o644); err != nil {
			return cadre.Fault(err, "ls -ld "+filepath.Dir(d.Report), "writing the report")
		}
	}
	if d.json || d.jsonl {
		return d.writeLine(r)
	}
	if d.outTerm {
		d.talk("")
	}
	d.printf("%s", b.String())
	d.talk("\n✓ the demo is over: it all happened as it should, and its folder is gone again")
	return nil
}

// record writes the team's log as it is.
func (d *demo) record(ctx context.Context, s *coord.Session) error {
	f, err := os.Create(d.Record)
	if err != nil {
		return cadre.Fault(err, "ls -ld "+filepath.Dir(d.Record), "writing the recording")
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	for e, err := range s.Store.Events(ctx, s.Scope, cadre.Head{}, false) {
		if err == nil {
			err = encoder(out, e).Encode(e)
		}
		if err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}
