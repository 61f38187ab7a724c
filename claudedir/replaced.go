package claudedir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// settled gives what somebody wrote to a file that was just replaced, or nil where
// that is nothing. A writer that is in the middle of it gets a second. The file
// stays until what it says is taken in, and half a file for whoever sweeps: its
// writer may yet end. What was expected to be there is whole if it is remembered.
func (p *pass) settled(old *swapfile.Old, expected []byte, whole bool, parse func([]byte) error) ([]byte, swapfile.Stamp, error) {
	for deadline, pause := time.Now().Add(patience), firstPause; ; pause = rest(pause) {
		data, stamp, err := old.Read(claudefile.MaxFile)
		late := time.Now().After(deadline)
		switch {
		case errors.Is(err, swapfile.ErrChanging) && !late:
		case err != nil:
			return nil, stamp, errors.Join(err, old.Leave())
		case string(data) == string(expected) && (whole || parse(data) == nil):
			return nil, stamp, old.Done()
		case parse(data) == nil:
			p.olds = append(p.olds, old)
			return data, stamp, nil
		case late || string(data) == string(expected): // it was waited for when it was read
			return nil, stamp, old.Leave()
		}
	}
}

// broken keeps what a write left that never ended: it says nothing, but somebody may
// want to see it.
func (p *pass) broken(name string, old *swapfile.Old, data []byte) error {
	if len(data) == 0 {
		return old.Done()
	}
	err := p.memory.WriteFile(fmt.Sprintf("%s-%s-%x.broken", p.scope, strings.TrimSuffix(name, ".json"), hashOf(data)), data, 0o600)
	return errors.Join(err, old.Done())
}

// leftover is how old a temporary file must be to be one that a crash left.
var leftover = 10 * time.Second

// sweepList removes what a crash left in the list. It may be a file that was
// replaced and never looked at, with the only copy of what somebody wrote: that is
// taken in now.
func (p *pass) sweepList() error {
	if p.LookOnly || !slices.ContainsFunc(p.names, swapfile.Leftover) {
		return nil
	}
	var failed error
	err := swapfile.Sweep(p.list, leftover, func(name string, old *swapfile.Old) {
		id, ok := taskName(name)
		known, err := p.mem.task(id)
		data, stamp, unread := old.Read(claudefile.MaxFile)
		file, unparsed := claudefile.ReadTask(data)
		switch {
		case err != nil:
			failed = errors.Join(failed, err, old.Leave())
		case !ok || unread != nil || known.Hash == hashOf(data):
			failed = errors.Join(failed, old.Done())
		case unparsed != nil:
			failed = errors.Join(failed, p.broken(name, old, data))
		default:
			p.olds = append(p.olds, old)
			p.found = append(p.found, written{id: id, file: file, at: time.Unix(0, stamp.MTime), data: data, known: known.Mark&here != 0, ours: known.Mark&ours != 0, late: true, upTo: p.mem.has(taskKey(id))})
		}
	})
	return errors.Join(err, failed)
}

// sweepInboxes does the same for a team's inboxes: mail that nobody has seen counts,
// and nothing that such an old copy lacks.
func (p *pass) sweepInboxes(dir *swapfile.Dir) error {
	if p.LookOnly {
		return nil
	}
	return swapfile.Sweep(dir, leftover, func(name string, old *swapfile.Old) {
		data, _, err := old.Read(claudefile.MaxFile)
		entries, err2 := claudefile.ReadInbox(data)
		if box, ok := inboxName(name); ok && err == nil && err2 == nil && len(entries) > 0 {
			if p.team.astray == nil {
				p.team.astray = map[string][]claudefile.Entry{}
			}
			p.team.astray[box] = append(p.team.astray[box], entries...)
			p.olds = append(p.olds, old)
			return
		}
		if err := old.Done(); err != nil {
			p.faults = append(p.faults, err)
		}
	})
}
