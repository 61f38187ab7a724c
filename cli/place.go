package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"cadre"
	"cadre/claudedir"
	"cadre/coord"
	"cadre/internal/proc"
	"cadre/memstore"
)

// home is the folder of the person who calls.
func (p *program) home() (string, error) {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := p.env[name]; dir != "" {
			return dir, nil
		}
	}
	return "", usage("export CADRE_STATE_DIR=/where/the/state/is", "HOME is not set, so the state folder cannot be found")
}

// folder is the first that is set: a variable with the folder itself, a variable
// with its parent, the usual place in the home folder.
func (p *program) folder(own, parent, usual string) (string, error) {
	if dir := p.env[own]; own != "" && dir != "" {
		return filepath.Abs(dir)
	}
	if dir := p.env[parent]; parent != "" && filepath.IsAbs(dir) {
		return filepath.Join(dir, "cadre"), nil
	}
	home, err := p.home()
	return filepath.Join(home, filepath.FromSlash(usual)), err
}

func (p *program) stateDir() (string, error) {
	return p.folder("CADRE_STATE_DIR", "XDG_STATE_HOME", ".local/state/cadre")
}

func (p *program) cacheDir() (string, error) {
	return p.folder("", "XDG_CACHE_HOME", ".cache/cadre")
}

// claudeDir is Claude Code's folder.
func (p *program) claudeDir() (string, error) {
	return p.folder("CLAUDE_CONFIG_DIR", "", ".claude")
}

// settings is the file whose hooks are run.
func (p *program) settings() (string, error) {
	dir, err := p.claudeDir()
	return filepath.Join(dir, "settings.json"), err
}

// withFiles puts the files in Claude Code's folder around a store. What is remembered
// of them stands in the state folder; without one a folder is borrowed, and the files
// are only looked at.
func (p *program) withFiles(store cadre.Store, dir, state string) (_ cadre.Store, err error) {
	o := claudedir.Options{Dir: dir, Memory: filepath.Join(state, "claude"), Now: p.now, Warn: p.warn}
	p.said = &transcripts{program: p, state: o.Memory}
	o.Who = p.said
	if state == "" {
		p.said.state = ""
		if o.Memory, err = os.MkdirTemp("", "cadre-"); err != nil {
			return nil, err
		}
		o.LookOnly = true
		p.borrowed = o.Memory
	}
	return claudedir.New(store, o), nil
}

// besideName is where the head records stand a second time, in Claude Code's folder.
const besideName = "cadre"

// openStore opens the store, once. Something that only reads on a machine that
// has no state looks into an empty store, so that looking leaves nothing behind.
func (p *program) openStore(reads bool) (cadre.Store, error) {
	if p.store != nil {
		return p.store, nil
	}
	dir, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	var files, beside string
	if p.env["CADRE_CLAUDE"] != "off" {
		if files, err = p.claudeDir(); err != nil {
			return nil, err
		}
		beside = filepath.Join(files, besideName)
	}
	if reads && emptyFolder(dir) {
		p.record, dir = memstore.New(), ""
	} else if p.record, err = p.open(dir, beside); err != nil {
		return nil, err
	}
	p.store = p.record
	if files != "" {
		p.store, err = p.withFiles(p.record, files, dir)
	}
	return p.store, err
}

// emptyFolder says whether a folder is not there or has nothing in it.
func emptyFolder(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	_, err = f.ReadDir(1)
	return errors.Is(err, io.EOF)
}

// session makes this process a caller: who it is, and on which list.
func (p *program) session(ctx context.Context, verb any) (*coord.Session, error) {
	reads := readsOnly(verb)
	if answersLong(verb) {
		debug.SetGCPercent(800) // what is read is needed until it is written, and then everything ends
	}
	fresh := false
	if _, ok := verb.(*coord.TokenCreate); ok {
		dir, err := p.stateDir()
		if err != nil {
			return nil, err
		}
		fresh = emptyFolder(dir)
	}
	store, err := p.openStore(reads)
	if err != nil {
		return nil, err
	}
	c, place := p.coord(store)
	c.Fresh = fresh
	if _, ok := verb.(*coord.AuditVerify); ok {
		place.Ancestors = nil // it writes nothing, and the database may be the damaged one
	}
	actor, err := c.Identify(ctx, place, p.as)
	if err != nil {
		return nil, err
	}
	scope, err := p.chooseScope(ctx, c, place, actor, verb)
	if err != nil {
		return nil, err
	}
	if !reads {
		if err := p.loadHooks(c); err != nil {
			return nil, err
		}
	}
	s := &coord.Session{Coord: c, Actor: actor, Door: "cli", Scope: scope, CWD: p.cwd}
	if p.scope+p.team != "" {
		s.DoubtName(ctx)
	}
	return s, nil
}

// coord is the way to the store, and what this process knows about itself.
func (p *program) coord(store cadre.Store) (*coord.Coord, coord.Place) {
	c := &coord.Coord{Store: store, Now: p.now, Warn: p.warn, Env: p.environ, Runtime: p.runtime, Claim: coord.ClaimOf(p.env)}
	c.ClaudeDir, _ = p.claudeDir() // without a home there are no settings
	if p.errTerm {
		c.Terminal = p.stderr
	}
	if p.said != nil {
		c.Transcripts = p.said
	}
	return c, coord.Place{Env: p.env, CWD: p.cwd, Terminal: p.inTerm && p.errTerm, Ancestors: ancestors}
}

func (p *program) loadHooks(c *coord.Coord) error {
	path, err := p.settings()
	if err != nil {
		return err
	}
	c.Hooks, err = coord.LoadHooks(path, p.environ)
	return err
}

// ancestors are the processes that this one descends from.
func ancestors() []coord.Ancestor {
	var out []coord.Ancestor
	for _, a := range proc.Ancestors() {
		out = append(out, coord.Ancestor{Process: cadre.Process{PID: a.PID, Start: a.Start}, Apart: a.Apart})
	}
	return out
}

// chooseScope says on which list a verb works. An audit and the doctor are about all
// of them, and read nothing here: bindings stand in the database, which may be the
// damaged one.
func (p *program) chooseScope(ctx context.Context, c *coord.Coord, place coord.Place, actor cadre.Actor, verb any) (cadre.Scope, error) {
	explicit, err := p.explicitScope()
	if err != nil {
		return "", err
	}
	switch verb.(type) {
	case *coord.AuditVerify, *coord.Doctor:
	default:
		return c.ChooseScope(ctx, place, actor, explicit)
	}
	if explicit == "" {
		return cadre.DefaultScope, nil
	}
	return cadre.ParseScope(explicit)
}

func (p *program) explicitScope() (string, error) {
	if p.scope != "" && p.team != "" && p.scope != p.team {
		return "", usage("give one of them", "--scope %s and --team %s name two lists", p.scope, p.team)
	}
	if p.scope != "" {
		return p.scope, nil
	}
	return p.team, nil
}

// answersLong says whether a verb gives everything there is of something.
func answersLong(verb any) bool {
	switch verb.(type) {
	case *cadre.TaskList, *cadre.TaskReady, *cadre.TaskExport, *cadre.TaskGraph, *cadre.MsgInbox, *coord.At, *coord.Diff:
		return true
	}
	return false
}

// readsOnly says whether a verb, as it was called, changes nothing and waits for
// nothing.
func readsOnly(verb any) bool {
	switch v := verb.(type) {
	case cadre.Query, *coord.Overview, *coord.TeamList, *coord.TokenList, *coord.Log, *coord.At, *coord.Diff,
		*coord.AuditVerify, *coord.AuditAnchor, *coord.AuditExport, *coord.Install, *coord.Uninstall: // of the record these change nothing
		return true
	case *coord.GC:
		return !v.Apply
	case *coord.Doctor:
		return v.DryRun || !v.Fix && !v.Restore
	case *coord.Run:
		return v.DryRun
	case schema:
		return true
	case *coord.Trust:
		return v.List
	case *coord.TokenCreate:
		return v.Check() != nil // refused whatever there is: a first token stays possible
	case *coord.TaskNext:
		return !v.Claim && v.Wait == 0
	case *coord.Sync:
		return v.Wait == 0
	}
	return false
}
