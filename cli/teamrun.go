package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/agent/scripted"
	"cadre/coord"
	"cadre/memstore"
	"cadre/teamfile"
)

// runFile is the run verb on the command line: its team comes from a file.
type runFile struct {
	Path string `json:"file,omitempty" arg:"[FILE]" help:"the team file, - for standard input; team.yaml without"`
	coord.Run
	Simulate bool   `json:"simulate,omitempty" help:"play it with scripted agents: nothing is run and nothing is written"`
	Report   string `json:"report,omitempty" help:"write the report to this file too, as Markdown"`
	JUnit    string `json:"junit,omitempty" help:"write the report to this file too, as JUnit XML"`
	Schema   bool   `json:"schema,omitempty" help:"only write the JSON schema of team files, for editors"`

	live *live
}

func (v *runFile) read(p *program) (any, error) {
	if v.Schema {
		return schema{}, nil
	}
	if v.DryRun && v.Simulate {
		return nil, usage("give one of them", "--dry-run shows the plan and --simulate plays it")
	}
	check := p.runtime.Check
	if v.Simulate {
		check = nil
	}
	none := v.Path == ""
	if none {
		v.Path = "team.yaml"
	}
	var err error
	if v.File, err = p.teamFile(v.Path, check); err != nil {
		if e := cadre.AsError(err); none && e.Rule == cadre.RuleMissing {
			return nil, cadre.Refuse(e.Rule, `echo '{members: {ann: {}}, tasks: {hello: {run: echo hello}}}' > team.yaml`, "%s", e.Message)
		}
		return nil, err
	}
	for _, path := range []string{v.Report, v.JUnit} {
		if err := writable(path); err != nil {
			return nil, err
		}
	}
	v.Attended = p.inTerm && p.errTerm && !p.json && !p.jsonl && !p.quiet
	v.live = p.newLive(v.Attended)
	v.Run.View = v.live
	if v.Simulate {
		return &v.Run, p.simulate(v)
	}
	return &v.Run, nil
}

// writable says at once what would keep a report from being written when all is done.
func writable(path string) error {
	if path == "" {
		return nil
	}
	_, before := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return unwritten(path, err)
	}
	if before != nil {
		_ = os.Remove(path)
	}
	return f.Close()
}

func unwritten(path string, err error) error {
	return cadre.Fault(err, "ls -ld "+filepath.Dir(path), "writing the report")
}

// teamFile reads a team file. A team that was named on the command line is used in
// place of the file's.
func (p *program) teamFile(path string, check func(*cadre.Member) []string) (*teamfile.File, error) {
	at := path
	if at != "-" && !filepath.IsAbs(at) {
		at = filepath.Join(p.cwd, at)
	}
	in, err := p.openInput(at)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, teamfile.MaxSize+1))
	if err != nil {
		return nil, cadre.Fault(err, "ls -l "+path, "reading the team file")
	}
	dir := filepath.Dir(at)
	if at == "-" {
		dir = p.cwd
	}
	f, err := teamfile.Parse(path, dir, data, check)
	if err != nil {
		return nil, err
	}
	other, err := p.explicitScope()
	if other != "" && err == nil {
		f.Team.Name, f.Renamed, err = other, true, cadre.CheckTeamName(other)
	}
	return f, err
}

// finish writes the report where it is wanted too.
func (v *runFile) finish(p *program, answer any) (any, error) {
	report, ok := answer.(*coord.RunReport)
	if !ok {
		return answer, nil
	}
	for _, out := range []struct {
		path string
		text func(*coord.RunReport) []byte
	}{{v.Report, markdownReport}, {v.JUnit, junitReport}} {
		if out.path == "" {
			continue
		}
		if err := os.WriteFile(out.path, out.text(report), 0o644); err != nil {
			return nil, unwritten(out.path, err)
		}
	}
	return answer, nil
}

// close gives the terminal back.
func (v *runFile) close() {
	if v.live != nil {
		v.live.close()
	}
}

// runExit is the exit code of a run.
func runExit(o coord.Outcome) int {
	switch o {
	case coord.RunCompleted:
		return 0
	case coord.RunNeedsPerson:
		return exitCode(cadre.CodePerson)
	case coord.RunTimeout:
		return exitCode(cadre.CodeTimeout)
	}
	return 1
}

// upFile is the up verb on the command line: its team may come from a file.
type upFile struct {
	Path string `json:"file,omitempty" arg:"[FILE]" help:"a team file: make the team so first"`
	coord.Up
}

func (v *upFile) read(p *program) (any, error) {
	if v.Path == "" {
		return &v.Up, nil
	}
	var err error
	v.File, err = p.teamFile(v.Path, p.runtime.Check)
	return &v.Up, err
}

// schema is the question for the JSON schema of team files.
type schema struct{}

func (schema) Run(context.Context, *coord.Session) (any, error) {
	return json.RawMessage(teamfile.Schema()), nil
}

// simulate puts a store in memory and scripted members in place of the real ones.
func (p *program) simulate(v *runFile) error {
	dir, err := os.MkdirTemp("", "cadre-simulate-")
	if err != nil {
		return err
	}
	p.borrowed = dir
	v.File.Hooks = teamfile.Hooks{} // they would be run
	for i := range v.File.Members {
		v.File.Members[i].Isolation = "" // nothing is written
	}
	p.open = func(_, _ string) (cadre.Store, error) { return memstore.New(), nil }
	p.env["CADRE_CLAUDE"], p.env["CLAUDE_CONFIG_DIR"] = "off", dir // nor are hooks of the settings run
	delete(p.env, "CADRE_TOKEN")                                   // which is valid in the real state alone
	const pace = 200 * time.Millisecond
	backends := map[cadre.Backend]agent.Backend{}
	for _, m := range v.File.Members {
		backends[cadre.Backend(m.Backend)] = scripted.Backend{Pace: pace, Runs: m.Backend == string(cadre.BackendShell)}
	}
	p.runtime = simulation{supervisors{p}, backends, dir}
	v.Attended = false
	v.Run.View = yesSayer{v.live}
	return nil
}

// simulation runs scripted members.
type simulation struct {
	supervisors
	backends map[cadre.Backend]agent.Backend
	dir      string
}

func (r simulation) Serve(ctx context.Context, s *coord.Session, v *coord.Up) error {
	return agent.NewSupervisor(s, agent.Options{Backends: r.backends, Dir: r.dir, Stagger: v.Stagger}).Run(ctx, v.Ready)
}

// yesSayer answers for the person of a simulation.
type yesSayer struct{ coord.RunView }

func (y yesSayer) Stands(s *coord.Session, now *coord.Standing) {
	y.RunView.Stands(s, now)
	person := *s
	person.Actor = cadre.Actor{Kind: cadre.ActorOperator, Name: string(cadre.RoleOperator), Proof: cadre.ProofTerminal}
	for _, a := range now.Asks {
		if a.Kind == cadre.AskPerson {
			continue // that is how it ended
		}
		if _, err := person.Do(context.Background(), "ask approve", &cadre.AskApprove{ID: a.ID, Text: "played"}); err != nil && !errors.Is(err, cadre.ErrConflict) {
			s.Warn("%v", err)
		}
	}
}

// seconds writes how long something took.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
