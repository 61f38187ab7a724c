package claudedir

import (
	"cmp"
	"slices"
	"strings"

	"cadre"
)

// A file that cannot be written is behind the log: somebody holds its lock, it is not
// ours to write, the disk is full. It is tried again whenever the scope is looked at,
// and keeps no other file from being what the log says. Up to where the log is in it
// is remembered for itself, because that is what its next content is held against.

func taskKey(id cadre.TaskID) string { return taskPrefix + string(id) }

const taskPrefix = "tasks/"

// has says up to where the log is in a file.
func (m *memory) has(key string) cadre.Seq {
	if seq, behind := m.Behind[key]; behind {
		return seq
	}
	return m.Seq
}

// hasAll says up to where the log is in every file.
func (m *memory) hasAll() cadre.Seq {
	all := m.Seq
	for _, seq := range m.Behind {
		all = min(all, seq)
	}
	return all
}

// touchBehind has the files compared with the log that were behind it.
func (p *pass) touchBehind() {
	for key := range p.mem.Behind {
		if id, ok := strings.CutPrefix(key, taskPrefix); ok {
			p.touched[cadre.TaskID(id)] = true
		} else {
			p.team.touch(key)
		}
	}
}

// news is what no file has yet, except those that are behind.
func (p *pass) news() []cadre.Event {
	i, _ := slices.BinarySearchFunc(p.since, p.mem.Seq+1, func(e cadre.Event, seq cadre.Seq) int { return cmp.Compare(e.Seq, seq) })
	return p.since[i:]
}

// try writes a file, and notes if that fails.
func (p *pass) try(key string, write func() error) {
	delete(p.behind, key)
	if err := write(); err != nil {
		p.fail(key, err)
	}
}

func (p *pass) fail(key string, err error) {
	p.faults = append(p.faults, err)
	p.behind[key] = true
}

// foundBehind notes the files that somebody wrote to while we did: what we wanted to
// write is not in them.
func (p *pass) foundBehind() {
	for _, w := range p.found {
		p.behind[taskKey(w.id)] = true
	}
	if p.team.config != nil {
		p.behind[configName] = true
	}
	for name := range p.team.inboxes {
		p.behind[inboxKey(name)] = true
	}
}

// noteBehind remembers what could not be written, before the place in the log goes on.
func (p *pass) noteBehind() {
	behind := map[string]cadre.Seq{}
	for key := range p.behind {
		behind[key] = p.mem.has(key)
	}
	p.mem.Behind = behind
}
