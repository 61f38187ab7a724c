package soak_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"cadre"
	"cadre/claudefile"
)

// edges adds an edge between two tasks, seen from one side or from both, or takes
// one away.
func (b *beside) edges(before map[cadre.TaskID]*cadre.Task) (must, error) {
	waits, data := b.withFile(before)
	by, other := b.withFile(before)
	if waits == by || waits == "" {
		return nil, nil
	}
	b.tell("they let task %s wait for %s", waits, by)
	sides := 1 + b.IntN(3)
	for i, side := range []struct {
		id   cadre.TaskID
		data []byte
		key  string
		add  cadre.TaskID
	}{{waits, data, "blockedBy", by}, {by, other, "blocks", waits}} {
		if sides&(1<<i) == 0 {
			continue
		}
		o, err := claudefile.Parse(side.data)
		if err != nil {
			return nil, err
		}
		file, err := claudefile.ReadTask(side.data)
		if err != nil {
			return nil, err
		}
		list := file.BlockedBy
		if side.key == "blocks" {
			list = file.Blocks
		}
		o.Set(side.key, append(slices.Clone(list), string(side.add)))
		if err := b.inPlace(b.file(side.id), o.Bytes()); err != nil {
			return nil, err
		}
	}
	fresh := !b.everWaited(waits, by)
	return func(after map[cadre.TaskID]*cadre.Task) error {
		if fresh && !slices.Contains(after[waits].BlockedBy, by) && !reaches(after, by, waits) {
			return fmt.Errorf("task %s does not wait for %s", waits, by)
		}
		return onlyOurs(before, after, nil)
	}, nil
}

// everWaited says whether a task has waited for another before: then it may be an
// old copy that says so.
func (b *beside) everWaited(id, by cadre.TaskID) (ever bool) {
	err := b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
		for e, err := range s.History(cadre.Ref{Kind: cadre.KindTask, ID: string(id)}) {
			if err != nil {
				return err
			}
			if t, ok := e.After.(*cadre.Task); ok && slices.Contains(t.BlockedBy, by) {
				ever = true
			}
		}
		return nil
	})
	if err != nil {
		panic(err) // memory does not fail
	}
	return ever
}

// reaches says whether a task waits for another, over however many.
func reaches(tasks map[cadre.TaskID]*cadre.Task, from, to cadre.TaskID) bool {
	if from == to {
		return true
	}
	t := tasks[from]
	return t != nil && t.Status != cadre.Deleted && slices.ContainsFunc(t.BlockedBy, func(id cadre.TaskID) bool { return reaches(tasks, id, to) })
}

// unread is what waits for a member.
func (b *beside) unread(name string) (map[cadre.MessageID]string, error) {
	out := map[cadre.MessageID]string{}
	err := b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
		for m, err := range s.Unread(name) {
			if err != nil {
				return err
			}
			out[m.ID] = m.Text
		}
		return nil
	})
	return out, err
}

// sends puts a message into an inbox, which must be there after, with all that was.
func (b *beside) sends(before map[cadre.TaskID]*cadre.Task) (must, error) {
	waiting, err := b.unread("ann")
	if err != nil || !b.lives("ann") {
		return nil, err
	}
	word := b.word("they")
	b.tell("they send %s to ann", word)
	entries := append(b.inbox("ann"), claudefile.Entry{From: "eve", Text: word, Timestamp: claudefile.Timestamp(b.time().Wall)})
	return func(after map[cadre.TaskID]*cadre.Task) error {
		now, err := b.unread("ann")
		if err != nil {
			return err
		}
		found := false
		for id, text := range now {
			found = found || text == word
			delete(waiting, id)
		}
		if !found || len(waiting) > 0 {
			return fmt.Errorf("%s came: %t; these are read now and were not: %v", word, found, waiting)
		}
		return onlyOurs(before, after, nil)
	}, b.inPlace(b.team("inboxes", "ann.json"), claudefile.WriteInbox(entries))
}

// takes takes the oldest message out of an inbox: it is read then, and no other. (A
// client takes all of them. A later one that is gone alone was lost, and is put back.)
func (b *beside) takes(before map[cadre.TaskID]*cadre.Task) (must, error) {
	waiting, err := b.unread("ann")
	entries := b.inbox("ann")
	i := -1
	if err == nil {
		err = b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
			for m, err := range s.Unread("ann") {
				if err == nil { // a task assignment has other words in the file, and is left
					i = slices.IndexFunc(entries, func(e claudefile.Entry) bool { return !e.Read && e.Text == m.Text })
				}
				return err
			}
			return nil
		})
	}
	if err != nil || i < 0 || !b.lives("ann") {
		return nil, err
	}
	taken := entries[i]
	b.tell("they take %q from ann's inbox", taken.Text)
	return func(after map[cadre.TaskID]*cadre.Task) error {
		now, err := b.unread("ann")
		if err != nil {
			return err
		}
		for id, text := range waiting {
			if _, still := now[id]; !still && len(waiting)-len(now) != 1 {
				return fmt.Errorf("%q was taken, and %q is read as well: %v became %v", taken.Text, text, waiting, now)
			}
		}
		if len(waiting) != len(now)+1 {
			return fmt.Errorf("%q was taken, and %v became %v", taken.Text, waiting, now)
		}
		return onlyOurs(before, after, nil)
	}, b.inPlace(b.team("inboxes", "ann.json"), claudefile.WriteInbox(slices.Delete(entries, i, i+1)))
}

// lives says whether somebody is a member now.
func (b *beside) lives(name string) (lives bool) {
	err := b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
		m, err := s.Member(name)
		lives = m != nil && m.State != cadre.StateDeparted
		return err
	})
	if err != nil {
		panic(err) // memory does not fail
	}
	return lives
}

// changesTeam rewrites the team's file: a member of a client comes, or the team is
// described in other words.
func (b *beside) changesTeam(before map[cadre.TaskID]*cadre.Task) (must, error) {
	word := b.word("they")
	describe := b.IntN(2) == 0
	b.tell("they put %s into config.json", word)
	return func(after map[cadre.TaskID]*cadre.Task) error {
		if err := b.inTeam(word, describe); err != nil {
			return err
		}
		return onlyOurs(before, after, nil)
	}, b.putInTeam(word, describe)
}

func (b *beside) putInTeam(word string, describe bool) error {
	path := b.team("config.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c, err := claudefile.ReadConfig(data)
	if err != nil {
		return err
	}
	if describe {
		c.Description = word
	} else {
		c.Members = append(c.Members, claudefile.Member{AgentID: word + "@docs", Name: word, JoinedAt: b.time().Wall.UnixMilli(), TmuxPaneID: "%1", Subscriptions: []string{}})
	}
	return b.inPlace(path, c.Write(data))
}

// inTeam says whether what was put into the team's file is in the log.
func (b *beside) inTeam(word string, describe bool) error {
	return b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
		team, err := s.Team()
		if err != nil {
			return err
		}
		m, err := s.Member(word)
		if err != nil {
			return err
		}
		if describe && team.Description != word || !describe && (m == nil || m.State == cadre.StateDeparted) {
			return fmt.Errorf("%s is not in the team", word)
		}
		return nil
	})
}

// locked does something as clients do it: while they have the lock of a file.
func (b *beside) locked(path string, do func() error) error {
	for {
		err := os.Mkdir(path+".lock", 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.Join(do(), os.Remove(path+".lock"))
}
