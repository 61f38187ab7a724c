package doctor

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// checkTeams examines every team, its members and its inboxes.
func (x *exam) checkTeams() {
	for _, t := range x.teams {
		if t.config != nil {
			x.checkName(t)
			x.checkLead(t)
			x.checkMembers(t)
		}
	}
	for _, t := range x.teams {
		for _, i := range t.inboxes {
			x.checkInbox(t, i)
		}
	}
}

// checkName looks for a name that the client makes two folders of.
func (x *exam) checkName(t *team) {
	own, mail := claudefile.TeamFolder(t.config.Name), claudefile.ListFolder(t.config.Name)
	if own == mail {
		return
	}
	x.find("team-split", t.path, fmt.Sprintf("the name %q makes two folders: %s and %s", t.config.Name, own, mail),
		fmt.Sprintf("keeps the config and the lead's tasks in %s, the mail and the teammates' tasks in %s", own, mail)).
		Advice = fmt.Sprintf("end the team, and make it again as %q", own)
}

// checkLead looks whether the process that leads the team is still there.
func (x *exam) checkLead(t *team) {
	var p Process
	if json.Unmarshal(t.config.LeadProcess, &p) != nil || p.PID <= 0 {
		return
	}
	process := x.Process
	if process == nil {
		process = lookUp
	}
	gone, known := process(p)
	t.elsewhere = !known
	if known && gone {
		t.leadGone = true
		x.find("lead-gone", t.path, fmt.Sprintf("the process that leads the team, %d, is gone", p.PID),
			"leaves the team's files where they are; nobody reads the lead's inbox").
			Advice = "if no session shall lead it again: cadre team delete " + path.Base(t.folder) + " --force"
	}
}

// checkMembers looks for members that cannot be there any more. The client takes a
// member out when it was told of its end.
func (x *exam) checkMembers(t *team) {
	t.config.Members = slices.DeleteFunc(slices.Clone(t.config.Members), func(m claudefile.Member) bool {
		why := x.dead(t, m)
		if why == "" {
			return false
		}
		x.find("member-dead", t.path, fmt.Sprintf("member %s %s", m.Name, why), "goes on sending to it, and 2.1.50 refuses to delete the team").
			Repair = t.mend("%s is taken out of the team", m.Name)
		return true
	})
}

// dead says how it is known that a member is gone, or nothing.
func (x *exam) dead(t *team, m claudefile.Member) string {
	switch {
	case m.AgentID == t.config.LeadAgentID || m.Name == "team-lead":
		return ""
	case m.BackendType == "in-process" && t.leadGone:
		return "ran in the lead's process, which is gone"
	case m.BackendType != "tmux" || !strings.HasPrefix(m.TmuxPaneID, "%") || t.elsewhere:
		return ""
	}
	if x.panes == nil {
		look := x.Panes
		if look == nil {
			look = tmuxPanes
		}
		ids, known := look(x.ctx)
		x.panes = &panes{ids, known}
	}
	if x.panes.known && !x.panes.ids[m.TmuxPaneID] {
		return fmt.Sprintf("ran in pane %s, which tmux does not have", m.TmuxPaneID)
	}
	return ""
}

// teamOf gives the team that a list belongs to, nil for none.
func (x *exam) teamOf(l *list) *team {
	for _, t := range x.teams {
		if t.config != nil && slices.Contains(t.folders(), path.Base(l.folder)) {
			return t
		}
	}
	return nil
}

// folders gives the names of the folders in which the client puts a team's files.
func (t *team) folders() []string {
	return []string{path.Base(t.folder), claudefile.TeamFolder(t.config.Name), claudefile.ListFolder(t.config.Name)}
}

// hasMember says whether somebody in the team has a name, or an agent id.
func (t *team) hasMember(name string) bool {
	return slices.ContainsFunc(t.config.Members, func(m claudefile.Member) bool { return m.Name == name || m.AgentID == name })
}

// largeInbox is the size past which reading and writing an inbox at every message
// is felt.
const largeInbox = 1 << 20

func (x *exam) checkInbox(t *team, i *inbox) {
	if len(i.data) > largeInbox {
		x.find("inbox-large", i.path, fmt.Sprintf("%d messages with %d KiB are in it", len(i.entries), len(i.data)>>10),
			"2.1.50 never removes a message, and writes all of them with each new one").Advice = "end the team when its work is done"
	}
	for n, e := range i.entries {
		if e.Invalid != "" {
			x.find("inbox-entry", i.path, fmt.Sprintf("message %d is not one: %s", n+1, e.Invalid), "2.1.325 removes it unread; 2.1.50 delivers it").
				Advice = "correct it by hand before it is gone"
		}
	}
	if x.isRead(t, i.name) || t.config == nil && x.anyUnknown() || x.isKept(t, i.name) {
		return
	}
	unread := 0
	for _, e := range i.entries {
		if !e.Read {
			unread++
		}
	}
	f := x.find("inbox-orphan", i.path, fmt.Sprintf("nobody called %q works in the team and reads it; unread messages: %d", i.name, unread),
		"writes to the inbox of any name, and never says that nobody reads it")
	if unread > 0 {
		f.Advice = "read it, send on what matters, and remove it"
		return
	}
	f.Repair = i.mend("it is removed: nothing in it is unread")
	x.edits = append(x.edits, edit{path: i.path, action: remove, why: i.reasons(), old: i.data})
}

// isRead says whether a member of the team that puts its mail into this folder has
// this inbox.
func (x *exam) isRead(t *team, inbox string) bool {
	return slices.ContainsFunc(x.teams, func(other *team) bool {
		return other.config != nil && slices.Contains(other.folders(), path.Base(t.folder)) &&
			slices.ContainsFunc(other.config.Members, func(m claudefile.Member) bool { return claudefile.ListFolder(m.Name) == inbox })
	})
}

// isKept says whether this inbox waits for somebody who left the team.
func (x *exam) isKept(t *team, inbox string) bool {
	return x.Left != nil && slices.ContainsFunc(x.Left(x.ctx, path.Base(t.folder)), func(name string) bool { return claudefile.ListFolder(name) == inbox })
}

// anyUnknown says whether there is a config that could not be read: then nobody
// knows who has which inbox.
func (x *exam) anyUnknown() bool {
	return slices.ContainsFunc(x.teams, func(t *team) bool { return t.config == nil && t.hasConfig })
}

// leftoverTeam deals with the folder of a team that the newer client was deleting.
func (x *exam) leftoverTeam(folder string) {
	f := x.find("leftover-team", folder, "it is the folder of a team that was being deleted", "never looks at it again")
	f.Repair = "it is removed"
	edits, ok := x.removal(folder, 3)
	if !ok {
		f.Repair, f.Advice = "", "look at what is in it, and remove it"
		return
	}
	x.edits = append(x.edits, edits...)
}

// removal gives the edits that remove a folder, and whether they can: what cannot
// be copied is not removed.
func (x *exam) removal(folder string, depth int) (edits []edit, ok bool) {
	dir, err := swapfile.Open(x.root, folder)
	if err != nil || depth == 0 {
		return nil, false
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.Root().FS(), ".")
	if err != nil {
		return nil, false
	}
	const why = "its team was being deleted"
	for _, e := range entries {
		place := path.Join(folder, e.Name())
		if e.IsDir() {
			inner, ok := x.removal(place, depth-1)
			if !ok {
				return nil, false
			}
			edits = append(edits, inner...)
			continue
		}
		data, _, err := swapfile.Read(dir, e.Name(), claudefile.MaxFile)
		if err != nil {
			return nil, false
		}
		edits = append(edits, edit{path: place, action: remove, why: why, old: data})
	}
	return append(edits, edit{path: folder, action: rmdir, why: why}), true
}
