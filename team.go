package cadre

import (
	"slices"
	"strings"
	"time"
)

// Role is what a member may do.
type Role string

const (
	RoleLead     Role = "lead"     // override rights in the team
	RoleTeammate Role = "teammate" // works on tasks

	// Roles that only tokens have.
	RoleOperator Role = "operator"  // the person
	RoleMember   Role = "member"    // one teammate
	RoleReadOnly Role = "read-only" // whoever may look and nothing else
)

// LeadName is the member name of every team's lead, whoever created the team:
// it is where real clients send their mail.
const LeadName = "team-lead"

// Team is a named group with one task list.
type Team struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Label       string       `json:"label,omitempty"`
	CreatedAt   time.Time    `json:"createdAt"`
	Creator     Actor        `json:"creator"`
	Settings    TeamSettings `json:"settings"`
	NoLead      bool         `json:"noLead,omitempty"` // the lead left: the team is dormant until taken over
}

// TeamSettings are the rules that a team may choose.
type TeamSettings struct {
	LeadCreates   bool               `json:"leadCreates,omitempty"`   // only the lead may create tasks
	Policies      map[AskKind]Policy `json:"policies,omitempty"`      // what happens to asks that nobody answers
	ApprovalToken string             `json:"approvalToken,omitempty"` // the operator token, and nothing else, that approves
	Mode          WorkMode           `json:"mode,omitempty"`          // how members come to their work
	Limits        map[Backend]int    `json:"limits,omitempty"`        // how many run at the same time, by backend; of all under ""
	Hooks         map[string][]Hook  `json:"hooks,omitempty"`         // by event: what is asked besides the hooks of the caller
}

// Hook is a command that may refuse what a member does, with its time limit.
type Hook struct {
	Command string        `json:"command"`
	Timeout time.Duration `json:"timeout"`
}

func (*Team) Ref() Ref                  { return Ref{KindTeam, "team"} }
func (*Team) order() string             { return "team" }
func (*Team) index(func(Index, string)) {}

// MemberState is what a member is doing. It is derived once, with its evidence.
type MemberState string

const (
	StateStarting    MemberState = "starting"
	StateWorking     MemberState = "working"
	StateWaiting     MemberState = "waiting" // for a person
	StateIdle        MemberState = "idle"
	StateRateLimited MemberState = "rate-limited"
	StateStalled     MemberState = "stalled"
	StateUnreachable MemberState = "unreachable"
	StateDead        MemberState = "dead"
	StateDeparted    MemberState = "departed"
)

// Backend says what runs a member.
type Backend string

const (
	BackendHand    Backend = "hand"    // driven by hand, through --as: nothing runs it
	BackendClient  Backend = "client"  // a session of a real client
	BackendShell   Backend = "shell"   // runs the command of each task
	BackendCommand Backend = "command" // runs a command of its own for each task
	BackendClaude  Backend = "claude"  // runs Claude Code, without a terminal
	BackendCodex   Backend = "codex"   // runs Codex, without a terminal
)

// Supervised says whether Cadre itself runs such a member.
func (b Backend) Supervised() bool { return b != "" && b != BackendHand && b != BackendClient }

// Process is an operating system process, told from a later one of the same
// number by when it started.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"`
}

// Worktree is a git worktree that a member has for itself.
type Worktree struct {
	Path   string `json:"path"`
	Branch string `json:"branch"` // its own
	Base   string `json:"base"`   // the commit that the branch began at
	Repo   string `json:"repo"`   // where git keeps what all worktrees of the repository share
}

// Member is someone in a team.
type Member struct {
	Name        string      `json:"name"`
	Role        Role        `json:"role"`
	AgentType   string      `json:"agentType,omitempty"`
	Model       string      `json:"model,omitempty"`
	Prompt      string      `json:"prompt,omitempty"`
	Description string      `json:"description,omitempty"`
	Color       string      `json:"color,omitempty"`
	PlanMode    bool        `json:"planModeRequired,omitempty"`
	Mode        string      `json:"mode,omitempty"`
	CWD         string      `json:"cwd,omitempty"`
	Worktree    *Worktree   `json:"worktree,omitempty"`
	Backend     Backend     `json:"backend,omitempty"`
	Run         string      `json:"run,omitempty"` // the command of a command member
	Host        string      `json:"host,omitempty"`
	Process     *Process    `json:"process,omitempty"`
	Requested   *Settings   `json:"requested,omitempty"`
	Session     string      `json:"session,omitempty"`
	Lease       *Lease      `json:"lease,omitempty"` // of a guest: until when it counts as there
	Told        bool        `json:"told,omitempty"`  // one that Cadre runs was told its prompt
	N           uint64      `json:"n"`               // the sequence number it joined at
	JoinedAt    time.Time   `json:"joinedAt"`
	State       MemberState `json:"state"`
	Since       time.Time   `json:"since"`
	Evidence    string      `json:"evidence,omitempty"`
	Digested    *Mark       `json:"digested,omitempty"` // of a lead: how far it knows what needs nobody
}

func (m *Member) Ref() Ref { return Ref{KindMember, m.Name} }

// order lists members as they joined.
func (m *Member) order() string { return joinKey(seqKey(m.N), m.Name) }

func (m *Member) index(add func(Index, string)) {
	if m.Session != "" && m.State != StateDeparted {
		add(IndexSession, joinKey(m.Session, m.Name))
	}
	if m.Lease != nil && m.State != StateDeparted {
		add(IndexGuest, joinKey(m.Lease.Boot, upKey(m.Lease.Until), m.Name))
	}
}

// Clone gives a copy that may be changed.
func (m *Member) Clone() *Member {
	c := *m
	return &c
}

// Alive says whether something runs the member now, so that ending the team
// would pull the ground from under it.
func (m *Member) Alive() bool {
	return m.Role != RoleLead && m.Backend != BackendHand && m.State != StateDead && m.State != StateDeparted
}

// Colours in the order in which clients give them out. The lead takes the first.
var colors = []string{"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"}

// nextColor is the colour of the n-th member, the lead being member 0.
func nextColor(n int) string { return colors[n%len(colors)] }

// reservedNames mean somebody already, here or in a real client.
var reservedNames = []string{LeadName, "operator", "main", "user", "system", "external", "policy", "cadre"}

// isName says whether a text is 1 to 64 characters, each a lower-case letter, a
// digit, one that other allows or, but not first, a -. A regular expression would
// have to be compiled at every start of the program.
func isName(s string, other func(byte) bool) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || other(c) || c == '-' && i > 0 {
			continue
		}
		return false
	}
	return s != "" && len(s) <= 64
}

// CheckTeamName checks a name that a new team is to have.
func CheckTeamName(s string) error {
	if !isName(s, func(byte) bool { return false }) {
		return refuse(RuleName, "%q cannot be a team's name: use a-z, 0-9 and -, at most 64, beginning with a letter or digit", clip(s, 80)).
			hint("cadre team create %s", suggestName(s))
	}
	return nil
}

// CheckMemberName checks a name that a new member is to have.
func CheckMemberName(s string) error {
	if !isName(s, func(c byte) bool { return c >= 'A' && c <= 'Z' || c == '_' }) || s[0] == '_' {
		return refuse(RuleName, "%q cannot be a member's name: use a-z, A-Z, 0-9, - and _, at most 64", clip(s, 80))
	}
	if slices.Contains(reservedNames, strings.ToLower(s)) {
		return refuse(RuleName, "%q is a reserved name", s).hint("cadre team join TEAM --name NAME")
	}
	return nil
}

// suggestName makes the nearest allowed team name.
func suggestName(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		default:
			r = '-'
		}
		if r == '-' && (len(out) == 0 || out[len(out)-1] == '-') {
			continue
		}
		out = append(out, r)
	}
	for len(out) > 0 && out[len(out)-1] == '-' {
		out = out[:len(out)-1]
	}
	if len(out) == 0 {
		return "my-team"
	}
	return string(out[:min(len(out), 64)])
}
