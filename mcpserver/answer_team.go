package mcpserver

import (
	"fmt"
	"strings"
	"time"

	"cadre"
	"cadre/coord"
)

// memberLine is a member as a lead needs it.
type memberLine struct {
	Name     string            `json:"name"`
	Role     cadre.Role        `json:"role"`
	State    cadre.MemberState `json:"state"`
	Evidence string            `json:"evidence,omitempty"`
	Since    time.Time         `json:"since"`
	Tasks    []cadre.TaskID    `json:"tasks,omitempty"`
	Unread   int               `json:"unread,omitempty"`
	AgentID  string            `json:"agent_id"`
}

func memberOf(m *cadre.MemberView) memberLine {
	return memberLine{m.Name, m.Role, m.Member.State, m.Evidence, m.Since, m.Tasks, m.Unread, m.AgentID}
}

func (l memberLine) String() string {
	s := fmt.Sprintf("%s (%s): %s", oneLine(l.Name), l.Role, l.State)
	if l.Evidence != "" {
		s += ", " + oneLine(l.Evidence)
	}
	if len(l.Tasks) > 0 {
		s += "; has " + hashes(l.Tasks)
	}
	return s
}

// presentTeam is for answers about teams and members, and for those that nothing better
// is known of.
func presentTeam(t *tool, answer any) (string, object) {
	switch v := answer.(type) {
	case *cadre.TeamView:
		if t.name == "TeamCreate" {
			lead := cadre.LeadName + "@" + string(v.Scope)
			return fmt.Sprintf("Team %s created. You lead it, as %s.", v.Scope, cadre.LeadName), object{"team_name": v.Scope, "lead_agent_id": lead}
		}
		return presentStatus(v)
	case *coord.Joined:
		return v.Name + " is a member of " + scopeIn(v.AgentID) + " now.", object{"name": v.Name, "agent_id": v.AgentID, "team_name": scopeIn(v.AgentID)}
	case *coord.Deleted:
		return fmt.Sprintf("Team %s is archived.", v.Scope), object{"success": true, "team_name": v.Scope}
	case *cadre.MemberView:
		if t.name == "SpawnTeammate" {
			return fmt.Sprintf("Spawned successfully.\nagent_id: %s\nname: %s\nteam_name: %s", v.AgentID, v.Name, scopeIn(v.AgentID)), object{"member": memberOf(v)}
		}
		return memberOf(v).String(), object{"member": memberOf(v)}
	case []*cadre.MemberView:
		members := []memberLine{}
		for _, m := range v {
			members = append(members, memberOf(m))
		}
		return lines(members), object{"members": members}
	case []*cadre.Ask:
		return lines(requestsOf(v)), object{"requests": requestsOf(v)}
	case *cadre.TodoView:
		if t.name != "TodoWrite" {
			break
		}
		text := "Todos have been modified successfully."
		if v.Warning != "" {
			text += " " + v.Warning
		}
		return text, asObject(v)
	}
	data := asObject(answer)
	return string(mustJSON(data)), data
}

func scopeIn(agentID string) string {
	_, scope, _ := strings.Cut(agentID, "@")
	return scope
}

func presentStatus(v *cadre.TeamView) (string, object) {
	members := []memberLine{}
	for _, m := range v.Members {
		if m.Member.State != cadre.StateDeparted {
			members = append(members, memberOf(m))
		}
	}
	open := v.Tasks[cadre.Pending] + v.Tasks[cadre.InProgress]
	text := fmt.Sprintf("%s: %d open tasks (%d in progress), %d completed, %d asks wait.", v.Scope, open, v.Tasks[cadre.InProgress], v.Tasks[cadre.Completed], v.Asks)
	if len(members) > 0 {
		text += "\n" + lines(members)
	}
	return text, object{"team_name": v.Scope, "members": members, "tasks": v.Tasks, "asks": v.Asks}
}
