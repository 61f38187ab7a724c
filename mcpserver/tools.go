package mcpserver

import (
	"strings"

	"cadre/coord"
)

// Tier is how many tools a connection has. Each costs tokens in every conversation.
type Tier string

const (
	Core Tier = "core" // a worker's: tasks, mail, what changed
	Team Tier = "team" // a lead's too: teams, members, asks
	All  Tier = "all"  // every verb that makes sense here
)

// Tiers lists them, from few tools to many.
var Tiers = []Tier{Core, Team, All}

// tool is one tool: a verb of the registry, or a form that makes one.
type tool struct {
	name   string
	tier   Tier
	about  string            // what it does and when to use it
	verb   string            // in the registry
	rename map[string]string // the client's names of the verb's fields
	hide   []string          // fields that only cost tokens here
	form   func() any        // what the parameters are set in; the verb without

	reads, destroys, again bool // hints: only looks; may destroy; again changes nothing more
}

// shape is a form that is not a verb itself.
type shape interface {
	// verb gives the verb to carry out, and its name in the registry.
	verb() (string, any, error)
}

// named are the tools whose names and fields agents know, or that teach best by hand.
func named() []*tool {
	id := map[string]string{"id": "taskId"}
	return []*tool{
		{
			name: "Sync", tier: Core, verb: "sync", reads: true,
			about: "What changed for you since your last Sync: your tasks, work that is ready, messages, asks. Call it first, without a cursor, then between steps with the cursor of the last answer; it costs little. With wait it returns as soon as something happens.",
			form:  func() any { return &syncForm{} },
		},
		{
			name: "TaskNext", tier: Core, verb: "task next",
			about: "Take the task that is right for you now and start it: your unfinished one, one assigned to you, else the most urgent that is ready. Use it when you are free, instead of choosing from TaskList.",
			form:  func() any { return &nextForm{} },
		},
		{
			name: "TaskCreate", tier: Core, verb: "task add", hide: []string{"approvers", "paths", "maxAttempts"},
			about: "Add a task for work of several steps, or for others. Put everything another agent needs into the description. blockedBy makes it wait.",
		},
		{
			name: "TaskGet", tier: Core, verb: "task show", rename: id, reads: true,
			about: "Read one task whole: description, comments, result, what it waits for. Do it before you start a task.",
		},
		{
			name: "TaskList", tier: Core, verb: "task list", reads: true,
			about: "List tasks, one line each. For what you should do next, TaskNext or Sync cost less.",
			form:  func() any { return &listForm{} },
		},
		{
			name: "TaskUpdate", tier: Core, verb: "task update", destroys: true, again: true,
			rename: map[string]string{"id": "taskId", "ifVersion": "expectedVersion", "reference": "references", "unreference": "removeReferences"},
			hide:   []string{"paths", "parent", "run", "maxAttempts"},
			about:  "Change a task, all or nothing. status in_progress when you begin (it becomes yours), completed with a result as soon as it is really done, deleted to drop it. A task that waits for others cannot start.",
		},
		{
			name: "TaskClaim", tier: Core, verb: "task claim", rename: id, again: true, hide: []string{"force"},
			about: "Become the owner of one task without starting it. Of many claimers exactly one wins; the others are told who.",
		},
		{
			name: "SendMessage", tier: Core, verb: "msg send",
			about: `Write to a member by name, "team-lead", or "*" for everyone. What you print is seen by nobody: to tell a teammate something, use this. An object as message answers a request: {"type":"shutdown_response","request_id":"a7","approve":true}.`,
			form:  func() any { return &sendForm{} },
		},
		{
			name: "ReadInbox", tier: Core, verb: "msg inbox",
			about: "Read your new messages. Calling it again says that you have read those you were given. With wait it waits for one.",
			form:  func() any { return &inboxForm{} },
		},
		{
			name: "TeamStatus", tier: Team, verb: "team show", rename: map[string]string{"team": "team_name"}, reads: true,
			about: "Who is in the team, what each does and how one can tell, how many tasks are open.",
		},
		{
			name: "TeamJoin", tier: Team, verb: "team join", rename: map[string]string{"team": "team_name", "agentType": "agent_type"}, again: true,
			hide:  []string{"token", "planModeRequired"},
			about: "Become a member of a team and work on its list from now on.",
		},
		{
			name: "TeamCreate", tier: Team, verb: "team create", rename: map[string]string{"name": "team_name", "leadCreates": "lead_creates"},
			about: "Found a team and lead it: for work that several agents should share. Your tasks are then the team's.",
		},
		{
			name: "TeamDelete", tier: Team, verb: "team delete", rename: map[string]string{"team": "team_name"}, hide: []string{"purge"}, destroys: true,
			about: "End a team you lead. It is archived. Refused while members are alive: StopTeammate first.",
		},
		{
			name: "SpawnTeammate", tier: Team, verb: "member spawn", rename: map[string]string{"agentType": "subagent_type", "planModeRequired": "plan_mode_required"},
			about: "Start a member that Cadre runs and watches, with a prompt, with tasks, or both. Leads only.",
		},
		{
			name: "StopTeammate", tier: Team, verb: "member stop", destroys: true,
			about: "Ask a member to end; it may refuse, with a reason. With force it is ended at once, and its tasks go back. Leads only.",
			form:  func() any { return &stopForm{} },
		},
		{
			name: "AnswerAsk", tier: Team, verb: "ask answer",
			about: "Answer what waits for you: a plan, a permission, a question, a request to shut down. Sync lists them. Nobody answers what it asked itself.",
			form:  func() any { return &answerForm{} },
		},
		{
			name: "TodoWrite", tier: Team, verb: "todo write", again: true,
			about: "Replace your own small list of steps, which nobody else works on: for three steps or more, not for trivial work. Exactly one in_progress while you work; mark each completed as soon as it is done, not several at once. It empties when all are completed.",
		},
	}
}

// unfit are the verbs that are no tools, and why.
var unfit = map[string]string{
	"task ready":     "Sync and TaskNext",
	"task start":     "TaskUpdate with a status",
	"task done":      "TaskUpdate with a status",
	"task rm":        "TaskUpdate with a status",
	"task block":     "TaskUpdate with addBlockedBy",
	"task unblock":   "TaskUpdate with removeBlockedBy",
	"task comment":   "TaskUpdate with a comment",
	"msg broadcast":  `SendMessage to "*"`,
	"msg wait":       "ReadInbox with wait",
	"msg ack":        "ReadInbox does it",
	"member kill":    "StopTeammate with force",
	"ask approve":    "AnswerAsk",
	"ask reject":     "AnswerAsk",
	"team use":       "TeamJoin: a connection works where it belongs",
	"team policy":    "the operator's",
	"team approvals": "the operator's",
	"token create":   "the operator's",
	"token list":     "the operator's",
	"token revoke":   "the operator's",
	"audit verify":   "the operator's",
	"audit anchor":   "the operator's",
	"audit export":   "the operator's",
	"gc":             "the operator's",
	"doctor":         "the operator's",
	"backup":         "the operator's",
	"import":         "reads a file",
	"export":         "writes a file",
	"up":             "runs for ever",
	"run":            "reads a file",
	"install":        "the operator's",
	"uninstall":      "the operator's",
	"trust":          "the operator's",
	"watch":          "subscribe to cadre://board, or Sync with wait",
}

// others are the verbs of the last tier that have no name of their own, and whether they
// only look.
var others = map[string]bool{
	"task release": false, "task accept": false, "task restore": false, "task why": true, "task graph": true, "task wait": true,
	"team list": true, "team take": false, "team label": false, "team mode": false, "team limit": false, "team restore": false,
	"member list": true, "member show": true, "member report": false, "member nudge": false, "member resume": false, "member leave": false,
	"msg dead": true, "ask list": true, "ask show": true, "ask for": false, "todo show": true,
	"log": true, "blame": true, "diff": true, "at": true, "undo": false,
}

// toolsOf gives the tools of a tier. A verb that stands in no list here is no tool: it
// is for somebody to decide.
func toolsOf(tier Tier) []*tool {
	var out []*tool
	for _, t := range named() {
		if tier != Core || t.tier == Core {
			out = append(out, t)
		}
	}
	if tier != All {
		return out
	}
	for _, v := range coord.Verbs() {
		reads, ok := others[v.Name]
		if !ok {
			continue
		}
		t := &tool{name: toolName(v.Name), tier: All, verb: v.Name, about: v.Help + ".", reads: reads}
		if strings.HasPrefix(v.Name, "task ") {
			t.rename = map[string]string{"id": "taskId"}
		}
		out = append(out, t)
	}
	return out
}

// toolName is a verb's name as a tool's: "task why" is TaskWhy.
func toolName(verb string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(verb) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// verbs finds the registry's verbs by name.
func verbs() map[string]coord.Verb {
	out := map[string]coord.Verb{}
	for _, v := range coord.Verbs() {
		out[v.Name] = v
	}
	return out
}

// newForm is a new value that the tool's parameters are set in.
func (t *tool) newForm() any {
	if t.form != nil {
		return t.form()
	}
	return verbs()[t.verb].New()
}

// call gives the verb that a filled form means.
func (t *tool) call(form any) (string, any, error) {
	if s, ok := form.(shape); ok {
		return s.verb()
	}
	return t.verb, form, nil
}

// waitMost is the longest that a call waits, in seconds: clients give up at some time.
const waitMost = 600
