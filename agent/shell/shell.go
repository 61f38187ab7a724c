// Package shell is the backend whose members run the command of each task in their
// folder: no model, no network. The exit code says whether the task is done, and what
// the command printed is kept and is the result.
//
// A command reads its task as JSON from standard input, and has CADRE_TASK, the id,
// CADRE_FENCE, the number of the claim under which it runs, and CADRE_MAIL, a file with the messages for the member, one JSON object a line.
// When it ends, everything it started ends too.
package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cadre"
	"cadre/agent"
	"cadre/internal/proc"
)

// outputLimit is how much is kept of what one command prints, besides the end.
const outputLimit = 4 << 20

// Backend runs shell members.
type Backend struct{ Keepers *proc.Keepers }

var _ agent.Backend = Backend{}

// Check lists what a shell cannot do.
func (Backend) Check(m *cadre.Member) []string {
	var no []string
	if err := proc.Supported(); err != nil {
		no = append(no, "backend: "+err.Error())
	}
	for _, s := range [][2]string{{"prompt", m.Prompt}, {"model", m.Model}, {"mode", m.Mode}} {
		if s[1] != "" {
			no = append(no, s[0]+": a shell member only runs the commands of its tasks")
		}
	}
	if m.PlanMode {
		no = append(no, "plan mode: a shell member makes no plans")
	}
	if info, err := os.Stat(m.CWD); err != nil {
		no = append(no, "cwd: "+err.Error())
	} else if !info.IsDir() {
		no = append(no, "cwd: "+m.CWD+" is no folder")
	}
	return no
}

// RunsOnly is true: a task without a command is not for a shell.
func (Backend) RunsOnly() bool { return true }

// Start starts the process that the member's commands run under.
func (b Backend) Start(s agent.Spec) (agent.Worker, error) {
	k, err := b.Keepers.Start(proc.Options{Label: s.Member.Name + "@" + string(s.Scope), Heartbeat: s.Heartbeat, Grace: s.Grace})
	if err != nil {
		return nil, err
	}
	w := &worker{Keeper: k, spec: s, mail: filepath.Join(s.Dir, "mail.jsonl")}
	w.env = append(w.env, s.Env...)
	w.env = append(w.env, "CADRE_MAIL="+w.mail, agent.Mark(w.Process()))
	return w, nil
}

type worker struct {
	*proc.Keeper
	spec agent.Spec
	env  []string
	mail string
	mu   sync.Mutex // of the file
}

func (w *worker) Process() cadre.Process { return cadre.Process{PID: w.ID.PID, Start: w.ID.Start} }

// Do runs the task's command.
func (w *worker) Do(ctx context.Context, t *cadre.TaskView) (agent.Outcome, error) {
	if t.Run == "" {
		return agent.Outcome{Summary: "the task has no command to run"}, nil
	}
	input, err := json.Marshal(t)
	if err != nil {
		return agent.Outcome{}, err
	}
	// The claim's number tells this attempt from every other.
	output := filepath.Join(w.spec.Dir, fmt.Sprintf("%s-%d.log", url.PathEscape(string(t.ID)), t.Fence))
	exit, err := w.Run(ctx, proc.Command{
		Line: t.Run, Dir: w.spec.Member.CWD, Env: append(w.env[:len(w.env):len(w.env)], "CADRE_TASK="+string(t.ID), fmt.Sprintf("CADRE_FENCE=%d", t.Fence)),
		Input: string(input) + "\n", Output: output, Limit: outputLimit,
	})
	if err != nil {
		return agent.Outcome{}, err
	}
	return agent.Outcome{OK: exit.OK(), Summary: summary(exit, output)}, nil
}

// summary is the result: how the command ended, and the end of what it printed.
func summary(exit proc.Exit, output string) string {
	tail := strings.TrimSpace(strings.ReplaceAll(exit.Tail, "\x00", "�"))
	if tail == "" {
		return exit.String()
	}
	return fmt.Sprintf("%s, %d bytes printed to %s\n%s", exit, exit.Bytes, output, tail)
}

// Tell adds a message to the file that the commands can read.
func (w *worker) Tell(m *cadre.Message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f, err := os.OpenFile(w.mail, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
