package claudefile

import (
	"encoding/json"
	"slices"
)

// Config is the content of a team's config.json.
type Config struct {
	Name, Description          string
	CreatedAt                  int64 // milliseconds since 1970
	LeadAgentID, LeadSessionID string
	LeadProcess                json.RawMessage // the newer client's: pid, pidSpace, claimedAt, procStart
	Members                    []Member
}

// Member is one entry of a config's members.
type Member struct {
	AgentID, Name, AgentType, Model, Prompt, Color string
	PlanModeRequired                               bool
	JoinedAt                                       int64 // milliseconds since 1970
	TmuxPaneID, CWD                                string
	Subscriptions                                  []string
	BackendType                                    string
	IsActive                                       *bool // nil where nobody said
	Mode                                           string
}

// ReadConfig reads a config.json. It fails only for what is no JSON object within
// the limits of Parse; a field of the wrong type is left empty, and what is no
// object among the members is passed over.
func ReadConfig(data []byte) (*Config, error) {
	o, err := Parse(data)
	if err != nil {
		return nil, err
	}
	f := fields{Object: o}
	c := &Config{
		Name:          f.text("name", true),
		Description:   f.text("description", false),
		CreatedAt:     f.number("createdAt"),
		LeadAgentID:   f.text("leadAgentId", true),
		LeadSessionID: f.text("leadSessionId", true),
	}
	c.LeadProcess, _ = o.Get("leadProcess")
	for _, m := range memberObjects(o) {
		c.Members = append(c.Members, readMember(m))
	}
	return c, nil
}

func memberObjects(o *Object) (members []*Object) {
	list, _ := o.Get("members")
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	for _, m := range items(list) {
		if m[0] == '{' {
			members = append(members, split(m))
		}
	}
	return members
}

func readMember(o *Object) Member {
	f := fields{Object: o}
	planMode := f.flag("planModeRequired", false)
	return Member{
		AgentID:          f.text("agentId", true),
		Name:             f.text("name", true),
		AgentType:        f.text("agentType", false),
		Model:            f.text("model", false),
		Prompt:           f.text("prompt", false),
		Color:            f.text("color", false),
		PlanModeRequired: planMode != nil && *planMode,
		JoinedAt:         f.number("joinedAt"),
		TmuxPaneID:       f.text("tmuxPaneId", true),
		CWD:              f.text("cwd", true),
		Subscriptions:    f.list("subscriptions", true),
		BackendType:      f.text("backendType", false),
		IsActive:         f.flag("isActive", false),
		Mode:             f.text("mode", false),
	}
}

// Write gives c as the content of its file, with the rules of Task.Write: what is
// the same stays as it was, unknown keys too, those of a member as long as it is
// there (by its agent id, else by its name). A worktreePath is kept and never
// made: a client that deletes the team removes that folder by force.
func (c *Config) Write(old []byte) []byte {
	o, err := Parse(old)
	if err != nil {
		o = &Object{}
		merge(o, nil, c.fields())
		o.Set("members", c.writeMembers(nil))
		return o.Bytes()
	}
	before, err := ReadConfig(old)
	if err != nil {
		panic("claudefile: " + err.Error()) // it was parsed a moment ago
	}
	changed := merge(o, before.fields(), c.fields())
	if !slices.EqualFunc(before.Members, c.Members, Member.equal) {
		o.Set("members", c.writeMembers(memberObjects(o)))
		changed = true
	}
	if !changed {
		return old
	}
	return o.Bytes()
}

func (c *Config) fields() []field {
	return []field{
		{"name", c.Name, true},
		{"description", c.Description, false},
		{"createdAt", c.CreatedAt, true},
		{"leadAgentId", c.LeadAgentID, true},
		{"leadSessionId", c.LeadSessionID, true},
		{"leadProcess", c.LeadProcess, false},
	}
}

// writeMembers gives the members in their order, each as a change of the old entry
// that is the same member's.
func (c *Config) writeMembers(old []*Object) []*Object {
	members := []*Object{}
	was := make([]Member, len(old))
	for i, o := range old {
		was[i] = readMember(o)
	}
	taken := make([]bool, len(old))
	find := func(same func(Member) bool) int {
		for i, m := range was {
			if !taken[i] && same(m) {
				return i
			}
		}
		return -1
	}
	for _, m := range c.Members {
		i := find(func(w Member) bool { return w.AgentID == m.AgentID })
		if i < 0 {
			i = find(func(w Member) bool { return w.Name == m.Name })
		}
		if i < 0 {
			o := &Object{}
			merge(o, nil, m.fields())
			members = append(members, o)
			continue
		}
		taken[i] = true
		merge(old[i], was[i].fields(), m.fields())
		members = append(members, old[i])
	}
	return members
}

func (m Member) equal(o Member) bool { return !merge(&Object{}, m.fields(), o.fields()) }

func (m Member) fields() []field {
	var planMode any // only ever written as true
	if m.PlanModeRequired {
		planMode = true
	}
	return []field{
		{"agentId", m.AgentID, true},
		{"name", m.Name, true},
		{"agentType", m.AgentType, false},
		{"model", m.Model, false},
		{"prompt", m.Prompt, false},
		{"color", m.Color, false},
		{"planModeRequired", planMode, false},
		{"joinedAt", m.JoinedAt, true},
		{"tmuxPaneId", m.TmuxPaneID, true},
		{"cwd", m.CWD, true},
		{"subscriptions", nonNil(m.Subscriptions), true},
		{"backendType", m.BackendType, false},
		{"isActive", m.IsActive, false},
		{"mode", m.Mode, false},
	}
}
