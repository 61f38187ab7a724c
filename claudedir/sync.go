package claudedir

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// look says which files are to be looked at.
type look struct {
	tasks   []cadre.TaskID
	inboxes map[string]bool
	team    bool
	all     bool
	heard   bool          // the system told which files changed: no others are looked for
	upTo    cadre.Head    // a command that must be in the files; nothing else is looked at
	events  []cadre.Event // those of that command
	until   time.Time     // until when a change may wait for its author
}

// A client writes down what it did only after it did it. For so long a change that
// nothing explains waits for that, where a client is about.
const (
	explainedWithin = 800 * time.Millisecond
	explainedPause  = 25 * time.Millisecond
)

// errUnexplained is for changes whose author may be known in a moment.
var errUnexplained = errors.New("a change waits for its author")

// outcome is what a pass found.
type outcome struct {
	head  cadre.Head
	taken cadre.Seq // the newest event that may have been taken in, by whatever process
}

// sync makes both sides the same: it takes in what the files say that is new, and
// writes what the log says that is not in them yet.
func (s *Store) sync(ctx context.Context, scope cadre.Scope, l look) (outcome, error) {
	l.until = time.Now().Add(explainedWithin)
	for {
		o, err := s.syncOnce(ctx, scope, l)
		if !errors.Is(err, errUnexplained) {
			return o, err
		}
		select { // nobody is kept from the scope meanwhile
		case <-time.After(explainedPause):
		case <-ctx.Done():
			return o, ctx.Err()
		}
	}
}

func (s *Store) syncOnce(ctx context.Context, scope cadre.Scope, l look) (outcome, error) {
	if _, err := s.open(true); err != nil {
		return outcome{}, err
	}
	p := s.place(scope)
	return p.take(ctx, l, func(l look) (outcome, error) { return s.pass(ctx, scope, p, l) })
}

// pass runs one pass, while no other of this process does.
func (s *Store) pass(ctx context.Context, scope cadre.Scope, p *place, l look) (outcome, error) {
	if h := l.upTo; h.Seq > 0 && h.Epoch == p.done.Epoch && h.Seq <= p.done.Seq {
		return outcome{head: p.done}, nil // another caller of this process has written it along
	}
	if err := p.lock.Acquire(ctx); err != nil {
		return outcome{}, err
	}
	defer p.lock.Release()
	m, err := loadMemory(s.memory, scope)
	if err == nil && m.Epoch == "" {
		var moved bool
		if moved, err = s.cameFrom(ctx, scope); moved {
			m, err = loadMemory(s.memory, scope)
		}
	}
	if err != nil {
		return outcome{}, err
	}
	pass := &pass{Store: s, ctx: ctx, scope: scope, mem: m, until: l.until}
	defer pass.close()
	if err := pass.run(l); err != nil {
		return pass.outcome(), err // what was learned about the files is not all taken in
	}
	err = m.save()
	if len(pass.faults) > 0 {
		err = joinErr(pass.faults)
	}
	if err == nil {
		p.done = pass.upTo
		s.right(scope)
	}
	return pass.outcome(), err
}

func (p *pass) outcome() outcome { return outcome{p.head, p.mem.Taken} }

// pass is one run of sync, alone on its scope among all processes of Cadre.
type pass struct {
	*Store
	ctx   context.Context
	scope cadre.Scope
	mem   *memory
	list  *swapfile.Dir // the folder of the tasks, nil where there is none
	names []string      // what is in it, where it was read

	head  cadre.Head
	upTo  cadre.Head    // where the log stood when since was read: later events are not in it
	since []cadre.Event // what the files do not have yet
	full  bool          // nothing is known about the files

	saw     int64                 // when a file was read last
	until   time.Time             // until when a change may wait for its author
	found   []written             // what others wrote
	slots   map[cadre.TaskID]slot // how those files look, to be remembered once they are taken in
	touched map[cadre.TaskID]bool // tasks whose files are to be compared with the log
	team    teamFiles
	olds    []*swapfile.Old // replaced files that say something, until that is taken in
	faults  []error         // what went wrong with some files; the others are served all the same
	behind  map[string]bool // files that could not be written, until they are
}

func (p *pass) close() {
	for _, old := range p.olds {
		old.Leave() // whoever sweeps takes it in
	}
	if p.list != nil {
		p.list.Close()
	}
	p.team.close()
	p.mem.close()
}

func (p *pass) run(l look) error {
	if err := p.openList(false); err != nil {
		return err
	}
	p.slots, p.touched, p.behind = map[cadre.TaskID]slot{}, map[cadre.TaskID]bool{}, map[string]bool{}
	if err := p.catchUpWith(l); err != nil {
		return err
	}
	p.touchBehind()
	gone, err := p.vanished()
	if err != nil || gone {
		return err
	}
	if err := p.look(l); err != nil {
		return err
	}
	for range rounds {
		if err := p.takeIn(); err != nil {
			return err
		}
		if err := p.write(); err != nil {
			return err
		}
		if len(p.found) == 0 && !p.team.found() {
			return nil // nobody wrote anything while we did
		}
	}
	return p.takeIn() // somebody never stops: the next pass writes what this makes of it
}

// catchUpWith is catchUp for a command that was committed just now: if the files
// had everything before it, its own events are all that they do not have yet.
func (p *pass) catchUpWith(l look) error {
	n := len(l.events)
	if n == 0 || len(p.mem.Behind) > 0 || p.mem.Epoch != l.upTo.Epoch || p.mem.Seq != l.events[0].Seq-1 || l.events[n-1].Seq != l.upTo.Seq {
		return p.catchUp()
	}
	p.since, p.head, p.upTo = l.events, l.upTo, l.upTo
	return nil
}

// catchUp reads what the log has that the files do not have yet.
func (p *pass) catchUp() error {
	err := p.Store.Store.View(p.ctx, p.scope, func(s cadre.Snap) error {
		p.head = s.Head()
		return nil
	})
	if err != nil {
		return err
	}
	p.since, p.upTo = nil, p.head
	if p.mem.Epoch != "" && p.mem.Epoch == p.head.Epoch && p.mem.Seq <= p.head.Seq {
		from := p.mem.hasAll()
		if from == p.head.Seq {
			return nil
		}
		for e, err := range p.Store.Store.Events(p.ctx, p.scope, cadre.Head{Epoch: p.mem.Epoch, Seq: from}, false) {
			if err != nil {
				return err
			}
			p.since = append(p.since, e)
			p.upTo.Seq = max(p.upTo.Seq, e.Seq)
			if e.Door == door { // whoever took it in did not get to remember that
				p.mem.Taken = max(p.mem.Taken, e.Seq)
			}
		}
		return nil
	}
	// The log is another one than the files were written from, or nothing is known
	// about the files: everything is compared, and nothing is taken for granted.
	if p.full {
		return nil // what this pass has learned about them is kept
	}
	p.full = true
	err = p.mem.forget()
	p.mem.List = p.list != nil
	p.mem.Taken = p.head.Seq
	return err
}

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
	return p.mem.Unsure || at != p.mem.ListAt || racy(p.mem.ListAt, p.mem.ListSaw), at, nil
}

// readNames reads the folder.
func (p *pass) readNames(at int64) error {
	saw := p.wall()
	names, err := namesIn(p.list)
	if err != nil {
		return err
	}
	p.names = names
	p.mem.ListAt, p.mem.ListSaw, p.mem.Names, p.mem.Unsure, p.mem.Largest = at, saw, len(p.names), false, 0
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
	stamp, err := swapfile.Stat(p.list, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if known.Mark&here != 0 {
			p.found = append(p.found, written{id: id, at: p.now().Wall, known: true})
			p.slots[id] = slot{Mark: cleared}
		}
		return nil
	case err != nil:
		p.unreadable(id, stamp, err)
		return nil
	case known.current(stamp):
		return nil
	}
	data, stamp, err := p.readWhole(name)
	if err != nil {
		p.unreadable(id, stamp, err)
		return nil
	}
	p.taskWritten(id, data, stamp, known)
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

// takeIn has the log take in what others wrote.
func (p *pass) takeIn() error {
	mail := p.team.found()
	if len(p.found) == 0 && !mail {
		return nil
	}
	if p.mem.OldAt != 0 {
		p.mem.OldAt = p.wall() // it is still there
	}
	for _, w := range p.found {
		p.touched[w.id] = true
	}
	v := &cadre.Foreign{Guard: p.Guard}
	id := []any{p.Dir, p.scope}
	err := p.Store.Store.View(p.ctx, p.scope, func(s cadre.Snap) error {
		v.Tasks, id = nil, id[:2]
		in := &intake{Snap: s, since: p.since}
		for _, w := range p.found {
			f, changed, err := in.change(w)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			f.By = p.author(f, w.at)
			v.Tasks = append(v.Tasks, f)
			id = append(id, f.ID, f.Digest, f.Gone, w.at.UnixNano(), p.slots[w.id].Ino)
		}
		return p.team.changes(p, in, v, &id)
	})
	if err != nil {
		return err
	}
	if p.unexplained(v) {
		return errUnexplained
	}
	if err := p.apart(v); err != nil {
		return err
	}
	if len(v.Tasks)+len(v.Mail)+len(v.Taken) > 0 || v.Team != nil {
		c := cadre.Command{ID: commandID(id...), Actor: cadre.External, Door: door, Verb: "intake", Now: p.now()}
		r, err := p.Store.Store.Update(p.ctx, p.scope, c, func(s cadre.Snap) ([]cadre.Event, error) { return v.Decide(s, c) })
		if err != nil {
			return err
		}
		if len(r.Events) > 0 {
			p.mem.Taken = max(p.mem.Taken, r.Head.Seq)
		}
	}
	for id, s := range p.slots {
		if err := p.mem.setTask(id, s); err != nil {
			return err
		}
	}
	p.slots = map[cadre.TaskID]slot{}
	p.team.remember(p)
	for _, old := range p.olds {
		if err := old.Done(); err != nil {
			p.faults = append(p.faults, err)
		}
	}
	p.olds = nil
	return p.catchUp()
}

// apart gives a number of its own to a task that another program wrote under one
// that a command of ours had just been given: both stay.
func (p *pass) apart(v *cadre.Foreign) error {
	fresh := map[cadre.TaskID]*cadre.Task{}
	for _, e := range p.since {
		if t, ok := e.After.(*cadre.Task); ok && e.Seq > p.mem.has(taskKey(t.ID)) && (e.Before == nil || fresh[t.ID] != nil) && e.Door != door {
			fresh[t.ID] = t
		}
	}
	for i := range v.Tasks {
		f := &v.Tasks[i]
		t := fresh[f.ID]
		if t == nil || f.Gone || f.Subject == nil || *f.Subject == t.Subject {
			continue
		}
		r, err := p.reserveLocked(1, p.head.Next)
		if err != nil {
			return err
		}
		for _, w := range p.found {
			if w.id == f.ID && w.file != nil {
				digest, by := f.Digest, f.By
				*f = (&intake{}).whole(cadre.ForeignTask{ID: cadre.TaskID(strconv.FormatUint(r.first, 10)), Digest: digest, By: by}, w.file)
			}
		}
	}
	return nil
}

// unexplained says whether it is worth waiting for the author of a change.
func (p *pass) unexplained(v *cadre.Foreign) bool {
	if p.Who == nil || !slices.ContainsFunc(v.Tasks, func(f cadre.ForeignTask) bool { return f.By.Kind == cadre.ActorExternal }) {
		return false
	}
	return time.Now().Before(p.until) && p.Who.Live()
}

// author says who is behind a change.
func (p *pass) author(f cadre.ForeignTask, at time.Time) cadre.Actor {
	if p.Who != nil {
		if a, ok := p.Who.Who(p.scope, f, at.UnixNano()); ok {
			return a
		}
	}
	return cadre.External
}

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
		for id := range tasks {
			t, err := s.Task(id)
			if err != nil {
				return err
			}
			if wants[id], err = projected(s, t); err != nil {
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
		return nil
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
	if err != nil {
		return err
	}
	if err := p.mem.setTask(id, slot{}); err != nil {
		return err
	}
	return p.lookAtOld(id, old, data, known)
}

// lookAtOld looks at a file that was just replaced: what was written to it after
// we had read it is taken in.
func (p *pass) lookAtOld(id cadre.TaskID, old *swapfile.Old, expected []byte, known slot) error {
	var file *claudefile.Task
	data, stamp, err := p.settled(old, expected, func(data []byte) (err error) {
		file, err = claudefile.ReadTask(data)
		return err
	})
	if err == nil && data != nil {
		p.found = append(p.found, written{id: id, file: file, at: time.Unix(0, stamp.MTime), data: data, known: known.Mark&here != 0, ours: known.Mark&ours != 0, upTo: p.mem.has(taskKey(id))})
	}
	return err
}
