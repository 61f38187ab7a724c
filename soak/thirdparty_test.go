package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"cadre"
	"cadre/claudefile"
)

// must says what is wrong with the log after a step.
type must = func(after map[cadre.TaskID]*cadre.Task) error

// theirs is something that somebody else does to the files. It says what must become
// of it.
type theirs struct {
	name string
	do   func(b *beside, before map[cadre.TaskID]*cadre.Task) (must, error)
}

func theirMoves() []theirs {
	return []theirs{
		{"wrote in place", func(b *beside, before map[cadre.TaskID]*cadre.Task) (must, error) {
			return b.rewrite(before, b.clock, b.inPlace)
		}},
		{"wrote by renaming", func(b *beside, before map[cadre.TaskID]*cadre.Task) (must, error) {
			return b.rewrite(before, b.clock, b.byRename)
		}},
		{"wrote in two steps", func(b *beside, before map[cadre.TaskID]*cadre.Task) (must, error) {
			return b.rewrite(before, time.Now(), b.inTwoSteps)
		}},
		{"wrote back an old copy", (*beside).oldCopy},
		{"made a task", (*beside).makes},
		{"deleted a task", (*beside).deletes},
		{"renamed a task", (*beside).renames},
		{"left garbage", (*beside).garbage},
		{"changed edges", (*beside).edges},
		{"sent mail", (*beside).sends},
		{"took mail", (*beside).takes},
		{"changed the team", (*beside).changesTeam},
	}
}

func (b *beside) theirMove(before map[cadre.TaskID]*cadre.Task) (must, error) {
	moves := theirMoves()
	k := moves[b.IntN(len(moves))]
	m, err := k.do(b, before)
	if err != nil {
		return nil, fmt.Errorf("they %s: %w", k.name, err)
	}
	if m == nil {
		return func(after map[cadre.TaskID]*cadre.Task) error { return onlyOurs(before, after, nil) }, nil
	}
	b.n["they "+k.name]++
	return func(after map[cadre.TaskID]*cadre.Task) error {
		if err := m(after); err != nil {
			return fmt.Errorf("they %s: %w", k.name, err)
		}
		return nil
	}, nil
}

// withFile gives a random task that has a file, and what stands in it.
func (b *beside) withFile(before map[cadre.TaskID]*cadre.Task) (cadre.TaskID, []byte) {
	var all []cadre.TaskID
	for id := range before {
		all = append(all, id)
	}
	slices.SortFunc(all, cadre.TaskID.Compare)
	b.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, id := range all {
		if data, err := os.ReadFile(b.file(id)); err == nil && len(data) > 0 {
			return id, data
		}
	}
	return "", nil
}

// edited is a copy of a file in which somebody says something new.
func (b *beside) edited(data []byte) ([]byte, error) {
	o, err := claudefile.Parse(data)
	if err != nil {
		return nil, err
	}
	word := b.word("they")
	for range 1 + b.IntN(2) {
		switch b.IntN(7) {
		case 0:
			o.Set("subject", word)
		case 1:
			o.Set("description", word)
		case 2:
			o.Set("activeForm", word)
		case 3:
			o.Set("metadata", map[string]string{"word": word, "other": "o"})
		case 4:
			o.Set("owner", word)
		case 5:
			o.Set("status", []string{"pending", "in_progress", "completed"}[b.IntN(3)])
		case 6:
			o.Delete("owner")
		}
	}
	return o.Bytes(), nil
}

// inPlace writes as older clients do; byRename as careful programs do; inTwoSteps
// as somebody does whom the system interrupts.
func (b *beside) inPlace(path string, data []byte) error {
	b.theirs[path] = string(data)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return b.date(path)
}

func (b *beside) byRename(path string, data []byte) error {
	temp := path + ".tmp"
	b.theirs[path] = string(data)
	if err := b.inPlace(temp, data); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func (b *beside) inTwoSteps(path string, data []byte) error {
	b.theirs[path] = string(data)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	half := b.IntN(len(data))
	pause := time.Duration(b.IntN(3000)) * time.Microsecond
	finish := func() error {
		_, err := f.Write(data[:half])
		time.Sleep(pause)
		_, err2 := f.Write(data[half:])
		return errors.Join(err, err2, f.Close())
	}
	if b.atOnce {
		return finish()
	}
	go func() { _ = finish() }() // while we look; what is missing then is found to be missing
	return nil
}

// date gives a file the time that all clocks show.
func (b *beside) date(path string) error {
	if b.atOnce {
		return nil
	}
	return os.Chtimes(path, b.clock, b.clock)
}

// rewrite says something new in a file, which then has a time.
func (b *beside) rewrite(before map[cadre.TaskID]*cadre.Task, at time.Time, write func(string, []byte) error) (must, error) {
	id, data := b.withFile(before)
	if id == "" {
		return nil, nil
	}
	b.copies = append(b.copies[max(0, len(b.copies)-20):], data)
	now, err := b.edited(data)
	if err != nil {
		return nil, err
	}
	b.tell("they write task %s: %s", id, now)
	return b.wanted(before, id, now, at), write(b.file(id), now)
}

// oldCopy writes back what the file of a task said some time ago, with one new word.
func (b *beside) oldCopy(before map[cadre.TaskID]*cadre.Task) (must, error) {
	if len(b.copies) == 0 {
		return nil, nil
	}
	data := b.copies[b.IntN(len(b.copies))]
	o, err := claudefile.Parse(data)
	if err != nil {
		return nil, err
	}
	file, err := claudefile.ReadTask(data)
	if err != nil {
		return nil, err
	}
	id := cadre.TaskID(file.ID)
	current, err := os.ReadFile(b.file(id))
	if err != nil {
		return nil, nil // it is removed by now
	}
	there, err := claudefile.ReadTask(current)
	if err != nil {
		return nil, err
	}
	o.Set("activeForm", b.word("they"))
	o.Set("blocks", append([]string{}, there.Blocks...)) // edges are for another move
	o.Set("blockedBy", append([]string{}, there.BlockedBy...))
	b.copies = append(b.copies[max(0, len(b.copies)-20):], current)
	b.tell("they write back an old copy of task %s: %s", id, o.Bytes())
	return b.wanted(before, id, o.Bytes(), b.clock), b.inPlace(b.file(id), o.Bytes())
}

// How old a copy may be before it counts as what somebody wants.
func window(field string) time.Duration {
	if len(field) > 8 && field[:8] == "metadata" {
		return 10 * time.Minute
	}
	return 2 * time.Second
}

// wanted says what a file that somebody wrote must make of the log: a value that the
// file had says nothing, one that we replaced shortly before was copied from an old
// file, and everything else is a change. What nobody wrote stays.
func (b *beside) wanted(before map[cadre.TaskID]*cadre.Task, id cadre.TaskID, data []byte, at time.Time) must {
	file, err := claudefile.ReadTask(data)
	if err != nil {
		return func(map[cadre.TaskID]*cadre.Task) error { return err }
	}
	want := said{}
	if t := before[id]; t != nil {
		is := valuesOf(t)
		says := values(file)
		current, _ := os.ReadFile(b.file(id)) // it is there
		ours := string(current) != b.theirs[b.file(id)]
		for _, field := range fieldsOf(is, says) {
			if says[field] != is[field] && !b.stale(id, field, says[field], at, ours) {
				want.add(id, field, says[field])
			}
		}
	} else {
		for field, value := range values(file) {
			want.add(id, field, value)
		}
	}
	return func(after map[cadre.TaskID]*cadre.Task) error {
		if after[id] == nil {
			return fmt.Errorf("task %s is not there", id)
		}
		return onlyOurs(before, after, want)
	}
}

// stale says whether we replaced a value so short a time ago that whoever writes it
// cannot have seen that: on our own account, or a moment ago, where we wrote the
// file last, on theirs.
func (b *beside) stale(id cadre.TaskID, field, value string, at time.Time, ours bool) (stale bool) {
	err := b.inner.View(context.Background(), b.scope, func(s cadre.Snap) error {
		for e, err := range s.History(cadre.Ref{Kind: cadre.KindTask, ID: string(id)}) {
			if err != nil {
				return err
			}
			was, ok := e.Before.(*cadre.Task)
			is, ok2 := e.After.(*cadre.Task)
			if ok && ok2 && (e.Door == "test" || ours && !e.Time.Before(at.Add(-250*time.Millisecond))) && !e.Time.Before(at.Add(-window(field))) && valuesOf(was)[field] == value && valuesOf(is)[field] != value {
				stale = true
			}
		}
		return nil
	})
	if err != nil {
		panic(err) // memory does not fail
	}
	return stale
}

// newID is an id that nobody has used.
func (b *beside) newID() cadre.TaskID {
	if b.IntN(5) == 0 {
		return cadre.TaskID(b.word("x"))
	}
	return cadre.TaskID(strconv.FormatUint(b.head().Next+uint64(b.IntN(2)), 10))
}

func newTask(id cadre.TaskID, subject string) []byte {
	data, err := json.MarshalIndent(map[string]any{
		"id": id, "subject": subject, "description": "made by another program", "status": "pending", "blocks": []string{}, "blockedBy": []string{},
	}, "", "  ")
	if err != nil {
		panic(err) // it is text
	}
	return data
}

func (b *beside) makes(before map[cadre.TaskID]*cadre.Task) (must, error) {
	id := b.newID()
	data := newTask(id, b.word("they"))
	b.tell("they make task %s", id)
	return b.wanted(before, id, data, b.clock), b.inPlace(b.file(id), data)
}

func (b *beside) deletes(before map[cadre.TaskID]*cadre.Task) (must, error) {
	id, data := b.withFile(before)
	if id == "" {
		return nil, nil
	}
	b.copies = append(b.copies, data)
	b.tell("they delete task %s", id)
	return gone(before, id, said{}), os.Remove(b.file(id))
}

// gone says whether a task whose file was taken away is removed, or only cleared
// away if it was finished.
func gone(before map[cadre.TaskID]*cadre.Task, id cadre.TaskID, want said) must {
	if before[id].Status != cadre.Completed {
		want.add(id, "status", string(cadre.Deleted))
	}
	return func(after map[cadre.TaskID]*cadre.Task) error { return onlyOurs(before, after, want) }
}

func (b *beside) renames(before map[cadre.TaskID]*cadre.Task) (must, error) {
	from, data := b.withFile(before)
	if from == "" {
		return nil, nil
	}
	to := b.newID()
	file, err := claudefile.ReadTask(data)
	if err != nil {
		return nil, err
	}
	want := said{}
	for field, value := range values(file) {
		want.add(to, field, value)
	}
	b.tell("they rename task %s to %s", from, to)
	m := gone(before, from, want)
	return func(after map[cadre.TaskID]*cadre.Task) error {
		if after[to] == nil {
			return fmt.Errorf("task %s is not there", to)
		}
		return m(after)
	}, os.Rename(b.file(from), b.file(to))
}

func (b *beside) garbage(before map[cadre.TaskID]*cadre.Task) (must, error) {
	id, _ := b.withFile(before)
	if id == "" {
		return nil, nil
	}
	texts := []string{"", "{", `{"id": "1", "subj`, "[1, 2", "null", "\x00\xff\xfe", "<html>"}
	b.tell("they leave garbage in task %s", id)
	return func(after map[cadre.TaskID]*cadre.Task) error { return onlyOurs(before, after, nil) }, b.inPlace(b.file(id), []byte(texts[b.IntN(len(texts))]))
}
