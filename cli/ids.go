package cli

import (
	"fmt"

	"cadre"
	"cadre/coord"
	"cadre/doctor"
)

// idsOf gives the ids of what an answer is about, for --quiet.
func idsOf(answer any) []string {
	switch v := answer.(type) {
	case *cadre.TaskView:
		return []string{string(v.ID)}
	case *cadre.Added:
		return []string{string(v.ID)}
	case *cadre.Done:
		return []string{string(v.ID)}
	case []*cadre.TaskView:
		return each(v, func(t *cadre.TaskView) string { return string(t.ID) })
	case *coord.RunReport:
		return each(v.Tasks, func(t *coord.RunTask) string { return string(t.ID) })
	case *coord.RunPlan:
		return each(v.Steps, func(t *coord.PlannedTask) string { return t.Key })
	case *coord.AtView:
		return each(v.Tasks, func(t *cadre.TaskView) string { return string(t.ID) })
	case *cadre.Graph:
		return each(v.Tasks, func(t *cadre.TaskView) string { return string(t.ID) })
	case *cadre.Why:
		return each(v.Waits, func(w cadre.WhyWait) string { return string(w.ID) })
	case *cadre.Imported:
		return each(v.IDs, func(id cadre.TaskID) string { return string(id) })
	case []*cadre.ExportLine:
		return each(v, func(l *cadre.ExportLine) string { return string(l.ID) })
	case *cadre.TeamView:
		return []string{string(v.Scope)}
	case []*coord.TeamLine:
		return each(v, func(l *coord.TeamLine) string { return string(l.Scope) })
	case *coord.Deleted:
		return []string{string(v.Scope)}
	case []*coord.GCLine:
		return each(v, func(l *coord.GCLine) string { return string(l.Scope) })
	case *cadre.MemberView:
		return []string{v.Name}
	case *coord.Joined:
		return []string{v.Name}
	case []*cadre.MemberView:
		return each(v, func(m *cadre.MemberView) string { return m.Name })
	case *cadre.MessageView:
		return []string{string(v.ID)}
	case []*cadre.MessageView:
		return each(v, func(m *cadre.MessageView) string { return string(m.ID) })
	case *cadre.Broadcast:
		return each(v.Messages, func(id cadre.MessageID) string { return string(id) })
	case *cadre.Ask:
		return []string{string(v.ID)}
	case []*cadre.Ask:
		return each(v, func(a *cadre.Ask) string { return string(a.ID) })
	case *coord.Synced:
		return each(v.Tasks, func(t *cadre.TaskView) string { return string(t.ID) })
	case *coord.Issued:
		return []string{v.ID}
	case *coord.TokenView:
		return []string{v.ID}
	case []*coord.TokenView:
		return each(v, func(t *coord.TokenView) string { return t.ID })
	case []*coord.TrustView:
		return each(v, func(t *coord.TrustView) string { return t.File })
	case []cadre.Event:
		return each(v, eventID)
	case *coord.Undone:
		return each(v.Events, eventID)
	case []cadre.BlameLine:
		return each(v, func(l cadre.BlameLine) string { return eventID(l.Event) })
	case *coord.DiffView:
		return each(v.Changes, func(d cadre.Difference) string { return d.Object.ID })
	case *cadre.AuditReport:
		return each(v.Findings, func(f cadre.Finding) string { return fmt.Sprintf("%s %s", f.Scope, f.Place) })
	case *anchorDoc:
		return each(v.Anchors, func(a cadre.Anchor) string { return string(a.Scope) })
	case *examined:
		return each(v.Findings, func(f doctor.Finding) string { return f.Code + " " + f.Place })
	case *coord.BackedUp:
		return []string{v.Path}
	case *coord.OverviewView:
		return []string{string(v.Scope)}
	}
	return nil
}

func eventID(e cadre.Event) string { return fmt.Sprint(uint64(e.Seq)) }

func each[T any](list []T, id func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = id(v)
	}
	return out
}
