// Package command is the backend for programs that take a prompt and end: each turn of
// a member is one run of its program. Any command line will do; for Claude Code and
// Codex there are recipes, which know their options, read their streams, and let them
// go on with the session they had.
//
// A program gets its prompt as an argument where its command line says {prompt}, else
// on standard input. It runs in the member's folder, has CADRE_TASK, the id of its
// task, and is known to every cadre command that it runs by its parents. What it says
// last is the result. When it ends, everything it started ends too.
package command

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cadre"
	"cadre/agent"
	"cadre/internal/proc"
)

// outputLimit is how much is kept of what one turn prints, besides the end.
const outputLimit = 4 << 20

// Backend runs members of one recipe.
type Backend struct {
	Keepers *proc.Keepers
	Recipe  Recipe
	Env     []string // where the program is looked for at spawn
}

var _ agent.Backend = Backend{}

// Check lists what the recipe cannot do, and whatever of it is missing here.
func (b Backend) Check(m *cadre.Member) []string {
	var no []string
	if err := proc.Supported(); err != nil {
		no = append(no, "backend: "+err.Error())
	}
	if info, err := os.Stat(m.CWD); err != nil {
		no = append(no, "cwd: "+err.Error())
	} else if !info.IsDir() {
		no = append(no, "cwd: "+m.CWD+" is no folder")
	}
	no = append(no, b.Recipe.check(m)...)
	if line, err := b.Recipe.line(m, ""); err != nil {
		no = append(no, "run: "+err.Error())
	} else if _, err := find(line[0], m.CWD, b.Env); err != nil {
		no = append(no, "run: "+err.Error()+b.Recipe.install)
	}
	return no
}

// RunsOnly is false: a prompt can be about anything.
func (Backend) RunsOnly() bool { return false }

// Start starts the process that the member's turns run under.
func (b Backend) Start(s agent.Spec) (agent.Worker, error) {
	line, err := b.Recipe.line(s.Member, "")
	if err != nil {
		return nil, err
	}
	program, err := find(line[0], s.Member.CWD, s.Env)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, b.Recipe.install)
	}
	k, err := b.Keepers.Start(proc.Options{Label: s.Member.Name + "@" + string(s.Scope), Heartbeat: s.Heartbeat, Grace: s.Grace})
	if err != nil {
		return nil, err
	}
	w := &worker{Keeper: k, recipe: b.Recipe, spec: s, program: program, session: s.Member.Session, told: s.Member.Told}
	w.env = append(append(w.env, s.Env...), agent.Mark(w.Process()))
	return w, nil
}

type worker struct {
	*proc.Keeper
	recipe  Recipe
	spec    agent.Spec
	env     []string
	program string // its path
	session string // in which it goes on
	told    bool   // its prompt

	mu   sync.Mutex
	mail []*cadre.Message // for the next turn
}

func (w *worker) Process() cadre.Process { return cadre.Process{PID: w.ID.PID, Start: w.ID.Start} }

// Tell keeps a message for the next turn.
func (w *worker) Tell(m *cadre.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.mail, func(o *cadre.Message) bool { return o.ID == m.ID }) {
		w.mail = append(w.mail, m)
	}
	return nil
}

// Do is one turn.
func (w *worker) Do(ctx context.Context, t *cadre.TaskView) (agent.Outcome, error) {
	w.mu.Lock()
	mail := slices.Clone(w.mail)
	w.mu.Unlock()
	if t == nil && len(mail) == 0 && (w.told || w.spec.Member.Prompt == "") {
		return agent.Outcome{OK: true}, nil
	}
	resumed := w.session != ""
	turn, err := w.turn(ctx, t, mail)
	if err == nil && resumed && !turn.began && !turn.limited && ctx.Err() == nil {
		w.session = "" // it is not there any more
		turn, err = w.turn(ctx, t, mail)
	}
	if err != nil {
		return agent.Outcome{}, err
	}
	out := agent.Outcome{OK: turn.failed == "", Summary: turn.summary(), Limited: turn.limited, Until: turn.until}
	if turn.limited || !turn.began || ctx.Err() != nil {
		return out, nil // nobody read the mail
	}
	w.told = w.told || out.OK
	w.mu.Lock()
	w.mail = w.mail[len(mail):]
	w.mu.Unlock()
	for _, m := range mail {
		out.Read = append(out.Read, m.ID)
	}
	return out, nil
}

// turn runs the program once.
func (w *worker) turn(ctx context.Context, t *cadre.TaskView, mail []*cadre.Message) (*turn, error) {
	line, err := w.recipe.line(w.spec.Member, w.session)
	if err != nil {
		return nil, err
	}
	if t != nil && t.Status == cadre.Pending {
		line = append(line, w.recipe.planning...)
	}
	text := prompt(w.spec, t, mail, w.session == "")
	input := text
	for i, word := range line {
		if strings.Contains(word, placeholder) {
			line[i], input = strings.ReplaceAll(word, placeholder, text), ""
		}
	}
	line[0] = w.program
	got := &turn{log: filepath.Join(w.spec.Dir, "mail-"+time.Now().UTC().Format("20060102T150405.000")+".log")}
	env := w.env[:len(w.env):len(w.env)]
	if t != nil { // the claim's number tells this attempt from every other
		got.log = filepath.Join(w.spec.Dir, fmt.Sprintf("%s-%d.log", url.PathEscape(string(t.ID)), t.Fence))
		env = append(env, "CADRE_TASK="+string(t.ID))
	}
	known := w.spec.Known
	got.exit, err = w.Run(ctx, proc.Command{
		Args: line, Dir: w.spec.Member.CWD, Env: env, Input: input, Output: got.log, Limit: outputLimit,
		Each: func(line string) {
			before := got.known
			w.recipe.read(got, line)
			if known != nil && got.known != before {
				known(got.session, got.model, got.mode)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	w.recipe.end(got)
	w.session = cmp.Or(got.session, w.session)
	return got, nil
}

// find looks for a program as a shell with this environment and folder would.
func find(name, dir string, env []string) (string, error) {
	places := []string{dir}
	if !strings.Contains(name, "/") {
		places = filepath.SplitList(variable(env, "PATH"))
	}
	for _, place := range places {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(place, path)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %q here", name)
}

// variable is the last value of an environment variable.
func variable(env []string, name string) (value string) {
	for _, kv := range env {
		if v, is := strings.CutPrefix(kv, name+"="); is {
			value = v
		}
	}
	return value
}
