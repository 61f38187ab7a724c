package coord

import (
	"context"
	"errors"

	"cadre"
)

// Install gives the agents of another program Cadre's tools, by an entry in that
// program's own settings. Without Write it only says what it would change.
type Install struct {
	Tool    string `json:"tool" arg:"TOOL" help:"claude, codex or gemini; with --print also cursor, vscode, opencode or other"`
	Project bool   `json:"project,omitempty" help:"for this folder alone, in the settings that a project shares"`
	Print   bool   `json:"print,omitempty" help:"only the entry, to put in by hand"`
	Write   bool   `json:"write,omitempty" help:"write it"`

	Settings Settings `json:"-" door:"-"` // of the programs on this machine
}

// Settings does what an Install asks for. With drop it takes the entry away.
type Settings interface {
	Print(tool string) (any, error)
	Change(tool string, project, drop, write bool) (any, error)
}

// Run installs. Only the operator may have something written.
func (v *Install) Run(_ context.Context, s *Session) (any, error) {
	if v.Print && (v.Write || v.Project) {
		return nil, cadre.Refuse(cadre.RuleValue, "cadre install "+v.Tool+" --print", "--print only shows, and goes with nothing else")
	}
	if v.Print && v.Settings != nil {
		return v.Settings.Print(v.Tool)
	}
	return change(s, v.Settings, "install", v.Tool, v.Project, v.Write)
}

// Uninstall takes away what Install put in.
type Uninstall struct {
	Tool    string `json:"tool" arg:"TOOL" help:"claude, codex or gemini"`
	Project bool   `json:"project,omitempty" help:"for this folder alone, in the settings that a project shares"`
	Write   bool   `json:"write,omitempty" help:"write it"`

	Settings Settings `json:"-" door:"-"`
}

// Run takes it away.
func (v *Uninstall) Run(_ context.Context, s *Session) (any, error) {
	return change(s, v.Settings, "uninstall", v.Tool, v.Project, v.Write)
}

func change(s *Session, settings Settings, verb, tool string, project, write bool) (any, error) {
	switch {
	case settings == nil:
		return nil, errors.New("there are no settings to change here")
	case write && s.Actor.Kind != cadre.ActorOperator:
		return nil, cadre.Refuse(cadre.RuleOperator, askOperator(verb+" "+tool+" --write"), "only the operator may change another program's settings")
	}
	return settings.Change(tool, project, verb == "uninstall", write)
}
