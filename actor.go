package cadre

// ActorKind says what sort of caller acted.
type ActorKind string

const (
	ActorOperator ActorKind = "operator" // the person who owns the state folder
	ActorMember   ActorKind = "member"   // a member, by token, by process, or by hand
	ActorSession  ActorKind = "session"  // an agent's session that is no member, or not yet
	ActorGuest    ActorKind = "guest"    // an agent without a session; Session is then its connection, if it has one
	ActorReader   ActorKind = "reader"   // the holder of a read-only token
	ActorPolicy   ActorKind = "policy"   // a team's policy, answering for an absent person
	ActorExternal ActorKind = "external" // another program, through a file
	ActorCadre    ActorKind = "cadre"    // Cadre itself: recovery, expired leases
)

// Proof says how an actor was recognised; it comes from the channel, never from
// a parameter.
type Proof string

const (
	ProofOwner    Proof = "os-user"  // the OS user who owns the state folder
	ProofTerminal Proof = "terminal" // the same, at a terminal
	ProofToken    Proof = "token"
	ProofProcess  Proof = "process" // inside a process that Cadre started
	ProofEnv      Proof = "environment"
	ProofFile     Proof = "file"
	ProofTalk     Proof = "transcript" // a tool call in a client's transcript explains the change
	ProofInternal Proof = "internal"
)

// Actor is who did something, and how that was proved.
type Actor struct {
	Kind    ActorKind `json:"kind"`
	Name    string    `json:"name"`
	Session string    `json:"session,omitempty"`
	Scope   Scope     `json:"scope,omitempty"`  // where a member belongs
	List    Scope     `json:"list,omitempty"`   // the list that a session was started to share with others
	Role    Role      `json:"role,omitempty"`   // what a token was issued for; lead for a guest that may found teams
	Joined  uint64    `json:"joined,omitempty"` // which membership a token is for: a name that comes back is another
	Proof   Proof     `json:"proof"`
	Token   string    `json:"token,omitempty"` // which token proved it
	By      string    `json:"by,omitempty"`    // "operator" where the operator acts as a member
}

// External is another program, known only by what it wrote into a file.
var External = Actor{Kind: ActorExternal, Name: "external", Proof: ProofFile}

// Self is Cadre acting on its own account.
var Self = Actor{Kind: ActorCadre, Name: "cadre", Proof: ProofInternal}

func (a Actor) String() string {
	if a.By != "" {
		return a.Name + ", by the " + a.By
	}
	if a.Name == "" {
		return string(a.Kind)
	}
	return a.Name
}

// Person says whether a human being is provably there: a terminal, or a token
// that only the operator has.
func (a Actor) Person() bool {
	return a.operates() && (a.Proof == ProofTerminal || a.Proof == ProofToken)
}

// operates says whether the operator acts, under its own name or another's.
func (a Actor) operates() bool {
	return a.Kind == ActorOperator || a.By == string(RoleOperator)
}

// founds says whether the actor may create teams and take them over: members and
// those who only look may not, and a guest only where the operator lets it.
func (a Actor) founds() bool {
	return a.Kind != ActorMember && a.Kind != ActorReader && (a.Kind != ActorGuest || a.Role == RoleLead)
}
