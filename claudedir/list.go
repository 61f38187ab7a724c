package claudedir

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// openList opens the folder of the tasks; with create it is made.
func (p *pass) openList(create bool) (err error) {
	if p.list != nil {
		return nil
	}
	folder := "tasks/" + string(p.scope)
	if p.list, err = swapfile.Open(p.root, folder); err == nil {
		p.mem.List = true
		return nil
	}
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return absent(err)
	}
	if err := p.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if p.list, err = swapfile.Open(p.root, folder); err != nil {
		return err
	}
	p.mem.List = true
	_, _, err = swapfile.Create(p.list, ".lock", nil) // what clients lock
	return err
}

// look finds what others wrote.
func (p *pass) look(l look) error {
	if l.upTo.Seq > 0 && !p.full {
		return nil
	}
	if p.list != nil {
		if err := p.lookAtList(l); err != nil {
			return err
		}
	}
	if l.heard && !l.team && len(l.inboxes) == 0 && !p.full {
		return nil
	}
	if err := p.lookAtTeam(); err != nil {
		p.faults = append(p.faults, err) // the tasks are served all the same
	}
	return nil
}

// fewNames is how many files are looked at one by one whenever their folder
// changed. In a longer list a command looks at those that it reads.
const fewNames = 256

// lookAtList looks at the tasks that are asked for, at new files, and for files
// that are gone.
func (p *pass) lookAtList(l look) error {
	moved, at, err := p.moved()
	if err != nil {
		return err
	}
	candidates := map[cadre.TaskID]bool{}
	for _, id := range l.tasks {
		candidates[id] = true
	}
	if moved && !l.heard || l.all || p.full {
		if err := p.readNames(at); err != nil {
			return err
		}
		if err := p.lookAtNames(l, candidates); err != nil {
			return err
		}
		if err := p.sweepList(); err != nil {
			return err
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(candidates), cadre.TaskID.Compare) {
		if err := p.inspect(id); err != nil {
			return err
		}
	}
	return nil
}

// lookAtNames adds the tasks whose files came or went; and those whose files may
// have changed, where all are to be looked at.
func (p *pass) lookAtNames(l look, candidates map[cadre.TaskID]bool) error {
	known, err := p.mem.table()
	if err != nil {
		return err
	}
	all := l.all || p.full || len(p.names) <= fewNames
	there := make(map[cadre.TaskID]bool, len(p.names))
	for _, name := range p.names {
		id, ok := taskName(name)
		if !ok {
			continue
		}
		there[id] = true
		if s := known.task(id); s.Mark&here == 0 {
			candidates[id] = true
		} else if all {
			if stamp, err := swapfile.Stat(p.list, name); err != nil || !s.current(stamp) {
				candidates[id] = true
			}
		}
	}
	for id, s := range known.each() {
		if s.Mark&here != 0 && !there[id] {
			candidates[id] = true // its name is gone
		}
	}
	return nil
}

// moved says whether names may have come or gone since they were last read.
func (p *pass) moved() (bool, int64, error) {
	info, err := p.list.Root().Stat(".")
	if err != nil {
		return false, 0, err
	}
	at := info.ModTime().UnixNano()
	if moved := at != p.mem.ListAt || racy(p.mem.ListAt, p.mem.ListSaw); moved || !p.mem.Unsure {
		return moved, at, nil
	}
	names, err := namesIn(p.list)
	return nameSum(names...) != p.mem.Sum, at, err
}

// readNames reads the folder.
func (p *pass) readNames(at int64) error {
	saw := p.wall()
	names, err := namesIn(p.list)
	if err != nil {
		return err
	}
	p.names = names
	p.mem.ListAt, p.mem.ListSaw, p.mem.Names, p.mem.Sum, p.mem.Unsure, p.mem.Largest = at, saw, uint64(len(p.names)), nameSum(p.names...), false, 0
	for _, name := range p.names {
		if id, ok := taskName(name); ok && id.Numeric() {
			if n, err := strconv.ParseUint(string(id), 10, 63); err == nil {
				p.mem.Largest = max(p.mem.Largest, n)
			}
		}
	}
	return nil
}

func (p *pass) wall() int64 { return p.now().Wall.UnixNano() }

// inspect looks at one task's file.
func (p *pass) inspect(id cadre.TaskID) error {
	name := string(id) + ".json"
	known, err := p.mem.task(id)
	if err != nil {
		return err
	}
	var data []byte
	stamp, err := swapfile.Stat(p.list, name)
	if err == nil && known.current(stamp) {
		return nil
	}
	if err == nil {
		data, stamp, err = p.readWhole(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // also one that went between the two
		if known.Mark&here != 0 {
			p.found = append(p.found, written{id: id, at: p.now().Wall, known: true})
			p.slots[id] = slot{Mark: cleared}
		}
	case err != nil:
		p.unreadable(id, stamp, err)
	default:
		p.taskWritten(id, data, stamp, known)
	}
	return nil
}

// unreadable notes that a task's file could not be read. What nobody should read is
// left alone; after any other error it is looked at again.
func (p *pass) unreadable(id cadre.TaskID, stamp swapfile.Stamp, err error) {
	if unreadable(err) == nil && !errors.Is(err, fs.ErrNotExist) {
		p.odd(id, stamp, nil)
		return
	}
	p.fail(taskKey(id), err)
}

// patience is how long a writer that is in the middle of a file is waited for: most
// need a moment only.
const (
	patience   = time.Second
	firstPause = 100 * time.Microsecond
)

// rest pauses, and says for how long to do so the next time.
func rest(pause time.Duration) time.Duration {
	time.Sleep(pause)
	return min(2*pause, 2*time.Millisecond)
}

// stillFor is how long a file that seems to be left broken is watched: for a moment
// after it was cut it still has the time of the write before.
const stillFor = 20 * time.Millisecond

// readWhole reads a task's file. One that does not parse and was just touched is
// being written in place: its writer gets a moment to finish.
func (p *pass) readWhole(name string) ([]byte, swapfile.Stamp, error) {
	var broken swapfile.Stamp
	for deadline, pause := time.Now().Add(patience), firstPause; ; pause = rest(pause) {
		p.saw = p.wall() // before, because it may be written again while we stand still after
		data, stamp, err := swapfile.Read(p.list, name, claudefile.MaxFile)
		if errors.Is(err, swapfile.ErrChanging) && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			return data, stamp, err
		}
		if _, err := claudefile.ReadTask(data); err == nil || time.Now().After(deadline) {
			return data, stamp, nil
		}
		age := time.Since(time.Unix(0, stamp.MTime))
		if fresh := -patience < age && age < patience; !fresh && stamp == broken {
			return data, stamp, nil
		} else if !fresh {
			broken = stamp
			time.Sleep(stillFor)
		}
	}
}

// taskWritten notes a content that a task's file has or had.
func (p *pass) taskWritten(id cadre.TaskID, data []byte, stamp swapfile.Stamp, known slot) {
	now := slot{Stamp: stamp, Saw: p.saw, Hash: hashOf(data), Mark: here}
	if known.Mark&(here|odd) != 0 && known.Hash == now.Hash {
		now.Mark = known.Mark &^ ours
		if err := p.mem.setTask(id, now); err != nil {
			p.faults = append(p.faults, err)
		}
		return
	}
	file, err := claudefile.ReadTask(data)
	if err != nil {
		p.odd(id, stamp, data)
		p.touched[id] = true // if the log knows the task, its file is made whole again
		return
	}
	p.found = append(p.found, written{id: id, file: file, at: time.Unix(0, stamp.MTime), data: data, known: known.Mark&here != 0, ours: known.Mark&ours != 0, upTo: p.mem.has(taskKey(id))})
	p.slots[id] = now
}

// odd remembers a file that cannot be read as a task. It is left alone.
func (p *pass) odd(id cadre.TaskID, stamp swapfile.Stamp, data []byte) {
	s := slot{Stamp: stamp, Saw: p.wall(), Hash: hashOf(data), Mark: here | odd}
	if err := p.mem.setTask(id, s); err != nil {
		p.faults = append(p.faults, err)
	}
}
