package claudedir

import (
	"os"
	"time"

	"cadre/internal/dirlock"
	"cadre/internal/swapfile"
)

// underListLock does something while no client makes a task. Our own processes
// queue before they take the client's lock, so that none is left by a crash.
func (p *pass) underListLock(do func() error) error { return p.underLock(p.list, ".lock", do) }

// underLock does something while no client changes a file. An older client gives
// up at once when it finds a lock held, so where one is about we hold locks for a
// tenth of the time at most.
func (p *pass) underLock(dir *swapfile.Dir, name string, do func() error) error {
	queue := string(p.scope) + ".queue" // one for each folder, so that it knows a lock that a crash left there
	switch dir {
	case p.team.dir:
		queue = string(p.scope) + ".team-queue"
	case p.team.boxes:
		queue = string(p.scope) + ".inbox-queue"
	}
	held, err := dirlock.Lock(p.ctx, dir, name, dirlock.Options{Queue: func() (*os.File, error) {
		return p.memory.OpenFile(queue, os.O_RDWR|os.O_CREATE, 0o600)
	}})
	if err != nil {
		return err
	}
	began := time.Now()
	err = do()
	if err2 := held.Release(); err == nil {
		err = err2
	}
	if p.mem.OldAt > p.wall()-int64(oldClient) {
		time.Sleep(min(9*time.Since(began), 100*time.Millisecond))
	}
	return err
}
