//go:build unix

package coord

import (
	"context"
	"os/exec"
	"syscall"
)

// shellCommand runs a line in the user's shell, in a process group of its own, so
// that a time limit ends everything it started.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
