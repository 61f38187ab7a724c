package cli

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cadre"
	"cadre/coord"
)

// reader is a form that takes its verb from files: other doors hand the same
// verb over whole.
type reader interface {
	// read gives the verb to carry out.
	read(*program) (any, error)
}

// finisher is a form that does something with the answer before it is shown.
type finisher interface {
	finish(*program, any) (any, error)
}

// closer is a form that has something to give back when it is over.
type closer interface{ close() }

// newForm gives what a verb's flags and arguments are set in: the verb itself,
// or the shape that it has on the command line.
func newForm(v coord.Verb) any {
	switch v.Name {
	case "import":
		return &importFile{}
	case "todo write":
		return &todoFile{}
	case "audit verify":
		return &verifyFiles{}
	case "audit anchor":
		return &signedAnchor{}
	case "doctor":
		return &doctorHere{}
	case "install":
		return &installHere{}
	case "uninstall":
		return &uninstallHere{}
	case "run":
		return &runFile{}
	case "demo":
		return &demoFiles{}
	case "up":
		return &upFile{}
	}
	return v.New()
}

// carryOut has a verb carried out and shows the answer.
func (p *program) carryOut(ctx context.Context, name string, form any) error {
	if err := p.checkOptions(); err != nil {
		return err
	}
	return orHelp(name, p.notInACircle(name, p.perform(ctx, name, form)))
}

// orHelp has a refusal that names no command name the help of its own.
func orHelp(name string, err error) error {
	e, ok := errors.AsType[*cadre.Error](err)
	if !ok || e.Hint != "" || e.Code == cadre.CodeInternal {
		return err
	}
	other := *e
	other.Hint = "cadre help " + name
	return &other
}

// notInACircle takes the audit out of the hint of an error of the audit itself:
// whoever did what the hint says would get the same error for ever.
func (p *program) notInACircle(name string, err error) error {
	e, ok := errors.AsType[*cadre.Error](err)
	if !ok || name != "audit verify" || !strings.HasPrefix(e.Hint, "cadre audit verify") {
		return err
	}
	other := *e
	if other.Hint = ""; p.env["CADRE_TOKEN"] != "" {
		other.Hint = "as the operator: env -u CADRE_TOKEN cadre audit verify"
	} else if dir, err := p.stateDir(); err == nil {
		other.Hint = "ls -la " + dir
	}
	return &other
}

func (p *program) perform(ctx context.Context, name string, form any) error {
	if c, ok := form.(closer); ok {
		defer c.close()
	}
	verb := form
	if r, ok := form.(reader); ok {
		var err error
		if verb, err = r.read(p); err != nil {
			return err
		}
	}
	p.verb = verb
	if v, ok := verb.(*coord.Backup); ok && !filepath.IsAbs(v.Path) {
		v.Path = filepath.Join(p.cwd, v.Path)
	}
	s, err := p.session(ctx, verb)
	if err != nil {
		return err
	}
	bar := p.progress(name)
	answer, err := s.Do(cadre.WithProgress(ctx, bar.report), name, verb)
	bar.clear()
	if c, ok := form.(closer); ok {
		c.close() // before anything else is shown
	}
	if err != nil {
		return err
	}
	if f, ok := form.(finisher); ok {
		if answer, err = f.finish(p, answer); err != nil {
			return err
		}
	}
	return p.show(ctx, s, name, answer)
}

// runRoot is the program's name alone: one screen of what is going on.
func (p *program) runRoot(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return p.unknownCommand(cmd, args)
	}
	if err := p.checkOptions(); err != nil {
		return err
	}
	verb := &coord.Overview{}
	s, err := p.session(cmd.Context(), verb)
	if err != nil {
		return err
	}
	verb.Since = p.seen(s)
	answer, err := s.Do(cmd.Context(), "overview", verb)
	if err != nil {
		return err
	}
	if err := p.show(cmd.Context(), s, "overview", answer); err != nil {
		return err
	}
	if view, ok := answer.(*coord.OverviewView); ok && !p.json && !p.jsonl && !view.Fresh {
		p.markSeen(s, view.Head)
	}
	return nil
}

// checkOptions refuses global flags that contradict each other.
func (p *program) checkOptions() error {
	switch p.color {
	case "auto", "always", "never":
	default:
		return usage("--color auto", "--color is auto, always or never, not %q", p.color)
	}
	n := 0
	for _, on := range []bool{p.json, p.jsonl, p.quiet} {
		if on {
			n++
		}
	}
	if n > 1 {
		return usage("give one of them", "--json, --jsonl and --quiet contradict each other")
	}
	return nil
}

// isText says whether an answer is a text that was asked for, and has no ids.
func isText(answer any) bool {
	switch answer.(type) {
	case *snippet, json.RawMessage:
		return true
	}
	return false
}

// show writes an answer in the form that was asked for.
func (p *program) show(ctx context.Context, s *coord.Session, name string, answer any) error {
	if stream, ok := answer.(coord.Stream); ok {
		return p.showStream(ctx, s, name, stream)
	}
	switch {
	case p.json:
		if err := p.writeJSON(answer); err != nil {
			return err
		}
	case p.jsonl:
		if err := p.writeLines(answer); err != nil {
			return err
		}
	case p.quiet && !isText(answer):
		for _, id := range idsOf(answer) {
			p.writeID(id)
		}
	default:
		render := rendererOf(name)
		if render == nil {
			return errors.New(name + " has no text form")
		}
		render(p.page(ctx, s), answer)
	}
	switch report := answer.(type) {
	case *coord.RunReport:
		if code := runExit(report.Outcome); code != 0 {
			return findings(code)
		}
	case *cadre.AuditReport:
		if len(report.Findings) > 0 {
			return findings(1)
		}
	case *examined:
		if !report.Healthy() {
			return findings(1)
		}
	}
	return nil
}
