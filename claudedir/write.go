package claudedir

import (
	"errors"
	"io/fs"
	"maps"
	"math"
	"slices"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// write writes the files of everything that the log has and they do not.
func (p *pass) write() error {
	p.found = nil
	if p.LookOnly {
		p.mem.Epoch, p.mem.Seq, p.full = p.upTo.Epoch, p.upTo.Seq, false
		return nil
	}
	tasks, err := p.outdated()
	if err != nil {
		return err
	}
	wants := map[cadre.TaskID]*claudefile.Task{}
	err = p.Store.Store.View(p.ctx, p.scope, func(s cadre.Snap) error {
		p.head = s.Head()
		if p.full {
			p.upTo = p.head
			for t, err := range s.Tasks(cadre.TaskQuery{}) {
				if err != nil {
					return err
				}
				tasks[t.ID] = true
			}
		}
		newest := p.newest()
		for id := range tasks {
			t, err := newest[id], error(nil)
			if t == nil {
				t, err = s.Task(id)
			}
			if err == nil {
				wants[id], err = projected(s, t)
			}
			if err != nil {
				return err
			}
		}
		return p.team.wanted(p, s)
	})
	if err != nil {
		return err
	}
	for _, id := range slices.SortedFunc(maps.Keys(wants), cadre.TaskID.Compare) {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		p.try(taskKey(id), func() error { return p.writeTask(id, wants[id]) })
	}
	p.team.write(p)
	p.foundBehind()
	p.noteBehind()
	p.mem.Epoch, p.mem.Seq = p.upTo.Epoch, p.upTo.Seq
	p.full = false
	return p.noteList()
}

// newest gives the tasks that the log's last events left, as long as they are its last.
func (p *pass) newest() map[cadre.TaskID]*cadre.Task {
	if p.head != p.upTo {
		return nil
	}
	tasks := map[cadre.TaskID]*cadre.Task{}
	for _, e := range p.since {
		if t, ok := e.After.(*cadre.Task); ok {
			tasks[t.ID] = t
		} else {
			delete(tasks, cadre.TaskID(e.Object.ID)) // removed, if it was a task
		}
	}
	return tasks
}

// noteList remembers the folder's time after our own writes. The time is set by us,
// to one that the system never gives, so that whatever comes later shows. What came
// in while we wrote has no sign: in a list that is quickly read the names are read
// once more next time, and a longer one is read whole whenever all of it is wanted.
func (p *pass) noteList() error {
	if p.list == nil {
		return nil
	}
	root := p.list.Root()
	info, err := root.Stat(".")
	if err != nil || info.ModTime().UnixNano() == p.mem.ListAt {
		return err
	}
	now := time.Now()
	if err := root.Chtimes(".", now, now); err != nil {
		return err
	}
	if info, err = root.Stat("."); err != nil {
		return err
	}
	p.mem.ListAt, p.mem.ListSaw, p.mem.Unsure = info.ModTime().UnixNano(), p.wall(), p.mem.Names <= manyNames
	if p.mem.ListAt%int64(time.Second) != 0 {
		p.mem.ListSaw = math.MaxInt64
	}
	return nil
}

const manyNames = 2000

// outdated gives the tasks whose files may say something else than the log: those
// that changed since, their neighbours whose edges changed, and those whose files
// were looked at.
func (p *pass) outdated() (map[cadre.TaskID]bool, error) {
	tasks := maps.Clone(p.touched)
	for _, e := range p.news() {
		before, _ := e.Before.(*cadre.Task)
		after, _ := e.After.(*cadre.Task)
		if before == nil && after == nil {
			continue
		}
		tasks[cadre.TaskID(e.Object.ID)] = true
		var was, is []cadre.TaskID
		if before != nil && before.Status != cadre.Deleted {
			was = before.BlockedBy
		}
		if after != nil && after.Status != cadre.Deleted {
			is = after.BlockedBy
		}
		for _, id := range slices.Concat(was, is) {
			if slices.Contains(was, id) != slices.Contains(is, id) {
				tasks[id] = true
			}
		}
	}
	return tasks, nil
}

// writeTask makes one task's file what the log says. A content that was not taken
// in yet is never overwritten: it is found, and the next round begins with it.
func (p *pass) writeTask(id cadre.TaskID, want *claudefile.Task) error {
	name := string(id) + ".json"
	known, err := p.mem.task(id)
	if err != nil || known.Mark&odd != 0 && want == nil {
		return err
	}
	if want == nil && p.list == nil {
		return nil
	}
	if err := p.openList(!p.mem.List); err != nil || p.list == nil {
		return err // a list that had been there was taken away in this moment
	}
	data, stamp, err := p.readWhole(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p.createTask(id, want, known)
	}
	if err != nil {
		p.unreadable(id, stamp, err)
		p.behind[taskKey(id)] = true
		return nil
	}
	if known.Mark&here == 0 || known.Hash != hashOf(data) {
		p.taskWritten(id, data, stamp, known)
		if _, broken := claudefile.ReadTask(data); broken == nil || want == nil {
			return nil
		}
		if known, err = p.mem.task(id); err != nil { // it says nothing that could be taken in
			return err
		}
	}
	if want == nil {
		return p.removeTask(id, data, known)
	}
	file, err := claudefile.ReadTask(data)
	if err != nil {
		file = &claudefile.Task{}
	}
	content := fitted(want, file).Write(data)
	if string(content) == string(data) {
		return nil
	}
	now, old, err := swapfile.Exchange(p.list, name, content)
	if errors.Is(err, fs.ErrNotExist) {
		return p.inspect(id) // somebody took it away in this moment
	}
	if err != nil {
		return err
	}
	if err := p.mem.setTask(id, slot{Stamp: now, Saw: p.wall(), Hash: hashOf(content), Mark: here | ours}); err != nil {
		return err
	}
	return p.lookAtOld(id, old, data, known)
}

// createTask writes a file that is not there. One that was there and is gone was
// taken away by somebody: that is taken in first.
func (p *pass) createTask(id cadre.TaskID, want *claudefile.Task, known slot) error {
	switch {
	case want == nil:
		return p.mem.setTask(id, slot{})
	case known.Mark&here != 0:
		return p.inspect(id)
	case known.Mark&cleared != 0 && want.Status == string(cadre.Completed):
		return nil
	}
	content := want.Write(nil)
	now, exists, err := swapfile.Create(p.list, string(id)+".json", content)
	if err != nil {
		return err
	}
	if exists {
		return p.inspect(id)
	}
	if n, ok := numbered(id); ok {
		p.mem.Largest = max(p.mem.Largest, uint64(n))
	}
	p.mem.Names++
	p.mem.Sum += nameSum(string(id) + ".json")
	return p.mem.setTask(id, slot{Stamp: now, Saw: p.wall(), Hash: hashOf(content), Mark: here | ours})
}

// removeTask takes the file of a removed task away.
func (p *pass) removeTask(id cadre.TaskID, data []byte, known slot) error {
	if n, ok := numbered(id); ok {
		if err := p.raiseMark(uint64(n)); err != nil {
			return err
		}
	}
	old, err := swapfile.Remove(p.list, string(id)+".json")
	if errors.Is(err, fs.ErrNotExist) {
		return p.mem.setTask(id, slot{}) // somebody took it away in this moment
	}
	if err != nil {
		return err
	}
	p.mem.Sum -= nameSum(string(id) + ".json")
	if err := p.mem.setTask(id, slot{}); err != nil {
		return err
	}
	return p.lookAtOld(id, old, data, known)
}

// lookAtOld looks at a file that was just replaced: what was written to it after
// we had read it is taken in.
func (p *pass) lookAtOld(id cadre.TaskID, old *swapfile.Old, expected []byte, known slot) error {
	var file *claudefile.Task
	data, stamp, err := p.settled(old, expected, known.Mark&odd == 0, func(data []byte) (err error) {
		file, err = claudefile.ReadTask(data)
		return err
	})
	if err == nil && data != nil {
		p.found = append(p.found, written{id: id, file: file, at: time.Unix(0, stamp.MTime), data: data, known: known.Mark&here != 0, ours: known.Mark&ours != 0, upTo: p.mem.has(taskKey(id))})
	}
	return err
}
