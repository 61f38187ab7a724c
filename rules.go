package cadre

// Rule names one reason to refuse. Every refusal of the rule book carries one,
// so that a program can tell them apart, and so that a test can count that each
// of them really refuses.
type Rule string

const (
	RuleName        Rule = "name"         // a name, id or scope that cannot be one
	RuleValue       Rule = "value"        // a field's value that cannot be one
	RuleLimit       Rule = "limit"        // longer, larger or more than allowed
	RuleTaskMissing Rule = "task-missing" // no such task in this scope
	RuleMissing     Rule = "missing"      // no such team, member, message, ask or event
	RuleNothing     Rule = "nothing"      // nothing is ready for this caller
	RuleOwned       Rule = "owned"        // somebody else has the task
	RuleFinished    Rule = "finished"     // the task was completed by somebody else
	RuleVersion     Rule = "version"      // the update was based on an old version
	RuleFence       Rule = "fence"        // a late write: the claim was lost meanwhile
	RuleExists      Rule = "exists"       // the name is taken
	RuleChanged     Rule = "changed"      // what undo would restore was changed again
	RuleWaits       Rule = "waits"        // a blocker is not finished
	RuleCycle       Rule = "cycle"        // the edge would close a cycle
	RuleMove        Rule = "move"         // no such change of status
	RuleBlocks      Rule = "blocks"       // others wait for what would be removed
	RuleGate        Rule = "gate"         // a hook refused
	RulePlan        Rule = "plan"         // the plan is not approved
	RuleAlive       Rule = "alive"        // members are still at work
	RuleRate        Rule = "rate"         // too many messages, or the same one again and again
	RuleRead        Rule = "read"         // no right to read the scope
	RuleOwner       Rule = "owner"        // only its owner, author, the lead or the operator may
	RuleAuthor      Rule = "author"       // only its author, the lead or the operator may
	RuleLead        Rule = "lead"         // only the lead or the operator may
	RuleMember      Rule = "member"       // only a member may
	RuleOperator    Rule = "operator"     // only the operator may
	RuleSelf        Rule = "self"         // an author cannot answer its own ask
	RulePerson      Rule = "person"       // only a person can go on
	RuleTime        Rule = "time"         // time ran out
)

// ruleCodes is the one place that says which code a rule refuses with.
var ruleCodes = map[Rule]Code{
	RuleName: CodeUsage, RuleValue: CodeUsage, RuleLimit: CodeUsage,
	RuleTaskMissing: CodeNotFound, RuleMissing: CodeNotFound, RuleNothing: CodeNotFound,
	RuleOwned: CodeConflict, RuleFinished: CodeConflict, RuleVersion: CodeConflict, RuleFence: CodeConflict,
	RuleExists: CodeConflict, RuleChanged: CodeConflict,
	RuleWaits: CodeBlocked, RuleCycle: CodeBlocked, RuleMove: CodeBlocked, RuleBlocks: CodeBlocked,
	RuleGate: CodeBlocked, RulePlan: CodeBlocked, RuleAlive: CodeBlocked, RuleRate: CodeBlocked,
	RuleRead: CodeForbidden, RuleOwner: CodeForbidden, RuleAuthor: CodeForbidden, RuleLead: CodeForbidden,
	RuleMember: CodeForbidden, RuleOperator: CodeForbidden, RuleSelf: CodeForbidden,
	RulePerson: CodePerson, RuleTime: CodeTimeout,
}

// Code is the code that the rule refuses with.
func (r Rule) Code() Code {
	if c, ok := ruleCodes[r]; ok {
		return c
	}
	return CodeInternal
}

// Limits of what one scope takes. A file that another program wrote past them is
// still taken in, and flagged.
const (
	MaxSubject     = 500 // characters
	MaxDescription = 256 << 10
	MaxMetadata    = 64 << 10
	MaxMessage     = 256 << 10
	MaxComment     = 64 << 10
	MaxTasks       = 100_000
	MaxBlockers    = 1_000
	MaxLabels      = 50
	MaxTodos       = 200

	maxWords = 1_000 // paths or files of one task
)
