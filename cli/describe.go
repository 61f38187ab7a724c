package cli

import (
	"slices"
	"strings"

	"cadre"
)

// describe says in words what an event changed. The result is safe to print.
func (pg *page) describe(e cadre.Event) string {
	switch after := e.After.(type) {
	case nil:
		return "removed"
	case *cadre.Task:
		before, _ := e.Before.(*cadre.Task)
		return pg.describeTask(before, after, changedFields(e))
	case *cadre.Message:
		return pg.describeMessage(e.Before, after)
	case *cadre.Member:
		if before, ok := e.Before.(*cadre.Member); ok {
			return pg.describeMember(before, after, changedFields(e))
		}
		return "joined as " + line(string(after.Role))
	case *cadre.Ask:
		if e.Before == nil {
			return line(after.From) + " asks (" + line(string(after.Kind)) + "): " + pg.brief(after.Text)
		}
		return pg.said(line(string(after.State)), after.Answer)
	case *cadre.Comment:
		return "on task " + line(string(after.Task)) + ": " + pg.brief(after.Content)
	case *cadre.Reference:
		return line(string(after.A)) + " has to do with " + line(string(after.B))
	case *cadre.Team:
		if e.Before == nil {
			return pg.said("created", after.Description)
		}
		if rules := settingsText(after.Settings); slices.Contains(changedFields(e), "settings") {
			return "rules: " + orNothing(strings.Join(rules, "; "))
		}
	case *cadre.Todo:
		return count(len(after.Items), "todo") + " of " + line(after.Owner)
	case *cadre.Log:
		return line(after.Reason)
	case *cadre.Binding:
		return "works on " + join(after.Scopes)
	case *cadre.Token:
		if after.RevokedAt != nil {
			return "revoked"
		}
		if after.Member == "" {
			return line(after.ID) + " for " + line(string(after.Role))
		}
		return line(after.ID) + " for " + line(after.Member) + " (" + line(string(after.Role)) + ")"
	}
	return pg.fieldList(changedFields(e), e.Before, e.After)
}

func (pg *page) said(what, words string) string {
	if words == "" {
		return what
	}
	return what + ": " + pg.brief(words)
}

// brief is a text on one line: on a terminal its beginning, elsewhere all of it
// with its line breaks made visible, because what reads it there cannot ask again.
func (pg *page) brief(s string) string {
	s = strings.TrimSpace(s)
	if pg.cols == 0 {
		return line(s)
	}
	first, rest, more := strings.Cut(s, "\n")
	if more && strings.TrimSpace(rest) != "" {
		first += " …"
	}
	return line(first)
}

func changedFields(e cadre.Event) []string {
	if e.Before == nil {
		return nil
	}
	diffs := cadre.Differences([]cadre.Event{e})
	if len(diffs) == 0 {
		return nil
	}
	return diffs[0].Fields
}

// touched describes a change in nothing that a person would call one.
const touched = "touched"

// describeTask says what happened to a task: its creation, its new status, and
// whatever else a person would call a change.
func (pg *page) describeTask(before, after *cadre.Task, fields []string) string {
	if before == nil {
		words := []string{"created: " + line(after.Subject)}
		if after.Owner != "" {
			words = append(words, "for "+line(after.Owner))
		}
		if len(after.BlockedBy) > 0 {
			words = append(words, "after "+join(after.BlockedBy))
		}
		if after.Status != cadre.Pending {
			words = append(words, line(string(after.Status)))
		}
		return strings.Join(words, ", ")
	}
	var words []string
	if before.Status != after.Status {
		words = append(words, line(string(before.Status))+" → "+line(string(after.Status)))
	}
	if before.Owner != after.Owner {
		words = append(words, "owner "+orNobody(before.Owner)+" → "+orNobody(after.Owner))
	}
	if before.OpenBlockers != after.OpenBlockers && before.Status == after.Status {
		words = append(words, blockersText(after))
	}
	if !slices.Equal(before.BlockedBy, after.BlockedBy) {
		words = append(words, "after "+orNothing(join(before.BlockedBy))+" → "+orNothing(join(after.BlockedBy)))
	}
	told := []string{"status", "owner", "openBlockers", "blockedBy", "version", "updatedAt", "startedAt", "completedAt", "fence", "leased", "unblocked"}
	rest := slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return slices.Contains(told, f) })
	if list := pg.fieldList(rest, before, after); list != "" {
		words = append(words, list)
	}
	if len(words) == 0 {
		return touched
	}
	return strings.Join(words, ", ")
}

func blockersText(t *cadre.Task) string {
	if t.OpenBlockers == 0 {
		return "waits for nothing any more"
	}
	return "waits for " + count(t.OpenBlockers, "task")
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return line(name)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func (pg *page) describeMessage(before cadre.Object, m *cadre.Message) string {
	old, _ := before.(*cadre.Message)
	switch {
	case old == nil:
		return line(m.From) + " to " + line(m.To) + ": " + pg.brief(letter(m))
	case m.Dead != "" && old.Dead == "":
		return "dead: " + line(m.Dead)
	}
	state := "changed"
	switch {
	case m.ReadAt == nil && old.ReadAt != nil:
		return "unread again"
	case m.ActedAt != nil:
		state = "acted on"
	case m.ReadAt != nil:
		state = "read"
	case m.DeliveredAt != nil:
		state = "delivered"
	}
	return state + " by " + line(m.To)
}

func (pg *page) describeMember(before, after *cadre.Member, fields []string) string {
	if before.State != after.State {
		return pg.said(line(string(before.State))+" → "+line(string(after.State)), after.Evidence)
	}
	if before.Role != after.Role {
		return "is " + line(string(after.Role)) + " now"
	}
	switch {
	case before.Evidence != after.Evidence:
		return pg.said("still "+line(string(after.State)), after.Evidence)
	case slices.Equal(fields, []string{"digested"}) && after.Digested == nil:
		return "its digest is unread again"
	case slices.Equal(fields, []string{"digested"}):
		return "its digest was read"
	}
	return pg.fieldList(fields, before, after)
}
