package claudedir

import (
	"errors"
	"io/fs"

	"cadre"
	"cadre/internal/swapfile"
)

// clean says, taking no lock, whether the files behind some reads are what the log
// says: nobody wrote to them since, and nothing waits to be written.
func (s *Store) clean(scope cadre.Scope, r *reads, head cadre.Head) (bool, error) {
	m, err := loadMemory(s.memory, scope)
	if err != nil {
		return false, err
	}
	defer m.close()
	if (m.Seq != head.Seq || m.Epoch != head.Epoch) && (head.Seq > 0 || m.Seq > 0) {
		return false, nil
	}
	p := &pass{Store: s, scope: scope, mem: m}
	defer p.close()
	was := m.List
	if err := p.openList(false); err != nil {
		return false, err
	}
	if p.list == nil && was {
		return false, nil
	}
	if p.list != nil {
		if moved, _, err := p.moved(); moved || err != nil {
			return false, err
		}
		if ok, err := p.tasksClean(r.tasks); !ok || err != nil {
			return false, err
		}
	}
	return p.teamClean(r)
}

// severalTasks is from how many on all slots are read at once.
const severalTasks = 64

func (p *pass) tasksClean(tasks []cadre.TaskID) (bool, error) {
	if len(tasks) < severalTasks {
		for _, id := range tasks {
			known, err := p.mem.task(id)
			if err != nil {
				return false, err
			}
			if !p.taskClean(id, known) {
				return false, nil
			}
		}
		return true, nil
	}
	known, err := p.mem.table()
	if err != nil {
		return false, err
	}
	seen := make(map[cadre.TaskID]bool, len(tasks))
	for _, id := range tasks {
		if seen[id] {
			continue
		}
		seen[id] = true
		if !p.taskClean(id, known.task(id)) {
			return false, nil
		}
	}
	return true, nil
}

func (p *pass) taskClean(id cadre.TaskID, known slot) bool {
	stamp, err := swapfile.Stat(p.list, string(id)+".json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return known.Mark&here == 0
	case err != nil:
		return known.Mark&odd != 0
	}
	return known.current(stamp)
}
