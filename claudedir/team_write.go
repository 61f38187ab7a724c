package claudedir

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// mostPutBack is how often a member of ours that a client dropped from the team's
// file is put back.
const mostPutBack = 3

// wanted finds out what the team's files are to say.
func (t *teamFiles) wanted(p *pass, s cadre.Snap) (err error) {
	t.wants = nil
	w := &teamWanted{epoch: s.Head().Epoch, inboxes: map[string]*inboxWanted{}, config: p.full || t.touched[configName]}
	names := map[string]bool{}
	for key := range t.touched {
		if inbox, ok := strings.CutPrefix(key, "inboxes/"); ok {
			name, err := reader(s, inbox)
			if err != nil {
				return err
			}
			names[name] = true
		}
	}
	for _, e := range p.news() {
		switch o := e.After.(type) {
		case *cadre.Team:
			w.config = true
		case *cadre.Member:
			w.config = true
			if before, ok := e.Before.(*cadre.Member); !ok || before.State == cadre.StateDeparted {
				delete(p.mem.PutBack, o.Name)
			}
			names[o.Name] = names[o.Name] || o.State != cadre.StateDeparted && e.Before == nil
		case *cadre.Message:
			names[o.To] = true
		}
	}
	if !w.config && len(names) == 0 {
		return nil
	}
	if w.team, err = s.Team(); err != nil || w.team == nil {
		return err
	}
	for m, err := range s.Members() {
		if err != nil {
			return err
		}
		w.members = append(w.members, m)
		names[m.Name] = names[m.Name] || p.full && m.State != cadre.StateDeparted
	}
	for name, yes := range names {
		i := slices.IndexFunc(w.members, func(m *cadre.Member) bool { return m.Name == name })
		if !yes || i < 0 || w.members[i].State == cadre.StateDeparted {
			continue
		}
		if w.inboxes[name], err = p.inboxWanted(s, name); err != nil {
			return err
		}
		w.inboxes[name].client = w.members[i].Backend == cadre.BackendClient
	}
	t.wants = w
	return nil
}

// write writes the team's file and its inboxes.
func (t *teamFiles) write(p *pass) {
	w := t.wants
	if w == nil {
		return
	}
	err := p.openTeam(true)
	if err == nil && t.boxes == nil {
		return
	}
	if err == nil {
		p.mem.Team = true
	}
	t.touched = nil
	try := func(key string, write func() error) {
		p.try(key, func() error {
			if err != nil {
				return err // no file can be written
			}
			return write()
		})
	}
	if w.config {
		try(configName, func() error {
			return p.replaceFile(t.dir, configName, configName, func(old []byte) ([]byte, error) {
				now := p.configOf(w, old)
				p.mem.Boxes, p.mem.BoxesOf = boxesOf(p.scope, w.team.Name), hashOf(now)
				return now, nil
			}, p.lookAtConfig)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(w.inboxes)) {
		box, file := w.inboxes[name], claudefile.ListFolder(name)
		if box.client && len(box.unread)+len(box.read) == 0 {
			continue // a client makes the inbox of its own member with the first mail
		}
		try(inboxKey(file), func() error {
			return p.replaceFile(t.boxes, file+".json", inboxKey(file), func(old []byte) ([]byte, error) { return inboxOf(box, file, old) },
				func() error { return p.lookAtInbox(t.boxes, file) })
		})
	}
}

// replaceFile makes a file of the team what it is to be, under its lock. What
// somebody else wrote to it since it was taken in is found first.
func (p *pass) replaceFile(dir *swapfile.Dir, name, key string, content func(old []byte) ([]byte, error), look func() error) error {
	return p.underLock(dir, name, func() error {
		old, stamp, err := swapfile.Read(dir, name, claudefile.MaxFile)
		there := err == nil
		if err := unreadable(err); err != nil {
			return err
		}
		if !there && !errors.Is(err, fs.ErrNotExist) {
			p.behind[key] = true // a link or the like: left alone
			return nil
		}
		known := p.mem.Files[key]
		same := known.Mark&here != 0 && known.Hash == hashOf(old)
		if there && !same {
			if err := look(); err != nil || p.team.touched[key] {
				return err
			}
			if age := time.Since(time.Unix(0, stamp.MTime)); age < patience || !still(dir, name, stamp) {
				return fmt.Errorf("%s is being written by somebody else", name)
			}
		}
		now, err := content(old)
		if err != nil || there && string(now) == string(old) {
			return err
		}
		if !there && key == configName && p.mem.Files[key].Mark&here != 0 {
			return nil // a client deleted the team in this moment
		}
		if !there {
			stamp, exists, err := swapfile.Create(dir, name, now)
			if err != nil || exists {
				return err
			}
			set(&p.mem.Files, key, slot{Stamp: stamp, Saw: p.wall(), Hash: hashOf(now), Mark: here | ours})
			return nil
		}
		stamp, was, err := swapfile.Exchange(dir, name, now)
		if err != nil {
			return err
		}
		set(&p.mem.Files, key, slot{Stamp: stamp, Saw: p.wall(), Hash: hashOf(now), Mark: here | ours})
		data, _, err := p.settled(was, old, same, func(data []byte) error { return readable(key, data) })
		if err == nil && data != nil {
			p.merge(key, name, data, inboxAdds(old, now))
		}
		return err
	})
}

// still says whether nobody is writing to a file that seems to be left broken.
func still(dir *swapfile.Dir, name string, was swapfile.Stamp) bool {
	time.Sleep(stillFor)
	now, err := swapfile.Stat(dir, name)
	return err == nil && now == was
}

// readable says what keeps a file of the team from being read.
func readable(key string, data []byte) error {
	if key == configName {
		_, err := claudefile.ReadConfig(data)
		return err
	}
	_, err := claudefile.ReadInbox(data)
	return err
}

// merge takes note of a content that was replaced before anyone had read it; added
// is what the new one has that the one before it had not.
func (p *pass) merge(key, name string, data []byte, added []claudefile.Entry) {
	s := p.mem.Files[key] // the file is ours now; what it was is taken in
	if key == configName {
		if c, err := claudefile.ReadConfig(data); err == nil && c.Name != "" {
			p.team.config = c
			p.noteFile(key, s)
		}
		return
	}
	if entries, err := claudefile.ReadInbox(data); err == nil {
		if p.team.inboxes == nil {
			p.team.inboxes = map[string][]claudefile.Entry{}
		}
		p.team.inboxes[strings.TrimSuffix(name, ".json")] = append(entries, added...)
		p.noteFile(key, s)
	}
}

// configOf is a team's file. Members of a client stay as their client wrote them.
func (p *pass) configOf(w *teamWanted, old []byte) []byte {
	c, err := claudefile.ReadConfig(old)
	if err != nil {
		c = &claudefile.Config{}
	}
	c.LeadAgentID = cmp.Or(c.LeadAgentID, cadre.LeadName+"@"+w.team.Name)
	c.LeadSessionID = cmp.Or(c.LeadSessionID, w.team.Creator.Session, madeUUID(w.epoch))
	c.Name, c.Description = w.team.Name, w.team.Description
	if c.CreatedAt == 0 {
		c.CreatedAt = w.team.CreatedAt.UnixMilli()
	}
	theirs := c.Members
	c.Members = nil
	for _, m := range w.members {
		i := slices.IndexFunc(theirs, func(t claudefile.Member) bool { return t.Name == m.Name })
		switch {
		case m.State == cadre.StateDeparted || p.mem.PutBack[m.Name] > mostPutBack:
		case i >= 0 && m.Backend == cadre.BackendClient:
			c.Members = append(c.Members, theirs[i])
		default:
			c.Members = append(c.Members, memberOf(w.team, m))
		}
	}
	return c.Write(old)
}

// memberOf is a member of ours as clients list it. One that runs is active, which
// keeps a client from deleting the team under it.
func memberOf(team *cadre.Team, m *cadre.Member) claudefile.Member {
	out := claudefile.Member{
		AgentID: m.Name + "@" + team.Name, Name: m.Name, AgentType: m.AgentType, Model: m.Model, Prompt: m.Prompt, Color: m.Color,
		PlanModeRequired: m.PlanMode, JoinedAt: m.JoinedAt.UnixMilli(), CWD: m.CWD, Subscriptions: []string{}, Mode: m.Mode,
	}
	if m.Role != cadre.RoleLead {
		alive := m.Alive()
		out.IsActive = &alive
	}
	return out
}

// madeUUID is a session id for a team that no session leads: clients expect one.
func madeUUID(epoch string) string {
	h := cadre.Digest(epoch)
	if _, err := hex.DecodeString(h); err != nil {
		return ""
	}
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

// teamClean says, taking no lock, whether the team's files behind some reads are
// what the log says.
func (p *pass) teamClean(r *reads) (bool, error) {
	if !r.team && len(r.inboxes) == 0 {
		return true, nil
	}
	if err := p.openTeam(false); err != nil {
		return false, err
	}
	t := &p.team
	if t.dir == nil {
		return !p.mem.Team, nil
	}
	stamp, err := swapfile.Stat(t.dir, configName)
	if known := p.mem.Files[configName]; unreadable(err) != nil || err == nil && !known.current(stamp) || err != nil && known.Mark&here != 0 {
		return false, unreadable(err)
	}
	boxes := map[string]bool{cadre.LeadName: true} // who is idle or left, and what they ask for, comes as mail to the lead
	maps.Copy(boxes, r.inboxes)
	for name := range boxes {
		if t.boxes == nil {
			break
		}
		file := claudefile.ListFolder(name)
		stamp, err := swapfile.Stat(t.boxes, file+".json")
		if known := p.mem.Files[inboxKey(file)]; unreadable(err) != nil || err == nil && !known.current(stamp) {
			return false, unreadable(err)
		}
	}
	return true, nil
}
