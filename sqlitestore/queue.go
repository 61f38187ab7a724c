package sqlitestore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"cadre"
)

// request is one command on its way into the log.
type request struct {
	ctx    context.Context
	scope  cadre.Scope
	cmd    cadre.Command
	decide cadre.Decide
	to     *cadre.Dest // for a move, instead of decide

	receipt cadre.Receipt
	err     error
	done    chan struct{} // closed when the answer stands
	lead    chan struct{} // receives once, when it is this caller's turn to lead
	leads   bool
}

// queue is where the commands of this process wait. Whoever finds nobody leading
// leads: it takes what waits into one transaction, and when its own command is
// done hands over to the first that still waits. So there is no goroutine to
// start and none to stop.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	busy    bool
	closed  bool
	ended   chan struct{} // closed when nobody leads any more, after close
}

var errClosed = errors.New("the store is closed")

// Update decides and appends.
func (s *Store) Update(ctx context.Context, name cadre.Scope, c cadre.Command, decide cadre.Decide) (cadre.Receipt, error) {
	return s.submit(&request{ctx: ctx, scope: name, cmd: c, decide: decide})
}

// Move archives, restores, erases or renames a scope.
func (s *Store) Move(ctx context.Context, name cadre.Scope, c cadre.Command, to cadre.Dest) (cadre.Receipt, error) {
	if to.Name == name {
		to.Name = ""
	}
	return s.submit(&request{ctx: ctx, scope: name, cmd: c, to: &to})
}

// submit waits for a command's answer, leading where nobody else does.
func (s *Store) submit(r *request) (cadre.Receipt, error) {
	if err := r.ctx.Err(); err != nil {
		return cadre.Receipt{}, err
	}
	r.done, r.lead = make(chan struct{}), make(chan struct{}, 1)
	if err := s.queue.enter(r); err != nil {
		return cadre.Receipt{}, err
	}
	select {
	case <-r.lead: // nobody else does, so there is no wait to be interrupted
	default:
		if !s.queue.wait(r) {
			return r.receipt, r.err
		}
	}
	defer s.queue.handOver()
	s.commit(r.ctx)
	<-r.done
	return r.receipt, r.err
}

func (q *queue) enter(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errClosed
	}
	q.waiting = append(q.waiting, r)
	if !q.busy {
		q.busy, r.leads = true, true
		r.lead <- struct{}{}
	}
	return nil
}

// wait waits for a command's answer, or until it is to lead, which it says.
func (q *queue) wait(r *request) (leads bool) {
	select {
	case <-r.done:
		return false
	case <-r.lead:
		return true
	case <-r.ctx.Done():
	}
	if q.withdraw(r) {
		r.err = r.ctx.Err()
		return false
	}
	select {
	case <-r.done:
		return false
	case <-r.lead:
		return true
	}
}

// withdraw takes a command out again, unless it was taken or is to lead.
func (q *queue) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, r)
	if i < 0 || r.leads {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// next gives the command that waited longest, nil where none does.
func (q *queue) next() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	r := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	return r
}

// waits says whether a command does.
func (q *queue) waits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) > 0
}

// handOver ends a caller's lead.
func (q *queue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy, q.waiting = false, nil
		if q.ended != nil {
			close(q.ended)
			q.ended = nil
		}
		return
	}
	q.waiting[0].leads = true
	q.waiting[0].lead <- struct{}{}
}

// close refuses new commands, and waits for those that are there.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	if !q.busy {
		q.mu.Unlock()
		return
	}
	if q.ended == nil {
		q.ended = make(chan struct{})
	}
	ended := q.ended
	q.mu.Unlock()
	<-ended
}

func (r *request) answer(receipt cadre.Receipt, err error) {
	r.receipt, r.err = receipt, err
	close(r.done)
}
