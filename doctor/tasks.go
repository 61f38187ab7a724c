package doctor

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"cadre/claudefile"
)

// checkLists examines the tasks of every list. What a check mends it mends in the
// tasks as they are in memory, so that the next one sees what will be.
func (x *exam) checkLists() {
	for _, l := range x.lists {
		tasks := l.inOrder()
		for _, t := range tasks {
			if t.task != nil {
				x.checkVisible(t)
			}
		}
		for _, t := range tasks {
			if t.visible() {
				x.checkID(t)
				x.checkEdges(l, t)
			}
		}
		x.checkCycles(l, tasks)
		x.checkOwners(l, tasks)
		x.checkAutoClaim(l, tasks)
		x.checkMark(l, tasks)
	}
}

// checkVisible notes a task that the client passes over, and mends what needs no
// guess.
func (x *exam) checkVisible(t *taskFile) {
	if t.task.Invisible == "" {
		return
	}
	f := x.find("task-invisible", t.path, t.task.Invisible, "does not see the task, and says nothing")
	if f.Repair = t.makeVisible(); f.Repair == "" {
		f.Advice = "correct it by hand; other programs that wrote it may still see it"
	}
}

// makeVisible mends a task and says how, or nothing where only a guess would help.
func (t *taskFile) makeVisible() string {
	o, err := claudefile.Parse(t.data)
	if err != nil {
		return ""
	}
	task := *t.task
	var how []string
	for _, key := range []string{"id", "subject", "description", "activeForm", "owner", "status", "blocks", "blockedBy", "metadata"} {
		raw, there := o.Get(key)
		absent := !there || string(raw) == "null"
		switch {
		case !there && slices.Contains([]string{"activeForm", "owner", "metadata"}, key):
			continue
		case key == "metadata" && raw[0] == '{':
			continue
		case key == "status":
			legacy := map[string]string{"open": "pending", "resolved": "completed"}[task.Status]
			if legacy == "" && !slices.Contains([]string{"pending", "in_progress", "completed"}, task.Status) {
				return ""
			}
			if legacy == "" {
				continue
			}
			task.Status = legacy
			how = append(how, "status becomes "+legacy)
		case key == "blocks" || key == "blockedBy":
			ids, ok := idsIn(raw, absent)
			if !ok {
				return ""
			}
			if key == "blocks" {
				task.Blocks = ids
			} else {
				task.BlockedBy = ids
			}
			if absent || strings.Contains(task.Invisible, key+" is not") {
				how = append(how, key+" becomes a list of strings")
			}
		case !absent && raw[0] == '"':
			continue
		case key == "id" && (absent || strings.Contains("-0123456789", string(raw[:1]))):
			task.ID = t.name
			how = append(how, "id becomes "+strconv.Quote(t.name))
		case key == "subject", !absent:
			return ""
		case key == "description":
			how = append(how, "description becomes empty")
		default:
			how = append(how, key+" is removed")
		}
	}
	task.Invisible = ""
	*t.task = task
	return t.mend("%s", strings.Join(how, ", "))
}

// idsIn reads a list of ids, also of numbers.
func idsIn(raw json.RawMessage, absent bool) (ids []string, ok bool) {
	if absent {
		return nil, true
	}
	var values []json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return nil, false
	}
	for _, v := range values {
		id := string(v)
		if json.Unmarshal(v, &id) != nil && !decimal(id) || id == "null" {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// decimal says whether a text is digits and nothing else.
func decimal(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (x *exam) checkID(t *taskFile) {
	if claudefile.ListFolder(t.task.ID) == t.name {
		return
	}
	x.find("task-id", t.path, fmt.Sprintf("the id in it is %q, and its name says %q", t.task.ID, t.name),
		fmt.Sprintf("shows it as #%s and finds it only as %s", t.task.ID, t.name)).Repair = t.mend("id becomes %q", t.name)
	t.task.ID = t.name
}

// checkEdges holds each edge against the other task's file.
func (x *exam) checkEdges(l *list, t *taskFile) {
	if slices.Contains(t.task.Blocks, t.name) || slices.Contains(t.task.BlockedBy, t.name) {
		x.find("self-block", t.path, "the task waits for itself", "never lets it be claimed, and shows it as blocked").
			Repair = t.mend("it no longer waits for itself")
		t.task.Blocks, t.task.BlockedBy = without(t.task.Blocks, t.name), without(t.task.BlockedBy, t.name)
	}
	for _, id := range slices.Clone(t.task.BlockedBy) {
		x.checkEdge(l, t, id, "waits for", &t.task.BlockedBy, "shows it as blocked by #"+id+", and lets it be claimed all the same",
			func(other *taskFile) *[]string { return &other.task.Blocks })
	}
	for _, id := range slices.Clone(t.task.Blocks) {
		x.checkEdge(l, t, id, "blocks", &t.task.Blocks, "shows it as blocking #"+id+", which does nothing",
			func(other *taskFile) *[]string { return &other.task.BlockedBy })
	}
}

func (x *exam) checkEdge(l *list, t *taskFile, id, verb string, side *[]string, client string, back func(*taskFile) *[]string) {
	other, there := l.tasks[claudefile.ListFolder(id)]
	if !there {
		x.find("edge-dangling", t.path, fmt.Sprintf("it %s task %s, which is not there", verb, id), client).
			Repair = t.mend("it no longer %s %s", verb, id)
		*side = without(*side, id)
		return
	}
	if !other.visible() || slices.Contains(*back(other), t.name) {
		return
	}
	x.find("edge-one-sided", t.path, fmt.Sprintf("it %s task %s, and that task does not say so", verb, id),
		"counts what a task waits for, and nothing else").Repair = other.mend("the other side of the edge with %s is written", t.name)
	*back(other) = append(*back(other), t.name)
}

func without(ids []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(s string) bool { return s == id })
}

// checkCycles notes every circle, and breaks it where its first task waits.
func (x *exam) checkCycles(l *list, tasks []*taskFile) {
	w := walk{list: l, free: map[string]bool{}, on: map[string]int{}}
	for _, t := range tasks {
		for circle := w.circle(t.name); circle != nil; circle = w.circle(t.name) {
			x.breakCircle(l, circle)
		}
	}
}

// walk looks for circles.
type walk struct {
	*list
	free map[string]bool // tasks from which no circle can be reached
	path []string        // from the first task to this one
	on   map[string]int  // where on the path a task is, from 1
}

// circle gives a circle that can be reached from a task, each task waiting for the
// one after it.
func (w *walk) circle(name string) []string {
	if i := w.on[name]; i > 0 {
		return slices.Clone(w.path[i-1:])
	}
	t := w.tasks[name]
	if w.free[name] || !t.visible() {
		return nil
	}
	w.path = append(w.path, name)
	w.on[name] = len(w.path)
	defer func() {
		w.path = w.path[:len(w.path)-1]
		delete(w.on, name)
	}()
	for _, id := range t.task.BlockedBy {
		if found := w.circle(claudefile.ListFolder(id)); found != nil {
			return found
		}
	}
	w.free[name] = true
	return nil
}

func (x *exam) breakCircle(l *list, circle []string) {
	first := slices.Index(circle, slices.MinFunc(circle, compareNames))
	circle = append(slices.Clone(circle[first:]), circle[:first]...)
	t, by := l.tasks[circle[0]], l.tasks[circle[1]]
	shown := append(circle, circle[0])
	if len(shown) > 12 {
		shown = append(append(shown[:10:10], "..."), circle[0])
	}
	x.find("cycle", t.path, fmt.Sprintf("%d tasks wait for each other in a circle: %s", len(circle), strings.Join(shown, " waits for ")),
		"checks no circles: none of these tasks becomes free before one of them is completed").
		Repair = t.mend("%s no longer waits for %s", t.name, by.name)
	by.mend("%s no longer waits for it", t.name)
	t.task.BlockedBy, by.task.Blocks = without(t.task.BlockedBy, by.name), without(by.task.Blocks, t.name)
}

// checkOwners looks for open tasks whose owner is nobody in the team.
func (x *exam) checkOwners(l *list, tasks []*taskFile) {
	team := x.teamOf(l)
	if team == nil {
		return
	}
	for _, t := range tasks {
		if !t.visible() || t.task.Owner == "" || t.task.Status == "completed" || team.hasMember(t.task.Owner) {
			continue
		}
		f := x.find("owner-unknown", t.path, fmt.Sprintf("its owner %q is nobody who works in team %s", t.task.Owner, team.config.Name),
			"gives it to nobody else, and nobody works on it")
		if t.task.Status == "pending" { // the owner may be about to join
			f.Advice = fmt.Sprintf("let %s join, or give the task to somebody else", t.task.Owner)
			continue
		}
		f.Repair = t.mend("it becomes pending, without owner")
		t.task.Owner, t.task.Status = "", "pending"
	}
}

// checkAutoClaim looks for tasks in the list of a lead's session: that is where idle
// teammates look for work, not in the team's list.
func (x *exam) checkAutoClaim(l *list, tasks []*taskFile) {
	for _, team := range x.teams {
		if team.config == nil || team.leadGone || team.config.LeadSessionID == "" || l.folder != "tasks/"+claudefile.ListFolder(team.config.LeadSessionID) {
			continue
		}
		for _, t := range tasks {
			if t.visible() && t.task.Status == "pending" && t.task.Owner == "" && !l.blocked(t) {
				x.find("auto-claim", t.path, fmt.Sprintf("it is free, and in the list of the session that leads team %s", team.config.Name),
					"lets the next idle teammate in the lead's process take it").
					Advice = "give it an owner, or remove it, if no teammate shall do it"
			}
		}
	}
}

// blocked says whether a blocker that the client sees is not completed.
func (l *list) blocked(t *taskFile) bool {
	return slices.ContainsFunc(t.task.BlockedBy, func(id string) bool {
		b := l.tasks[claudefile.ListFolder(id)]
		return b.visible() && b.task.Status != "completed"
	})
}

// checkMark looks for a mark that would let the client give a number a second time. A
// mark below the largest number in use is as the client leaves it: it counts the files
// as well. One that is also below a number which a task had that is gone is not.
func (x *exam) checkMark(l *list, tasks []*taskFile) {
	var mark, largest, used uint64
	if l.mark != nil {
		mark = claudefile.ReadMark(l.mark.data)
	}
	for _, t := range tasks {
		if n, err := strconv.ParseUint(t.name, 10, 64); err == nil {
			largest = max(largest, n)
		}
	}
	if x.Used != nil {
		used = x.Used(x.ctx, path.Base(l.folder))
	}
	switch {
	case l.mark != nil && !decimal(strings.TrimSpace(string(l.mark.data))):
		x.find("mark-unreadable", l.mark.path, fmt.Sprintf("it holds %.40q, which is no number", l.mark.data),
			"reads it as far as it is one, and may give the ids of deleted tasks to new ones").
			Repair = l.mark.mend("the largest id that was ever in use is written")
		x.edit(l.mark, claudefile.WriteMark(max(mark, largest, used)))
	case max(mark, largest) >= used:
	case l.mark != nil:
		x.find("mark-low", l.mark.path, fmt.Sprintf("it is %d, and there was a task %d", mark, used),
			fmt.Sprintf("gives the next task the id %d, which another had", max(mark, largest)+1)).
			Repair = l.mark.mend("%d is written", used)
		x.edit(l.mark, claudefile.WriteMark(used))
	default:
		x.find("mark-low", l.folder+"/.highwatermark", fmt.Sprintf("it is not there, and there was a task %d", used),
			fmt.Sprintf("gives the next task the id %d, which another had", largest+1)).
			Advice = fmt.Sprintf("cadre task add --scope %s writes it", path.Base(l.folder))
	}
}
