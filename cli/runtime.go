package cli

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"cadre"
	"cadre/agent"
	agentcommand "cadre/agent/command"
	"cadre/agent/shell"
	"cadre/coord"
	"cadre/internal/flock"
	"cadre/internal/proc"
	"cadre/internal/worktree"
)

// supervisors run members. Each team has at most one supervisor, which has a lock in the
// state folder for as long as it lives.
type supervisors struct{ *program }

var _ coord.Runtime = supervisors{}

// backends are those that there are. Those that only check settings need no keepers.
func (r supervisors) backends(k *proc.Keepers) map[cadre.Backend]agent.Backend {
	all := map[cadre.Backend]agent.Backend{cadre.BackendShell: shell.Backend{Keepers: k}}
	for name, recipe := range agentcommand.Recipes() {
		all[name] = agentcommand.Backend{Keepers: k, Recipe: recipe, Env: r.environ}
	}
	return all
}

// Check lists the settings that the member's backend cannot honour.
func (r supervisors) Check(m *cadre.Member) []string {
	all := r.backends(nil)
	backend := all[m.Backend]
	if backend == nil {
		return []string{fmt.Sprintf("backend: there is no %q, only %s", m.Backend, join(slices.Sorted(maps.Keys(all))))}
	}
	return backend.Check(m)
}

// environment is what members get: this program is the last place where they look for
// others, so that there is always a cadre to type.
func (r supervisors) environment() ([]string, error) {
	self, err := os.Executable()
	env := worktree.Clean(r.environ)
	for i, kv := range env {
		if path, is := strings.CutPrefix(kv, "PATH="); is {
			env[i] = "PATH=" + path + string(os.PathListSeparator) + filepath.Dir(self)
		}
	}
	return env, err
}

// file names a file of a team's supervisor.
func (r supervisors) file(scope cadre.Scope, ending string) (string, error) {
	state, err := r.stateDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(state, "supervisors")
	return filepath.Join(dir, url.PathEscape(string(scope))+ending), os.MkdirAll(dir, 0o700)
}

func (r supervisors) lock(scope cadre.Scope) (*flock.Lock, error) {
	path, err := r.file(scope, ".lock")
	return flock.New(func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }), err
}

// free says whether a team has no supervisor.
func (r supervisors) free(scope cadre.Scope) (bool, error) {
	lock, err := r.lock(scope)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	return lock.TryAcquire()
}

// Wake starts a supervisor in the background, unless there is one. That one may be
// about to die: when its lock becomes free, another is started.
func (r supervisors) Wake(ctx context.Context, s *coord.Session) error {
	free, err := r.free(s.Scope)
	if err != nil {
		return err
	}
	if !free {
		go r.replace(ctx, s)
		return nil
	}
	path, err := r.file(s.Scope, ".log")
	if err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	said, err := log.Seek(0, 2)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{
		Path: self, Args: []string{"cadre", "up", "--leave", "--team", string(s.Scope)}, Env: r.environ, Dir: r.cwd,
		Stderr: log, SysProcAttr: proc.OwnSession(),
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err == nil {
		return cmd.Process.Release() // it said that it is ready
	}
	_ = cmd.Wait() // why it ended stands in its log
	if free, err := r.free(s.Scope); err != nil || !free {
		return err // another one was faster
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return cadre.Fault(nil, "cadre up --team "+string(s.Scope), "the supervisor ended at once: %s", strings.TrimSpace(string(data[min(said, int64(len(data))):])))
}

// replace starts a supervisor once the one that there is has ended.
func (r supervisors) replace(ctx context.Context, s *coord.Session) {
	lock, err := r.lock(s.Scope)
	if err == nil {
		err = lock.Acquire(ctx)
		lock.Close()
	}
	if err == nil && ctx.Err() == nil {
		err = r.Wake(ctx, s)
	}
	if err != nil && ctx.Err() == nil {
		r.warn("%v", err)
	}
}

// Serve is the supervisor.
func (r supervisors) Serve(ctx context.Context, s *coord.Session, v *coord.Up) error {
	// Whoever waits to hear that it is ready may have gone, which must not end it. Not
	// ignored: members would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	debug.SetGCPercent(400) // little is kept and much is thrown away: some MB for a tenth of the time
	keepers, err := proc.NewKeepers()
	if err != nil {
		return err
	}
	lock, err := r.lock(s.Scope)
	if err != nil {
		return err
	}
	defer lock.Close()
	output, err := r.file(s.Scope, "")
	if err != nil {
		return err
	}
	env, err := r.environment()
	if err != nil {
		return err
	}
	options := agent.Options{
		Backends: r.backends(keepers), Dir: output, Env: env, Limit: v.Limit, Stagger: v.Stagger, Leave: v.Leave,
		Host: r.host, Heartbeat: v.Heartbeat, Lease: v.Lease, Stall: v.Stall, Deadline: v.Deadline,
	}
	for first := true; ; first = false {
		got, err := lock.TryAcquire()
		if err != nil {
			return err
		}
		if !got && first {
			return cadre.Refuse(cadre.RuleExists, "cadre member list", "the members of %s are run by another process already", s.Scope)
		}
		if !got {
			return nil // whoever spawned the member started another
		}
		err = agent.NewSupervisor(s, options).Run(ctx, func() {
			switch {
			case v.Ready != nil:
				v.Ready()
			case first:
				r.ready(s.Scope)
			}
		})
		if rerr := lock.Release(); err == nil {
			err = rerr
		}
		if err != nil || ctx.Err() != nil || !v.Leave {
			return err
		}
		// Whoever spawned a member before the lock was free relies on this supervisor.
		if wanted, err := agent.Wanted(ctx, s); err != nil || !wanted {
			return ignoreMissing(err)
		}
	}
}

// ignoreMissing is no error where the team was archived: then nobody is wanted.
func ignoreMissing(err error) error {
	if e := cadre.AsError(err); e != nil && e.Code == cadre.CodeNotFound {
		return nil
	}
	return err
}

// ready tells whoever waits for it that the supervisor is at work.
func (r supervisors) ready(scope cadre.Scope) {
	if r.json || r.jsonl || r.quiet {
		return
	}
	r.printf("the members of %s are run by this process until it ends\n", line(string(scope)))
	_ = r.out.Flush() // nobody need read it
}
