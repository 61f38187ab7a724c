package claudedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// discover finds the lists and teams that clients made or deleted, and has the log
// take them in. A folder without a task or a team in it is nothing yet.
func (s *Store) discover(ctx context.Context) error {
	there, err := s.open(false)
	if err != nil || !there {
		return err
	}
	known := map[cadre.Scope]cadre.Where{}
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return err
		}
		known[info.Scope] = info.Where
	}
	folders, err := s.folders()
	if err != nil {
		return err
	}
	var errs []error
	note := func(scope cadre.Scope, err error) {
		if err != nil && !errors.Is(err, cadre.ErrNotFound) {
			errs = append(errs, fmt.Errorf("%s: %w", scope, err))
		}
	}
	if !s.LookOnly {
		s.finishClearing(ctx, known, note)
	}
	for scope, where := range known { // what is gone first: it may be there under another name
		if where == cadre.Live && !s.LookOnly && kept(scope) && (!folders[scope] || s.lostTeam(scope)) {
			_, err := s.sync(ctx, scope, look{})
			note(scope, err)
		}
	}
	for scope := range folders {
		switch where, ok := known[scope]; {
		case !ok:
			_, err := s.sync(ctx, scope, look{all: true})
			note(scope, err)
		case where != cadre.Live && !s.LookOnly:
			note(scope, s.revive(ctx, scope))
		}
	}
	return joinErr(errs)
}

// lostTeam says whether a scope had a team's file that is gone, though its tasks
// may still be there: newer clients leave them when they end.
func (s *Store) lostTeam(scope cadre.Scope) bool {
	if s.exists("teams/" + string(scope) + "/" + configName) {
		return false
	}
	m, err := loadMemory(s.memory, scope)
	if err != nil {
		return false
	}
	defer m.close()
	return m.Team
}

// Has says whether the client's folder has a team or a task of a scope.
func (s *Store) Has(scope cadre.Scope) bool {
	there, err := s.open(false)
	return err == nil && there && (s.exists("teams/"+string(scope)+"/"+configName) || s.hasTask(string(scope)))
}

// folders gives the scopes that have a team or a task in the client's folder.
func (s *Store) folders() (map[cadre.Scope]bool, error) {
	out := map[cadre.Scope]bool{}
	for _, kind := range []string{"teams", "tasks"} {
		names, err := s.names(kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if scope, err := cadre.ParseScope(name); err != nil || string(scope) != name {
				continue
			}
			if kind == "teams" && s.exists("teams/"+name+"/"+configName) || kind == "tasks" && s.hasTask(name) {
				out[cadre.Scope(name)] = true
			}
		}
	}
	return out, nil
}

// names reads a folder; none where it is not there.
func (s *Store) names(folder string) ([]string, error) {
	dir, err := swapfile.Open(s.root, folder)
	if err != nil {
		return nil, absent(err)
	}
	defer dir.Close()
	return namesIn(dir)
}

func (s *Store) exists(path string) bool {
	info, err := s.root.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

func (s *Store) hasTask(list string) bool {
	names, _ := s.names("tasks/" + list) // a link or the like has none
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := taskName(name)
		return ok
	})
}

// aliasOf says which team a folder belongs to that a client made with another
// spelling of the team's name; empty where it is its own.
func (s *Store) aliasOf(scope cadre.Scope) cadre.Scope {
	team := claudefile.TeamFolder(string(scope))
	if team == string(scope) {
		return ""
	}
	if s.boxFolder(cadre.Scope(team)) == string(scope) {
		return cadre.Scope(team)
	}
	return ""
}

// boxFolder is the folder in which clients keep a team's inboxes: they spell it
// otherwise than the folder of the team itself.
func (s *Store) boxFolder(scope cadre.Scope) string {
	c, err := s.config(scope)
	if err != nil {
		return string(scope)
	}
	return boxesOf(scope, c.Name)
}

// boxesOf is that folder for a team whose file says that name.
func boxesOf(scope cadre.Scope, name string) string {
	if name == "" || claudefile.TeamFolder(name) != string(scope) {
		return string(scope)
	}
	return claudefile.ListFolder(name)
}

// config reads a team's file as it is.
func (s *Store) config(scope cadre.Scope) (*claudefile.Config, error) {
	dir, err := swapfile.Open(s.root, "teams/"+string(scope))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	data, _, err := swapfile.Read(dir, configName, claudefile.MaxFile)
	if err != nil {
		return nil, err
	}
	return claudefile.ReadConfig(data)
}

// vanished takes in that a client deleted the team, or moved the list. What is gone
// is archived, and nothing but a restore makes the folders again.
func (p *pass) vanished() (gone bool, err error) {
	if p.full {
		return false, nil
	}
	defer func() {
		if gone {
			p.head, p.upTo = cadre.Head{}, cadre.Head{} // whoever looked at the scope has to look again
		}
	}()
	if p.mem.Files[configName].Mark&here != 0 { // one that could not be written yet is not gone
		if p.noConfig() {
			return true, p.archive(cadre.TeamVanished)
		}
	}
	if !p.mem.List || p.list != nil || p.mem.Team {
		return false, nil
	}
	if session := cadre.SessionTeam(string(p.scope)); session != "" && p.hasTask(string(session)) {
		moved, err := p.follow(session)
		if moved || err != nil {
			return moved, err
		}
	}
	return true, p.archive(cadre.ListVanished)
}

// goneMeanwhile is vanished for what was found since: a file that is gone may have gone
// with the whole team, and then nobody deleted the task.
func (p *pass) goneMeanwhile() (bool, error) {
	if !slices.ContainsFunc(p.found, func(w written) bool { return w.file == nil }) {
		return false, nil
	}
	if _, err := p.root.Lstat("tasks/" + string(p.scope)); errors.Is(err, fs.ErrNotExist) && p.list != nil && !p.mem.Team {
		p.list.Close()
		p.list = nil
	}
	return p.vanished()
}

// noConfig says whether a team's file is gone, and not only for the moment in which
// an editor puts another in its place. A link or the like is no deleted team.
func (p *pass) noConfig() bool {
	folder := "teams/" + string(p.scope)
	for deadline := time.Now().Add(replacedWithin); ; time.Sleep(2 * time.Millisecond) {
		if _, err := p.root.Lstat(folder + "/" + configName); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		if _, err := p.root.Lstat(folder); err != nil || time.Now().After(deadline) {
			return true
		}
	}
}

// replacedWithin is how long a file may be away while somebody replaces it.
const replacedWithin = 100 * time.Millisecond

// cameFrom finds the list of a session that its client has moved to a new name, and
// lets its history follow. It says whether there was one.
func (s *Store) cameFrom(ctx context.Context, to cadre.Scope) (bool, error) {
	if !strings.HasPrefix(string(to), claudefile.SessionTeam("")) {
		return false, nil
	}
	for info, err := range s.Store.Scopes(ctx) {
		if err != nil {
			return false, err
		}
		if info.Scope == to {
			return false, nil
		}
		if info.Where == cadre.Live && cadre.SessionTeam(string(info.Scope)) == to {
			_, err := s.sync(ctx, info.Scope, look{})
			return err == nil, err
		}
	}
	return false, nil
}

// follow renames a session's list as its client did; its history goes along.
func (p *pass) follow(to cadre.Scope) (bool, error) {
	c := cadre.Command{ID: commandID(p.Dir, p.scope, "renamed", to, p.head.Seq), Actor: cadre.External, Door: door, Verb: "intake", Now: p.now()}
	_, err := p.Store.Store.Move(p.ctx, p.scope, c, cadre.Dest{Name: to})
	if errors.Is(err, cadre.ErrConflict) {
		return false, nil // the log has a list of that name already
	}
	if err == nil {
		err = p.tokensFollow(p.ctx, p.scope, to)
	}
	if err != nil {
		return false, err
	}
	for _, part := range []string{".files", ".slots"} {
		if err := p.memory.Rename(p.mem.name+part, string(to)+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	p.mem.saved = ""
	return true, p.mem.forget()
}

// archive ends the projection of a scope whose folders are gone. Members of ours
// are asked to shut down.
func (p *pass) archive(why string) error {
	c := cadre.Command{ID: commandID(p.Dir, p.scope, "vanished", p.head.Seq), Actor: cadre.External, Door: door, Verb: "intake", Now: p.now()}
	v := &cadre.ForeignEnd{Why: why}
	if _, err := p.Store.Store.Update(p.ctx, p.scope, c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) }); err != nil {
		return err
	}
	c.ID += "-moved"
	if _, err := p.Store.Store.Move(p.ctx, p.scope, c, cadre.Dest{Where: cadre.Archive}); err != nil {
		return err
	}
	return p.mem.forget()
}

// revive looks at a folder whose scope is in the archive. The same team again, as a
// client makes it when it goes on with a session, comes back; another team of that
// name begins anew, and the archived one gets out of its way.
func (s *Store) revive(ctx context.Context, scope cadre.Scope) error {
	config, err := s.config(scope)
	if err != nil {
		return nil // tasks alone are what a deleted team left
	}
	var last cadre.Head
	var team *cadre.Team
	for e, err := range s.Store.Events(ctx, scope, cadre.Head{}, false) {
		if err != nil {
			return err
		}
		last = cadre.Head{Epoch: last.Epoch, Seq: e.Seq, Hash: e.Hash}
		if t, ok := e.After.(*cadre.Team); ok {
			team = t
		}
	}
	same := team != nil && (team.CreatedAt.UnixMilli() == config.CreatedAt || config.LeadSessionID != "" && team.Creator.Session == config.LeadSessionID)
	to := cadre.Dest{Where: cadre.Live}
	if !same {
		at := time.UnixMilli(config.CreatedAt).UTC().Format("20060102-150405")
		to = cadre.Dest{Where: cadre.Archive, Name: cadre.Scope(fmt.Sprintf("%s-before-%s", scope, at))}
	}
	c := cadre.Command{ID: commandID(s.Dir, scope, "revived", last.Seq), Actor: cadre.External, Door: door, Verb: "intake", Now: s.now()}
	if to.Name != "" { // before its name means another team
		if err := s.tokensFollow(ctx, scope, to.Name); err != nil {
			return err
		}
	}
	if _, err := s.Store.Move(ctx, scope, c, to); err != nil {
		return err
	}
	_, err = s.sync(ctx, scope, look{all: true})
	return err
}

// tokensFollow has the tokens of a scope follow it to its new name.
func (s *Store) tokensFollow(ctx context.Context, from, to cadre.Scope) error {
	v := &cadre.TokensFollow{From: from, To: to}
	c := cadre.Command{ID: commandID(s.Dir, from, to, s.now().Wall.UnixNano()), Actor: cadre.External, Door: door, Verb: "intake", Now: s.now()}
	_, err := s.Store.Update(ctx, cadre.Host, c, func(snap cadre.Snap) ([]cadre.Event, error) { return v.Decide(snap, c) })
	return err
}

// Move moves a scope, and its folders with it: an archived or erased one leaves the
// client's folder, a restored one comes back.
func (s *Store) Move(ctx context.Context, scope cadre.Scope, c cadre.Command, to cadre.Dest) (cadre.Receipt, error) {
	if !kept(scope) {
		return s.Store.Move(ctx, scope, c, to)
	}
	leaves := to.Where == cadre.Archive || to.Where == cadre.Gone || to.Name != ""
	if leaves {
		if there, err := s.open(false); err == nil && there {
			if _, err := s.sync(ctx, scope, look{all: true}); err != nil && !errors.Is(err, cadre.ErrNotFound) {
				s.warn(scope, err) // what could not be taken in stays where it is
			}
		}
	}
	if to.Where == cadre.Live {
		s.warn(scope, s.clear(ctx, scope, false)) // files that could not be removed when it left were deleted by nobody
	}
	receipt, err := s.Store.Move(ctx, scope, c, to)
	if err != nil {
		return receipt, err
	}
	if leaves {
		if err := s.clear(ctx, scope, to.Where == cadre.Gone); err != nil {
			s.warn(scope, err)
		}
	}
	if to.Name != "" {
		scope = to.Name
	}
	if to.Where == cadre.Live || to.Name != "" && to.Where == "" {
		_, err := s.sync(ctx, scope, look{all: true})
		if !errors.Is(err, cadre.ErrNotFound) {
			s.warn(scope, err)
		}
	}
	return receipt, nil
}
