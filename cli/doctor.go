package cli

import (
	"context"
	"time"

	"cadre"
	"cadre/coord"
	"cadre/doctor"
)

// doctorHere is the doctor on the command line: it examines the folder that this
// environment names.
type doctorHere struct{ coord.Doctor }

func (v *doctorHere) read(p *program) (any, error) {
	if p.env["CADRE_CLAUDE"] == "off" {
		return nil, usage("env -u CADRE_CLAUDE cadre doctor", "CADRE_CLAUDE is off, which leaves Claude Code's files alone")
	}
	folder, err := p.claudeDir()
	if err != nil {
		return nil, err
	}
	state, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	v.Clinic = clinic{&doctor.Doctor{Folder: folder, State: state, Now: func() time.Time { return p.now().Wall }, Left: p.left, Used: p.used}, p}
	return &v.Doctor, nil
}

// left gives the members of a team that are gone and were no client's. The record alone
// says so: looking through the files would change what is to be examined. What cannot be
// read tells of nobody.
func (p *program) left(ctx context.Context, team string) []string {
	var names []string
	scope, err := cadre.ParseScope(team)
	if err != nil {
		return nil
	}
	_ = p.record.View(ctx, scope, func(s cadre.Snap) error {
		for m, err := range s.Members() {
			if err != nil {
				return err
			}
			if m.State == cadre.StateDeparted && m.Backend != cadre.BackendClient {
				names = append(names, m.Name)
			}
		}
		return nil
	})
	return names
}

// used gives the largest number that a task of a list ever had, as the record knows it.
func (p *program) used(ctx context.Context, list string) (n uint64) {
	scope, err := cadre.ParseScope(list)
	if err != nil {
		return 0
	}
	_ = p.record.View(ctx, scope, func(s cadre.Snap) error {
		n = max(1, s.Head().Next) - 1
		return nil
	})
	return n
}

// clinic gives a doctor's reports as answers of a verb.
type clinic struct {
	*doctor.Doctor
	p *program
}

// examined is a report, and what other programs have of Cadre.
type examined struct {
	*doctor.Report
	Programs []agentProgram `json:"programs,omitempty"`
}

func (c clinic) Examine(ctx context.Context) (any, error) {
	r, err := c.Doctor.Examine(ctx)
	if err != nil {
		return nil, err
	}
	programs, err := c.p.agentPrograms(ctx)
	return &examined{r, programs}, err
}

func (c clinic) Fix(ctx context.Context, dryRun bool) (any, error) {
	r, err := c.Doctor.Fix(ctx, dryRun)
	return &examined{Report: r}, err
}

func (c clinic) Restore(ctx context.Context, backup string) (any, error) {
	r, err := c.Doctor.Restore(ctx, backup)
	return &examined{Report: r}, err
}

// doctor prints what was done, then what is wrong, then the programs that run agents.
func (pg *page) doctor(r *examined) {
	pg.report(r.Report)
	if len(r.Programs) == 0 {
		return
	}
	t := newTable("PROGRAM", "VERSION", "CADRE'S TOOLS")
	for _, a := range r.Programs {
		has := cell{"✓ in " + a.Settings, green}
		if !a.Installed {
			has = cell{"– " + a.Hint, yellow}
		}
		t.add(text(a.Name), text(a.Version), has)
	}
	pg.printf("\n")
	t.print(pg)
}

func (pg *page) report(r *doctor.Report) {
	for _, c := range r.Changes {
		pg.changed(c)
	}
	if len(r.Changes) > 0 && r.Changes[0].Action == doctor.PutBack {
		return // nothing was examined
	}
	if len(r.Changes) > 0 {
		pg.printf("\n")
	}
	mendable := 0
	for _, f := range r.Findings {
		pg.printf("%s  %s\n", pg.paint(red, "✗ "+f.Code), line(f.Place))
		pg.block("    ", f.What)
		pg.block("    ", "Claude Code "+f.Client)
		if f.Repair != "" {
			mendable++
			pg.block("    ", "--fix: "+f.Repair)
		} else {
			pg.block("    ", "you: "+f.Advice)
		}
	}
	sum := cell{"✓ healthy", green}
	if len(r.Findings) > 0 {
		sum = cell{count(len(r.Findings), "finding"), red}
	}
	pg.printf("%s  %s  %s of %s, %s, mail of %s\n", pg.paint(sum.style, sum.text), line(r.Folder),
		count(r.Tasks, "task"), count(r.Lists, "list"), count(r.Teams, "team"), count(r.Inboxes, "member"))
	switch {
	case r.Backup != "":
		pg.hint("copies are in %s; to take it back: cadre doctor --restore", line(r.Backup))
	case len(r.Changes) > 0:
		pg.hint("nothing was changed; to do it: cadre doctor --fix")
	case mendable > 0:
		pg.hint("to mend %d of them: cadre doctor --fix", mendable)
	}
}

// changed prints one change that was made, was not, or would be.
func (pg *page) changed(c doctor.Change) {
	state, why := cell{"· would " + c.Action, dim}, c.Why
	switch {
	case c.Done:
		state = cell{"✓ " + c.Action, green}
	case c.Left != "":
		state, why = cell{"✗ " + c.Action, red}, c.Left
	}
	pg.printf("%s  %s\n", pg.paint(state.style, line(state.text)), line(c.Path))
	if why != "" {
		pg.block("    ", why)
	}
}
