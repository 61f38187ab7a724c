package mcpserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cadre"
	"cadre/coord"
)

// presentAt fills a page with a list as it was, and says where the next one begins.
func presentAt(f *coord.At, v *coord.AtView) (string, object) {
	all := linesOf(v.Tasks)
	page := all[:min(f.Limit-1, len(all))]
	page = page[:fits(page, maxAnswer/2)]
	data := object{"scope": v.Scope, "seq": v.Seq, "tasks": page}
	text := fmt.Sprintf("%s at event %d:\n%s", v.Scope, v.Seq, lines(page))
	if len(page) == 0 {
		text = fmt.Sprintf("%s had no tasks at event %d", v.Scope, v.Seq)
	}
	if len(page) < len(all) {
		last := page[len(page)-1].ID
		data["after"] = last
		text += fmt.Sprintf("\nThere are more: At {\"point\":\"%d\",\"after\":%q}", v.Seq, last)
	}
	return text, data
}

// presentDiff gives as much of what changed as there is room for; a shorter time has the
// rest.
func presentDiff(v *coord.DiffView) (string, object) {
	page := v.Changes[:min(mostListed, len(v.Changes))]
	page = page[:fits(page, maxAnswer/2)]
	data := object{"from": v.From, "to": v.To, "changes": page}
	text := string(mustJSON(data))
	if more := len(v.Changes) - len(page); more > 0 {
		data["more"] = more
		text += fmt.Sprintf("\n%d more: ask for less time, as in Diff {\"from\":\"%d\",\"to\":\"%d\"}, or for one task: Blame", more, v.From, v.From+(v.To-v.From+1)/2)
	}
	return text, data
}

// presentGraph gives the first tasks, as they could run, and of the longest chain its
// beginning.
func presentGraph(v *cadre.Graph) (string, object) {
	of, ids := map[cadre.TaskID]taskLine{}, slices.Concat(v.Waves...)
	for _, l := range linesOf(v.Tasks) {
		of[l.ID] = l
		if l.Status == cadre.Completed { // which is in no wave
			ids = append(ids, l.ID)
		}
	}
	page := []taskLine{}
	for _, id := range ids[:min(mostListed, len(ids))] {
		page = append(page, of[id])
	}
	page = page[:fits(page, maxAnswer/2)]
	waves, text, rest := [][]cadre.TaskID{}, []string{}, page
	for i, wave := range v.Waves {
		wave = wave[:min(len(wave), len(rest))]
		if len(wave) == 0 {
			break
		}
		waves = append(waves, wave)
		text = append(text, fmt.Sprintf("Wave %d of %d:", i+1, len(v.Waves)), lines(rest[:len(wave)]))
		rest = rest[len(wave):]
	}
	if len(rest) > 0 {
		text = append(text, "Done:", lines(rest))
	}
	chain := v.Critical[:min(mostListed, len(v.Critical))]
	data := object{"tasks": page, "waves": waves, "criticalPath": chain}
	if len(chain) > 0 {
		text = append(text, fmt.Sprintf("Longest chain, %d tasks: %s", len(v.Critical), hashes(chain)))
	}
	if more := len(v.Tasks) - len(page); more > 0 {
		data["more"] = more
		text = append(text, fmt.Sprintf("%d more: TaskGraph {\"taskId\":%q} for what is around one, TaskList for all", more, page[len(page)-1].ID))
	}
	return cmp.Or(strings.Join(text, "\n"), "No tasks found"), data
}
