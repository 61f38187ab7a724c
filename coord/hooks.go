package coord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"cadre"
)

// HookEvent names a moment at which a hook may refuse.
type HookEvent string

const (
	TaskCreated   HookEvent = "TaskCreated"
	TaskCompleted HookEvent = "TaskCompleted"
	TeammateIdle  HookEvent = "TeammateIdle"
)

// DefaultHookTime is how long a hook may take, unless its settings say otherwise.
const (
	DefaultHookTime = 60 * time.Second
	maxHookTime     = 24 * time.Hour
)

// Hooks are commands that the user's settings.json names, or a project's that is
// trusted, in the shape that Claude Code reads: exit code 2 refuses, and what the command wrote to standard
// error is the reason. So does one that cannot be started: a gate that cannot be asked
// stays shut. Other failures are told and refuse nothing.
type Hooks struct {
	Commands map[HookEvent][]HookCommand
	Env      []string // a hook gets this environment; it never holds a token
}

// HookCommand is one command line with its time limit.
type HookCommand struct {
	Command string
	Timeout time.Duration
	File    string // the settings that name it; none for one of the team's own
	Matcher string // what the settings say beside it; at these moments it means nothing
	Project string // the folder of the project that has it, if one does
}

// silent is the reason of a hook that gave none itself, and what to type about it.
func (h HookCommand) silent(format string, args ...any) (reason, hint string) {
	from, hint := "the team itself", "cadre team show"
	if h.File != "" {
		from, hint = h.File, "$EDITOR "+h.File
	}
	return fmt.Sprintf("%s, which %s names, %s", h.Command, from, strings.TrimSpace(fmt.Sprintf(format, args...))), hint
}

func (h *Hooks) empty() bool { return h == nil || len(h.Commands) == 0 }

// noMoreHooks is errGate where the team has hooks of its own, or the project may that
// the member is in.
func (s *Session) noMoreHooks(snap cadre.Snap) error {
	team, err := snap.Team()
	if err != nil {
		return err
	}
	folder, err := s.hookFolder(snap)
	if err == nil && (folder != s.CWD || team != nil && len(team.Settings.Hooks) > 0) {
		err = errGate
	}
	return err
}

// allHooks are the caller's hooks and those of the team, which hold for everybody.
func (s *Session) allHooks(snap cadre.Snap) (*Hooks, error) {
	team, err := snap.Team()
	if err != nil || team == nil || len(team.Settings.Hooks) == 0 {
		return s.Hooks, err
	}
	commands := map[HookEvent][]HookCommand{}
	for event, hooks := range team.Settings.Hooks {
		for _, h := range hooks {
			commands[HookEvent(event)] = append(commands[HookEvent(event)], HookCommand{Command: h.Command, Timeout: h.Timeout})
		}
	}
	return s.Hooks.and(commands, s.Env), nil
}

// and are these hooks and more.
func (h *Hooks) and(more map[HookEvent][]HookCommand, env []string) *Hooks {
	all := &Hooks{Commands: map[HookEvent][]HookCommand{}, Env: withoutTokens(env)}
	if h != nil {
		maps.Copy(all.Commands, h.Commands)
	}
	for event, commands := range more {
		all.Commands[event] = slices.Concat(all.Commands[event], commands)
	}
	return all
}

// settingsLimit bounds a settings.json, which is written by others.
const settingsLimit = 4 << 20

// LoadHooks reads the hooks of a settings.json. A file that is not there has none.
func LoadHooks(path string, env []string) (*Hooks, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cadre.Fault(err, "check the file's permissions", "reading hooks")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, settingsLimit))
	if err != nil {
		return nil, cadre.Fault(err, "check the file", "reading hooks from %s", path)
	}
	return ParseHooks(data, path, env)
}

// ParseHooks reads the hooks of a settings.json's text.
func ParseHooks(data []byte, path string, env []string) (*Hooks, error) {
	var settings struct {
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors put it before a text
	if err := json.Unmarshal(data, &settings); err != nil {
		return nil, cadre.Fault(err, "$EDITOR "+path, "%s is not JSON, so its hooks cannot be honoured", path)
	}
	h := &Hooks{Commands: map[HookEvent][]HookCommand{}, Env: withoutTokens(env)}
	for _, event := range []HookEvent{TaskCreated, TaskCompleted, TeammateIdle} {
		raw, ok := settings.Hooks[string(event)]
		if !ok {
			continue
		}
		var groups []struct {
			Matcher string `json:"matcher"`
			Hooks   []struct {
				Type    string  `json:"type"`
				Command string  `json:"command"`
				Timeout float64 `json:"timeout"`
			} `json:"hooks"`
		}
		if err := json.Unmarshal(raw, &groups); err != nil {
			return nil, cadre.Fault(err, "$EDITOR "+path, "the %s hooks in %s are not in the expected form", event, path)
		}
		for _, g := range groups {
			for _, c := range g.Hooks {
				if c.Command == "" || c.Type != "" && c.Type != "command" {
					continue
				}
				limit := DefaultHookTime
				if c.Timeout > 0 {
					limit = time.Duration(min(c.Timeout, maxHookTime.Seconds()) * float64(time.Second))
				}
				h.Commands[event] = append(h.Commands[event], HookCommand{Command: c.Command, Timeout: limit, File: path, Matcher: g.Matcher})
			}
		}
	}
	return h, nil
}

// withoutTokens keeps credentials from hooks.
func withoutTokens(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		if !strings.HasPrefix(kv, "CADRE_TOKEN=") {
			out = append(out, kv)
		}
	}
	return out
}

// gate is one thing that a hook is asked about: a task at one version, or a
// member that stops working.
type gate struct {
	event   HookEvent
	object  cadre.Ref
	version uint64
}

// gated is a gate with what its hook is told.
type gated struct {
	gate
	before, after *cadre.Task // for a task
	member        string      // for a member that goes idle
}

// gatesOf finds the moments in a command's events that hooks may refuse.
func gatesOf(events []cadre.Event) []gated {
	var out []gated
	for _, e := range events {
		switch after := e.After.(type) {
		case *cadre.Task:
			before, _ := e.Before.(*cadre.Task)
			switch {
			case before == nil && after.Kind == cadre.KindInternal, before != nil && before.Kind == cadre.KindInternal:
			case before == nil && after.Status != cadre.Deleted:
				// Its id is not yet sure; what is created is what it says.
				content := cadre.Ref{Kind: cadre.KindTask, ID: cadre.Digest(after.Subject + "\x00" + after.Description + "\x00" + after.Owner)}
				out = append(out, gated{gate: gate{TaskCreated, content, 0}, after: after})
			case before != nil && before.Status != cadre.Completed && after.Status == cadre.Completed:
				out = append(out, gated{gate: gate{TaskCompleted, after.Ref(), before.Version}, before: before, after: after})
			}
		case *cadre.Member:
			before, _ := e.Before.(*cadre.Member)
			stops := before != nil && (before.State == cadre.StateWorking || before.State == cadre.StateWaiting || before.State == cadre.StateStalled)
			if stops && after.State == cadre.StateIdle {
				out = append(out, gated{gate: gate{TeammateIdle, after.Ref(), 0}, member: after.Name})
			}
		}
	}
	return out
}

// pass runs the hooks of one gate, unless they already agreed to exactly this.
func (s *Session) pass(ctx context.Context, g gated, hooks *Hooks, agreed map[gate]bool) error {
	if agreed[g.gate] {
		return nil
	}
	for _, hook := range hooks.Commands[g.event] {
		no, err := s.runHook(ctx, hook, hooks.Env, g)
		if err != nil {
			return err
		}
		if no.reason != "" {
			return s.refused(ctx, g, no)
		}
	}
	agreed[g.gate] = true
	return nil
}

// refused records a refused completion, if the work was judged, and tells the caller
// the reason.
func (s *Session) refused(ctx context.Context, g gated, no refusal) error {
	reason, hint := no.reason, no.hint
	if g.event != TaskCompleted {
		return cadre.Refuse(cadre.RuleGate, hint, "the %s hook refused: %s", g.event, reason)
	}
	hint = cmp.Or(hint, "cadre task show "+string(g.after.ID))
	err := cadre.Refuse(cadre.RuleGate, hint, "the %s hook refused %s: %s", g.event, g.object, reason)
	if no.unasked {
		return err
	}
	c := s.command("task.refused")
	c.Actor = cadre.Self
	v := &cadre.TaskRefused{ID: g.after.ID, Reason: reason}
	if _, uerr := s.Store.Update(ctx, s.Scope, c, func(snap cadre.Snap) ([]cadre.Event, error) { return v.Decide(snap, c) }); uerr != nil {
		return errors.Join(err, uerr)
	}
	if g.before.Refusals+1 >= g.before.MostAttempts() {
		return cadre.Refuse(cadre.RulePerson, hint,
			"the %s hook refused %s, which has no attempt left and needs a person now: %s", g.event, g.object, reason)
	}
	return err
}

// hookInput is what a hook reads from standard input.
type hookInput struct {
	SessionID      string      `json:"session_id"`
	TranscriptPath string      `json:"transcript_path"`
	CWD            string      `json:"cwd"`
	Event          HookEvent   `json:"hook_event_name"`
	TaskID         string      `json:"task_id,omitempty"`
	Subject        string      `json:"task_subject,omitempty"`
	Description    string      `json:"task_description,omitempty"`
	Teammate       string      `json:"teammate_name,omitempty"`
	Team           string      `json:"team_name,omitempty"`
	Task           *cadre.Task `json:"task,omitempty"` // as it would be
}

// hookFolder is where hooks run. For a member that Cadre runs that is its own folder,
// wherever it typed the command: what its work is held against is not its to choose.
func (s *Session) hookFolder(snap cadre.Snap) (string, error) {
	if s.Actor.Kind != cadre.ActorMember {
		return s.CWD, nil
	}
	m, err := snap.Member(s.Actor.Name)
	if err != nil || m == nil || !m.Backend.Supervised() {
		return s.CWD, err
	}
	return m.CWD, nil
}

// How a shell says that there is no such command.
const (
	notExecutable = 126
	notFound      = 127
)

// refusal is a hook's no, with the reason; none is a yes. The hint is what to type where
// the hook itself is at fault; one that could not even be started judged nothing.
type refusal struct {
	reason, hint string
	unasked      bool
}

// runHook asks one hook.
func (s *Session) runHook(ctx context.Context, hook HookCommand, env []string, g gated) (no refusal, err error) {
	told := hookInput{SessionID: s.Actor.Session, CWD: s.CWD, Event: g.event, Team: string(s.Scope), Teammate: g.member}
	if t := g.after; t != nil {
		told.TaskID, told.Subject, told.Description, told.Teammate, told.Task = string(t.ID), t.Subject, t.Description, t.Owner, t
	}
	input, err := json.Marshal(told)
	if err != nil {
		return no, err
	}
	limited, cancel := context.WithTimeout(ctx, hook.Timeout)
	defer cancel()
	cmd := shellCommand(limited, hook.Command)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.Env, cmd.Dir = bytes.NewReader(input), &limitedBuffer{Buffer: &stderr}, env, s.CWD
	if hook.Project != "" {
		cmd.Env = append(slices.Clone(env), "CLAUDE_PROJECT_DIR="+hook.Project)
	}
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if limited.Err() != nil && ctx.Err() == nil {
		no.reason, no.hint = hook.silent("did not answer within %s", hook.Timeout)
		return no, nil
	}
	if ctx.Err() != nil {
		return no, ctx.Err()
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return no, nil
	case !ok, exit.ExitCode() == notExecutable, exit.ExitCode() == notFound:
		no.reason, no.hint = hook.silent("could not be started: %v\n%s", err, stderr.String())
		no.unasked = true
		return no, nil
	case exit.ExitCode() == 2:
		if no.reason = strings.TrimSpace(stderr.String()); no.reason == "" {
			no.reason, no.hint = hook.silent("gave no reason")
		}
		return no, nil
	}
	s.warn("the %s hook %q failed (%v), which refuses nothing: %s", g.event, hook.Command, err, strings.TrimSpace(stderr.String()))
	return no, nil
}

func (c *Coord) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(format, args...)
	}
}

// limitedBuffer keeps the beginning of what a hook says.
type limitedBuffer struct{ *bytes.Buffer }

const hookTalk = 64 << 10

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := hookTalk - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
