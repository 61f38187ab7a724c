package coord

import (
	"context"
	"errors"

	"cadre"
)

// Doctor examines Claude Code's own folder, and mends it where told to.
type Doctor struct {
	Fix     bool   `json:"fix,omitempty" help:"mend what can be mended, after copying it"`
	DryRun  bool   `json:"dryRun,omitempty" help:"with --fix: only say what would be done"`
	Restore bool   `json:"restore,omitempty" help:"take back what --fix did"`
	Backup  string `json:"backup,omitempty" arg:"[BACKUP]" help:"which fix to take back; without, the newest"`

	Clinic Clinic `json:"-" door:"-"` // what the door found the folder with
}

// Clinic does what a Doctor asks for, in the folder that it is for.
type Clinic interface {
	Examine(context.Context) (any, error)
	Fix(ctx context.Context, dryRun bool) (any, error)
	Restore(ctx context.Context, backup string) (any, error)
}

// Run examines. Only the operator may have something changed.
func (v *Doctor) Run(ctx context.Context, s *Session) (any, error) {
	switch {
	case v.Clinic == nil:
		return nil, errors.New("there is no folder to examine here")
	case v.DryRun && !v.Fix:
		return nil, cadre.Refuse(cadre.RuleValue, "cadre doctor --fix --dry-run", "a dry run is one of --fix")
	case v.Restore && v.Fix:
		return nil, cadre.Refuse(cadre.RuleValue, "cadre doctor --restore", "--fix and --restore contradict each other")
	case v.Backup != "" && !v.Restore:
		return nil, cadre.Refuse(cadre.RuleValue, "cadre doctor --restore "+v.Backup, "a backup is named for --restore")
	case (v.Fix && !v.DryRun || v.Restore) && s.Actor.Kind != cadre.ActorOperator:
		return nil, cadre.Refuse(cadre.RuleOperator, askOperator("doctor --fix"), "only the operator may have Claude Code's files mended")
	case v.Restore:
		return v.Clinic.Restore(ctx, v.Backup)
	case v.Fix:
		return v.Clinic.Fix(ctx, v.DryRun)
	}
	return v.Clinic.Examine(ctx)
}
