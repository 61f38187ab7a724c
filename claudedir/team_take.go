package claudedir

import (
	"maps"
	"slices"
	"time"

	"cadre"
	"cadre/claudefile"
)

// changes adds to an intake what the team's files say that is new.
func (t *teamFiles) changes(p *pass, in *intake, v *cadre.Foreign, id *[]any) error {
	v.Team, v.Mail, v.Taken = nil, nil, nil
	if t.config != nil {
		f, err := p.foreignTeam(in, t.config)
		if err != nil {
			return err
		}
		v.Team = f
	}
	for _, name := range slices.Sorted(maps.Keys(t.inboxes)) {
		if err := p.foreignMail(in, v, name, t.inboxes[name], true); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.astray)) {
		if err := p.foreignMail(in, v, name, t.astray[name], false); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.slots)) {
		s := t.slots[key]
		*id = append(*id, key, s.Hash, s.Ino, s.MTime)
	}
	for _, m := range v.Mail { // some of it stood in a file that a crash left, and that has no slot
		*id = append(*id, m.ID)
	}
	return nil
}

// remember notes how the files look that were taken in.
func (t *teamFiles) remember(p *pass) {
	for key, s := range t.slots {
		set(&p.mem.Files, key, s)
	}
	if t.config != nil {
		p.mem.Team = true
	}
	t.config, t.inboxes, t.astray, t.slots = nil, nil, nil, nil
}

// foreignTeam reads a team's file.
func (p *pass) foreignTeam(in *intake, c *claudefile.Config) (*cadre.ForeignTeam, error) {
	f := &cadre.ForeignTeam{
		Name: c.Name, Description: c.Description, CreatedAt: time.UnixMilli(c.CreatedAt), LeadSession: c.LeadSessionID, By: cadre.External,
	}
	p.noteClient(in, c)
	listed := map[string]bool{}
	for _, m := range c.Members {
		if m.Name == "" {
			continue
		}
		listed[m.Name] = true
		f.Members = append(f.Members, cadre.ForeignMember{
			Name: m.Name, AgentType: m.AgentType, Model: m.Model, Prompt: m.Prompt, Color: m.Color, CWD: m.CWD, Mode: m.Mode,
			PlanMode: m.PlanModeRequired, JoinedAt: time.UnixMilli(m.JoinedAt), Active: m.IsActive, Lead: m.Name == cadre.LeadName,
		})
	}
	fresh := map[string]bool{} // who joined and is not in the file yet
	for _, e := range p.since {
		if e.Object.Kind == cadre.KindMember && e.Seq > p.mem.has(configName) {
			fresh[e.Object.ID] = true
		}
	}
	for m, err := range in.Members() {
		if err != nil {
			return nil, err
		}
		if m.State == cadre.StateDeparted || listed[m.Name] || fresh[m.Name] || p.full {
			continue
		}
		if m.Backend == cadre.BackendClient || m.Role == cadre.RoleLead {
			f.Left = append(f.Left, m.Name)
			continue
		}
		if p.mem.PutBack == nil {
			p.mem.PutBack = map[string]uint64{}
		}
		if p.mem.PutBack[m.Name]++; p.mem.PutBack[m.Name] > mostPutBack {
			f.Dropped = append(f.Dropped, m.Name)
		}
	}
	return f, nil
}

// noteClient remembers whether a client of the older kind leads the team: it says
// nothing about its process, and has no name for its own pane.
func (p *pass) noteClient(in *intake, c *claudefile.Config) {
	for _, m := range c.Members {
		if m.AgentID != c.LeadAgentID {
			continue
		}
		lead, err := in.Member(m.Name)
		ours := err != nil || lead != nil && lead.Backend != cadre.BackendClient
		if p.mem.OldAt = 0; !ours && c.LeadProcess == nil && m.TmuxPaneID == "" {
			p.mem.OldAt = p.wall()
		}
	}
}
