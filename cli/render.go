package cli

import (
	"strconv"

	"cadre"
	"cadre/coord"
)

// rendererOf gives what shows a verb's answer to people, nil for no such verb.
func rendererOf(name string) func(*page, any) {
	switch name {
	case "overview":
		return as((*page).overview)
	case "task add":
		return as((*page).added)
	case "task list", "task ready", "task wait":
		return as((*page).taskList)
	case "task next", "task show":
		return as((*page).task)
	case "task update", "task claim", "task release", "task start", "task done", "task accept", "task rm",
		"task restore", "task block", "task unblock", "task comment":
		return (*page).changedTask
	case "sync":
		return as((*page).synced)
	case "task why":
		return as((*page).why)
	case "task graph":
		return as((*page).graph)
	case "team create":
		return as((*page).teamName)
	case "team list":
		return as((*page).teamList)
	case "team show", "team use", "team take", "team label", "team policy", "team approvals", "team mode", "team limit", "team restore":
		return as((*page).team)
	case "team delete":
		return as((*page).teamDeleted)
	case "team join":
		return as((*page).joined)
	case "member leave", "member report", "member spawn", "member kill", "member resume":
		return as((*page).memberLine)
	case "member list":
		return as((*page).memberList)
	case "member show":
		return as((*page).member)
	}
	return otherRenderer(name)
}

func otherRenderer(name string) func(*page, any) {
	switch name {
	case "msg send", "member nudge":
		return as((*page).sent)
	case "msg broadcast":
		return as((*page).broadcast)
	case "msg inbox", "msg wait":
		return as((*page).inbox)
	case "msg ack":
		return as((*page).acknowledged)
	case "msg dead":
		return as((*page).deadLetters)
	case "ask list":
		return as((*page).askList)
	case "ask for", "member stop":
		return as((*page).asked)
	case "ask show", "ask approve", "ask reject", "ask answer":
		return as((*page).ask)
	case "todo show", "todo write":
		return as((*page).todo)
	case "token create":
		return as((*page).issued)
	case "token list":
		return as((*page).tokenList)
	case "token revoke":
		return as((*page).revoked)
	case "log":
		return as((*page).log)
	case "blame":
		return as((*page).blame)
	case "diff":
		return as((*page).diff)
	case "at":
		return as((*page).at)
	case "undo":
		return as((*page).undone)
	case "audit verify":
		return as((*page).audit)
	case "audit anchor":
		return as((*page).anchor)
	case "doctor":
		return as((*page).doctor)
	case "install", "uninstall":
		return (*page).installedOrPrinted
	case "trust":
		return as((*page).trusted)
	case "gc":
		return as((*page).collected)
	case "import":
		return (*page).importedOrTaken
	case "export":
		return as((*page).export)
	case "backup":
		return as((*page).backedUp)
	case "run":
		return (*page).ran
	case "up": // it said all when it began
		return func(*page, any) {}
	case "audit export", "watch": // streams, written event by event
		return as((*page).log)
	}
	return nil
}

// as makes a renderer of one type of answer a renderer of any. An answer that it
// does not know is shown as JSON: better plain than not at all.
func as[T any](render func(*page, T)) func(*page, any) {
	return func(pg *page, answer any) {
		if v, ok := answer.(T); ok {
			render(pg, v)
		} else if err := pg.writeJSON(answer); err != nil {
			pg.warn("%s", err)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// openCount says how much is to be done: "3 open (1 running), 4 done".
func openCount(tasks map[cadre.Status]int) string {
	open := tasks[cadre.Pending] + tasks[cadre.InProgress]
	s := itoa(open) + " open"
	if n := tasks[cadre.InProgress]; n > 0 {
		s += " (" + itoa(n) + " running)"
	}
	return s + ", " + itoa(tasks[cadre.Completed]) + " done"
}

func (pg *page) backedUp(b *coord.BackedUp) { pg.printf("%s\n", line(b.Path)) }

// importedOrTaken tells of tasks from a file, or of teams from a folder.
func (pg *page) importedOrTaken(answer any) {
	lines, ok := answer.([]*coord.TeamLine)
	switch {
	case !ok:
		as((*page).imported)(pg, answer)
	case len(lines) == 0:
		pg.printf("nothing was taken over\n")
	default:
		pg.teamList(lines)
	}
}

func (pg *page) imported(v *cadre.Imported) {
	if len(v.IDs) == 0 {
		pg.printf("imported nothing\n")
		return
	}
	pg.printf("imported %s: %s to %s\n", count(len(v.IDs), "task"), v.IDs[0], v.IDs[len(v.IDs)-1])
}

// export writes the lines that import reads, whatever the form asked for.
func (pg *page) export(lines []*cadre.ExportLine) {
	if err := pg.writeLines(lines); err != nil {
		pg.warn("%s", err)
	}
}

func (pg *page) collected(lines []*coord.GCLine) {
	if len(lines) == 0 {
		pg.talk("there is nothing to collect")
		return
	}
	t := newTable("LIST", "ACTION", "", "WHY")
	for _, l := range lines {
		done := cell{"not done", dim}
		if l.Done {
			done = cell{"✓ done", green}
		}
		t.add(text(string(l.Scope)), text(l.Action), done, text(l.Why))
	}
	t.print(pg)
	if !lines[0].Done {
		pg.hint("nothing was changed; to do it: cadre gc --apply")
	}
}
