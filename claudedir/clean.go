package claudedir

import (
	"errors"
	"io/fs"

	"cadre"
	"cadre/internal/swapfile"
)

// checker finds out, taking no lock, whether the files behind some reads are what
// the log says. It begins while the reading goes on: looking at 10,000 files takes
// as long as reading 10,000 tasks.
type checker struct {
	p       *pass
	batches chan []cadre.TaskID // nil until there are many
	dirty   chan bool           // the answer about the batches
}

// batchSize is from how many tasks on they are looked at on the side, and how many
// at a time.
const batchSize = 256

// check begins. The checker must be closed.
func (s *Store) check(scope cadre.Scope) (*checker, error) {
	m, err := loadMemory(s.memory, scope)
	if err != nil {
		return nil, err
	}
	c := &checker{p: &pass{Store: s, scope: scope, mem: m}}
	was := m.List
	if err := c.p.openList(false); err != nil {
		c.close()
		return nil, err
	}
	m.List = was
	return c, nil
}

func (c *checker) close() {
	if c.batches != nil {
		close(c.batches)
		<-c.dirty
	}
	c.p.close()
}

// add looks at some tasks while the reader goes on.
func (c *checker) add(tasks []cadre.TaskID) {
	if c.p.list == nil {
		return
	}
	if c.batches == nil {
		c.batches, c.dirty = make(chan []cadre.TaskID, 64), make(chan bool, 1)
		go c.p.lookAt(c.batches, c.dirty)
	}
	c.batches <- tasks
}

// lookAt says whether any file of some batches of tasks needs a look. It may get to run
// only when all of them were given.
func (p *pass) lookAt(batches <-chan []cadre.TaskID, answer chan<- bool) {
	known, err := p.mem.table()
	dirty := err != nil
	for tasks := range batches {
		for _, id := range tasks {
			dirty = dirty || !p.taskClean(id, known.task(id))
		}
	}
	answer <- dirty
}

// clean says whether nobody wrote to the files behind the reads, and nothing waits
// to be written. It ends the checker's work.
func (c *checker) clean(r *reads, head cadre.Head) (bool, error) {
	m := c.p.mem
	if len(m.Behind) > 0 {
		return false, nil
	}
	if (m.Seq != head.Seq || m.Epoch != head.Epoch) && (head.Seq > 0 || m.Seq > 0) {
		return false, nil
	}
	if c.p.list == nil && m.List {
		return false, nil
	}
	if c.p.list != nil {
		if moved, _, err := c.p.moved(); moved || err != nil {
			return false, err
		}
		for _, id := range r.tasks {
			known, err := m.task(id)
			if err != nil || !c.p.taskClean(id, known) {
				return false, err
			}
		}
		if c.batches != nil {
			close(c.batches)
			c.batches = nil
			if <-c.dirty {
				return false, nil
			}
		}
	}
	return c.p.teamClean(r)
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
