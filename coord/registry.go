package coord

import "cadre"

// Verb is one line of the registry: the name everywhere, what it is for, and a
// new value of the type that carries it out. Its fields are its parameters.
// Flags, tools, routes and the reference are all made from this list.
type Verb struct {
	Name    string // "task add"
	Help    string // one line
	Example string
	New     func() any // a cadre.Change, a cadre.Query or a Procedure
}

// Verbs lists every verb, in the order in which they are documented.
func Verbs() []Verb {
	return []Verb{
		{"task add", "Create a task", `cadre task add "Write the docs" --blocked-by 1,2 --owner bob`, func() any { return &cadre.TaskAdd{} }},
		{"task list", "List tasks", "cadre task list --open", func() any { return &cadre.TaskList{} }},
		{"task ready", "List what could be started now", "cadre task ready", func() any { return &cadre.TaskReady{} }},
		{"task next", "Show or take what is right to do now", "cadre task next --claim --wait 30s", func() any { return &TaskNext{} }},
		{"task show", "Show a task with everything that belongs to it", "cadre task show 3", func() any { return &cadre.TaskShow{} }},
		{"task update", "Change a task", "cadre task update 3 --status in_progress --if-version 4", func() any { return &cadre.TaskUpdate{} }},
		{"task claim", "Take a task: become its owner", "cadre task claim 3", func() any { return &cadre.TaskClaim{} }},
		{"task release", "Give a task back", "cadre task release 3", func() any { return &cadre.TaskRelease{} }},
		{"task start", "Begin work on a task", "cadre task start 3", func() any { return &cadre.TaskStart{} }},
		{"task done", "Complete a task and free those that wait for it", `cadre task done 3 --result "all tests pass"`, func() any { return &cadre.TaskDone{} }},
		{"task accept", "Let a task count that was completed out of order", "cadre task accept 3", func() any { return &cadre.TaskAccept{} }},
		{"task rm", "Remove a task; it can be restored", "cadre task rm 3 --unblock", func() any { return &cadre.TaskRemove{} }},
		{"task restore", "Bring a removed task back", "cadre task restore 3", func() any { return &cadre.TaskRestore{} }},
		{"task block", "Make a task wait for another", "cadre task block 3 --by 1", func() any { return &cadre.TaskBlock{} }},
		{"task unblock", "Make a task no longer wait for another", "cadre task unblock 3 --by 1", func() any { return &cadre.TaskUnblock{} }},
		{"task comment", "Add a note to a task", `cadre task comment 3 "half of it is done"`, func() any { return &cadre.TaskComment{} }},
		{"task why", "Explain what a task waits for and who could free it", "cadre task why 3", func() any { return &cadre.TaskWhy{} }},
		{"task graph", "Draw the dependencies", "cadre task graph --mermaid", func() any { return &cadre.TaskGraph{} }},
		{"task wait", "Wait until tasks are completed", "cadre task wait 3 4 --timeout 10m", func() any { return &TaskWait{} }},
		{"team create", "Make a team, with yourself as its lead", `cadre team create docs -d "the new manual"`, func() any { return &TeamCreate{} }},
		{"team list", "List teams and lists", "cadre team list --all", func() any { return &TeamList{} }},
		{"team show", "Show a team with its members", "cadre team show docs", func() any { return &TeamShow{} }},
		{"team use", "Work on a team's list from this folder on", "cadre team use docs", func() any { return &TeamUse{} }},
		{"team join", "Become a member of a team", "cadre team join docs --name writer", func() any { return &TeamJoin{} }},
		{"team take", "Become the lead of a team that has none", "cadre team take docs", func() any { return &TeamTake{} }},
		{"team label", "Give a team a name for people", `cadre team label "The new manual"`, func() any { return &cadre.TeamLabel{} }},
		{"team policy", "Say what happens to asks that nobody answers in time", "cadre team policy plan approve --after 5m", func() any { return &cadre.TeamPolicy{} }},
		{"team approvals", "Say with what the team takes approvals", "cadre team approvals token", func() any { return &cadre.TeamApprovals{} }},
		{"team mode", "Say how the members that Cadre runs come to their work", "cadre team mode dispatch", func() any { return &cadre.TeamMode{} }},
		{"team limit", "Say how many members run at the same time", "cadre team limit 4 --backend shell", func() any { return &cadre.TeamLimit{} }},
		{"team delete", "End a team; it is archived and can be restored", "cadre team delete docs", func() any { return &TeamDelete{} }},
		{"team restore", "Bring an archived team back", "cadre team restore docs", func() any { return &TeamRestore{} }},
		{"member list", "List the members of the team", "cadre member list", func() any { return &MemberList{} }},
		{"member show", "Show a member", "cadre member show bob", func() any { return &MemberShow{} }},
		{"member report", "Say what you are doing", `cadre member report waiting --evidence "for the review"`, func() any { return &cadre.MemberReport{} }},
		{"member spawn", "Start a member that Cadre runs", `cadre member spawn bob --backend shell --tasks 1,2`, func() any { return &MemberSpawn{} }},
		{"member nudge", "Have a member look at its tasks", `cadre member nudge bob "task 3 is urgent"`, func() any { return &cadre.MemberNudge{} }},
		{"member kill", "End a member at once, with everything it started", "cadre member kill bob", func() any { return &MemberKill{} }},
		{"member resume", "Start a member again that ended or died", "cadre member resume bob", func() any { return &MemberResume{} }},
		{"member stop", "Ask a member to end; it may refuse", `cadre member stop bob --reason "all is done"`, func() any { return &cadre.AskShutdownOf{} }},
		{"member leave", "Leave the team; your open tasks go back", "cadre member leave", func() any { return &cadre.MemberLeave{} }},
		{"msg send", "Send a message to a member", `cadre msg send bob "please look at task 3"`, func() any { return &cadre.MsgSend{} }},
		{"msg broadcast", "Send a message to every other member", `cadre msg broadcast "stop: the build is broken"`, func() any { return &cadre.MsgBroadcast{} }},
		{"msg inbox", "Show unread messages", "cadre msg inbox bob --all", func() any { return &cadre.MsgInbox{} }},
		{"msg wait", "Wait for a message", "cadre msg wait --timeout 10m", func() any { return &MsgWait{} }},
		{"msg ack", "Say that messages were read", "cadre msg ack m12", func() any { return &cadre.MsgAck{} }},
		{"msg dead", "List messages that can never arrive", "cadre msg dead", func() any { return &cadre.MsgDead{} }},
		{"ask list", "List what waits for an answer", "cadre ask list", func() any { return &cadre.AskList{} }},
		{"ask show", "Show an ask", "cadre ask show a12", func() any { return &cadre.AskShow{} }},
		{"ask for", "Ask for a plan's approval, a permission or an answer", `cadre ask for plan "first the tests, then the code" --task 3`, func() any { return &cadre.AskFor{} }},
		{"ask approve", "Say yes", "cadre ask approve a12", func() any { return &cadre.AskApprove{} }},
		{"ask reject", "Say no", `cadre ask reject a12 "too much at once"`, func() any { return &cadre.AskReject{} }},
		{"ask answer", "Answer a question", `cadre ask answer a12 "the second one"`, func() any { return &cadre.AskAnswer{} }},
		{"todo show", "Show your own small list", "cadre todo show", func() any { return &cadre.TodoShow{} }},
		{"todo write", "Replace your own small list", "cadre todo write todos.json", func() any { return &cadre.TodoWrite{} }},
		{"token create", "Issue a token, shown once, that proves who a program is", "cadre token create --role member --name bob --expires 30d", func() any { return &TokenCreate{} }},
		{"token list", "List the tokens that are valid", "cadre token list --all", func() any { return &TokenList{} }},
		{"token revoke", "Make a token worthless at once", "cadre token revoke t7", func() any { return &TokenRevoke{} }},
		{"sync", "Show what changed for you since you last asked", "cadre sync --wait 30s", func() any { return &Sync{} }},
		{"log", "Show what happened", "cadre log --limit 20", func() any { return &Log{} }},
		{"blame", "Show who set each field of a task", "cadre blame 3", func() any { return &cadre.Blame{} }},
		{"diff", "Show what changed between two points of the log", "cadre diff 2h", func() any { return &Diff{} }},
		{"at", "Show the list as it was", "cadre at 2h", func() any { return &At{} }},
		{"undo", "Take a change back", "cadre undo 57", func() any { return &Undo{} }},
		{"audit verify", "Check the record against itself and its anchors", "cadre audit verify", func() any { return &AuditVerify{} }},
		{"audit anchor", "Sign where the record stands, to keep elsewhere", "cadre audit anchor > anchor.json", func() any { return &AuditAnchor{} }},
		{"audit export", "Write out the whole log, one event a line", "cadre audit export > log.jsonl", func() any { return &AuditExport{} }},
		{"watch", "Follow the log", "cadre watch --until task:12=completed", func() any { return &Watch{} }},
		{"run", "Carry out a team file, and report", "cadre run team.yaml --report run.md --timeout 30m", func() any { return &Run{} }},
		{"up", "Run the members of the team until interrupted", "cadre up --limit 4", func() any { return &Up{} }},
		{"doctor", "Examine Claude Code's files, and mend them", "cadre doctor --fix --dry-run", func() any { return &Doctor{} }},
		{"install", "Give another program's agents Cadre's tools", "cadre install claude --write", func() any { return &Install{} }},
		{"uninstall", "Take Cadre out of another program's settings", "cadre uninstall claude --write", func() any { return &Uninstall{} }},
		{"trust", "Let the hooks that a project's own settings name run", "cadre trust --list", func() any { return &Trust{} }},
		{"gc", "Find what nobody needs any more", "cadre gc --apply", func() any { return &GC{} }},
		{"import", "Create tasks from a file, one JSON object a line", "cadre import plan.jsonl", func() any { return &cadre.TaskImport{} }},
		{"export", "Write out tasks in the form that import reads", "cadre export --history", func() any { return &cadre.TaskExport{} }},
		{"backup", "Write a copy of the whole record", "cadre backup cadre-backup.db", func() any { return &Backup{} }},
	}
}
