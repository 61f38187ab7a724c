package coord

import (
	"context"
	"errors"

	"cadre"
)

// Install gives the agents of another program Cadre's tools, by an entry in that
// program's own settings. Without Write it only says what it would change.
type Install struct {
	Tool    string `json:"tool" arg:"TOOL" values:"claude,codex,gemini,cursor,vscode,opencode,other" help:"claude, codex or gemini; with --print also cursor, vscode, opencode or other"`
	Project bool   `json:"project,omitempty" help:"for this folder alone, in the settings that a project shares"`
	Hooks   bool   `json:"hooks,omitempty" help:"its hooks too, which tell sessions of mail and work (Claude Code)"`
	Print   bool   `json:"print,omitempty" help:"only the entry, to put in by hand"`
	Replace bool   `json:"replace,omitempty" help:"also an entry of that name that starts something else"`
	Write   bool   `json:"write,omitempty" help:"write it"`

	Settings Settings `json:"-" door:"-"` // of the programs on this machine
}

// Settings does what an Install asks for, or an Uninstall.
type Settings interface {
	Print(tool string) (any, error)
	Install(v *Install) (any, error)
	Uninstall(v *Uninstall) (any, error)
}

// Run installs. Only the operator may have something written.
func (v *Install) Run(_ context.Context, s *Session) (any, error) {
	if v.Print && (v.Write || v.Project || v.Hooks || v.Replace) {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre install "+v.Tool+" --print", "--print only shows, and goes with nothing else")
	}
	if err := mayChange(s, v.Settings, v.Write, "install "+v.Tool); err != nil {
		return nil, err
	}
	if v.Print {
		return v.Settings.Print(v.Tool)
	}
	return v.Settings.Install(v)
}

// Uninstall takes away what Install put in, hooks too.
type Uninstall struct {
	Tool    string `json:"tool" arg:"TOOL" values:"claude,codex,gemini,cursor,vscode,opencode" help:"claude, codex or gemini"`
	Project bool   `json:"project,omitempty" help:"for this folder alone, in the settings that a project shares"`
	Write   bool   `json:"write,omitempty" help:"write it"`

	Settings Settings `json:"-" door:"-"`
}

// Run takes it away.
func (v *Uninstall) Run(_ context.Context, s *Session) (any, error) {
	if err := mayChange(s, v.Settings, v.Write, "uninstall "+v.Tool); err != nil {
		return nil, err
	}
	return v.Settings.Uninstall(v)
}

func mayChange(s *Session, settings Settings, write bool, command string) error {
	if settings == nil {
		return errors.New("there are no settings to change here")
	}
	if write && s.Actor.Kind != cadre.ActorOperator {
		return cadre.Refuse(cadre.RuleOperator, askOperator(command+" --write"), "only the operator may change another program's settings")
	}
	return nil
}
