package coord

import (
	"context"
	"os/exec"
)

// shellCommand runs a line in the system's shell.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", line)
}
