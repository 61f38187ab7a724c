package cadre

import (
	"slices"
	"strconv"
	"time"
)

// TaskExport gives every task in the form that an import reads.
type TaskExport struct {
	History bool `json:"history,omitempty" help:"with every event of each task"`
}

// ExportLine is one exported task. An import leaves out what it does not know.
type ExportLine struct {
	ID TaskID `json:"id"`
	ImportLine
	Author    string    `json:"author"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	History   []Event   `json:"history,omitempty"`
}

// Look gives the lines: dependencies by the number of their line, so that the
// file can be imported anywhere.
func (v *TaskExport) Look(s Snap, c Command) (any, error) {
	views, err := (&TaskList{All: true}).Look(s, c)
	if err != nil {
		return nil, err
	}
	lines := map[TaskID]LineRef{}
	var kept []*TaskView
	for _, t := range views.([]*TaskView) {
		if t.Status != Deleted {
			kept = append(kept, t)
			lines[t.ID] = LineRef("@" + strconv.Itoa(len(kept)))
		}
	}
	named := func(ids []TaskID) []LineRef {
		var out []LineRef
		for _, id := range ids {
			if n := lines[id]; n != "" {
				out = append(out, n)
			}
		}
		return out
	}
	out := make([]*ExportLine, 0, len(kept))
	for _, t := range kept {
		line := &ExportLine{ID: t.ID, Author: t.Author, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, ImportLine: ImportLine{
			Key: t.Key, Subject: t.Subject, Description: t.Description, ActiveForm: t.ActiveForm, Owner: t.Owner, Status: string(t.Status),
			BlockedBy: named(t.BlockedBy), References: named(t.References), Metadata: t.Metadata, Kind: t.Kind, Priority: Level(strconv.Itoa(t.Priority)),
			Labels: t.Labels, Parent: lines[t.Parent], Paths: t.Paths, Run: t.Run, MaxAttempts: t.MaxAttempts, Plan: t.Plan, Flags: t.Flags, Result: t.Result, Comments: t.Comments,
		}}
		if v.History {
			if line.History, err = collect(s.History(Ref{KindTask, string(t.ID)})); err != nil {
				return nil, err
			}
			slices.Reverse(line.History)
		}
		out = append(out, line)
	}
	return out, nil
}
