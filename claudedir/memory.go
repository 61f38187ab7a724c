package claudedir

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"syscall"
	"time"

	"cadre"
	"cadre/internal/swapfile"
)

// memory is what this machine remembers of one scope's files: how they looked when
// both sides last were the same. It is never in the log, because it is about one
// machine, and losing it costs a comparison of everything and nothing else.
//
// It is two files, both written in place. NAME.files is small and read whole: some
// lines and their checksum (memory_lines.go). NAME.slots holds 64 bytes for each numbered task, at the place
// of its number, so that a command that is about one task of 100,000 reads and
// writes one.
type memory struct {
	Epoch string
	Seq   cadre.Seq // up to here the files say what the log says
	Taken cadre.Seq // the newest event that was taken in

	List    bool              // the list's folder was there
	Team    bool              // the team's folder was there
	ListAt  int64             // the list folder's time when its names were last read
	ListSaw int64             // when that was; the end of time where we set the folder's time ourselves
	Names   uint64            // how many there were
	Sum     uint64            // of those of tasks, to know them again
	Largest uint64            // the largest number among them
	Unsure  bool              // something may have come in while we wrote
	OldAt   int64             // when a client of the older kind was last seen
	Odd     map[string]slot   // tasks whose names are no numbers
	Files   map[string]slot   // the team's own file and its inboxes
	PutBack map[string]uint64 // how often a member of ours was dropped and put back

	Boxes   string   // the folder of the team's inboxes, for as long as
	BoxesOf [16]byte // the team's own file has this content

	Behind map[string]cadre.Seq // files that could not be written, and up to where the log is in them

	root  *os.Root
	name  string
	slots *os.File
	saved string // the small file as it was read
}

// slot is one file as it looked when it was last the same on both sides.
type slot struct {
	swapfile.Stamp
	Saw  int64    // when it was looked at
	Hash [16]byte // of its content
	Mark mark
}

// mark says what a slot knows besides.
type mark uint64

const (
	here    mark = 1 << iota // the file was there
	ours                     // we wrote it, with a time that no other writer can give it
	cleared                  // a client cleared the finished task away: it is not written again
	odd                      // it cannot be read as a task and is left alone
)

const slotSize = 64

func hashOf(data []byte) [16]byte {
	sum := sha256.Sum256(data)
	return [16]byte(sum[:16])
}

// current says whether a file with this stamp needs no second look. One that was
// written shortly before it was looked at may have been written again in the same
// tick of the file system's clock, unless we chose its time ourselves.
func (s slot) current(now swapfile.Stamp) bool {
	if s.Mark&here == 0 || s.Stamp != now {
		return false
	}
	return s.Mark&ours != 0 && s.MTime%int64(time.Second) != 0 || !racy(s.MTime, s.Saw)
}

// racy says whether something that was last changed at one time and looked at at
// another may have changed once more without a sign of it. Where a file system
// keeps fractions of a second its clock ticks at least every 10 ms.
func racy(changed, saw int64) bool {
	slack := 50 * time.Millisecond
	if changed%int64(time.Second) == 0 {
		slack = 2 * time.Second
	}
	return saw-changed < int64(slack)
}

func (s slot) encode() []byte {
	b := make([]byte, 0, slotSize)
	for _, v := range []uint64{s.Ino, uint64(s.Size), uint64(s.MTime), uint64(s.CTime), uint64(s.Saw), uint64(s.Mark)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return append(b, s.Hash[:]...)
}

func decodeSlot(b []byte) slot {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return slot{
		Stamp: swapfile.Stamp{Ino: at(0), Size: int64(at(1)), MTime: int64(at(2)), CTime: int64(at(3))},
		Saw:   int64(at(4)), Mark: mark(at(5)), Hash: [16]byte(b[48:64]),
	}
}

// loadMemory reads what is remembered of a scope; nothing, where there is nothing
// or it cannot be read.
func loadMemory(root *os.Root, scope cadre.Scope) (*memory, error) {
	m := &memory{root: root, name: string(scope)}
	data, err := readPlain(root, m.name+".files")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, ok := whole(string(data)); ok && m.read(text) {
		m.saved = text
	} else {
		*m = memory{root: root, name: m.name}
	}
	m.slots, err = openPlain(root, m.name+".slots", os.O_RDWR)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return m, nil
}

// openPlain opens a file of ours. Whatever else stands under its name, such as a pipe
// that nobody writes to, is an error and keeps nobody waiting.
func openPlain(root *os.Root, name string, flags int) (*os.File, error) {
	f, err := root.OpenFile(name, flags|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: swapfile.ErrIrregular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readPlain(root *os.Root, name string) ([]byte, error) {
	f, err := openPlain(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func (m *memory) close() {
	if m.slots != nil {
		m.slots.Close()
	}
}

// save writes the small file, if it changed. It does so in place: a file that takes
// another's name is brought to the disk at once by some file systems, which takes
// longer than all else that a command does with files. Who reads meanwhile, or after
// a crash in the middle, finds that the checksum is wrong, and so knows nothing.
func (m *memory) save() error {
	text := m.text()
	if text == m.saved {
		return nil
	}
	m.saved = text
	f, err := openPlain(m.root, m.name+".files", os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text+sumLine(text)), 0) // what a longer one left behind it says nothing
	return errors.Join(err, f.Close())
}

// forget begins anew: nothing is known about any file.
func (m *memory) forget() error {
	m.close()
	err := m.root.Remove(m.name + ".slots")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	*m = memory{root: m.root, name: m.name}
	return err
}

// task gives a task's slot, empty where nothing is known.
func (m *memory) task(id cadre.TaskID) (slot, error) {
	n, ok := numbered(id)
	if !ok {
		return m.Odd[string(id)], nil
	}
	if m.slots == nil {
		return slot{}, nil
	}
	var b [slotSize]byte
	if _, err := m.slots.ReadAt(b[:], n*slotSize); err != nil {
		if errors.Is(err, io.EOF) {
			return slot{}, nil
		}
		return slot{}, err
	}
	return decodeSlot(b[:]), nil
}

// setTask remembers how a task's file looks.
func (m *memory) setTask(id cadre.TaskID, s slot) (err error) {
	n, ok := numbered(id)
	if !ok {
		set(&m.Odd, string(id), s)
		return nil
	}
	if m.slots == nil {
		if m.slots, err = openPlain(m.root, m.name+".slots", os.O_RDWR|os.O_CREATE); err != nil {
			return err
		}
	}
	_, err = m.slots.WriteAt(s.encode(), n*slotSize)
	return err
}

// set puts a slot into a map; an empty one is taken out.
func set(files *map[string]slot, name string, s slot) {
	if s == (slot{}) {
		delete(*files, name)
		return
	}
	if *files == nil {
		*files = map[string]slot{}
	}
	(*files)[name] = s
}

// table is every slot at once, for whoever looks at a whole list.
type table struct {
	numbers []byte // the file of slots
	odd     map[string]slot
}

// table reads all slots.
func (m *memory) table() (table, error) {
	t := table{odd: m.Odd}
	if m.slots == nil {
		return t, nil
	}
	var err error
	t.numbers, err = io.ReadAll(io.NewSectionReader(m.slots, 0, (mostSlots+1)*slotSize))
	return t, err
}

// task gives a task's slot, empty where nothing is known.
func (t table) task(id cadre.TaskID) slot {
	n, ok := numbered(id)
	if !ok {
		return t.odd[string(id)]
	}
	if (n+1)*slotSize > int64(len(t.numbers)) {
		return slot{}
	}
	return decodeSlot(t.numbers[n*slotSize:])
}

// each gives every task that something is known about.
func (t table) each() iter.Seq2[cadre.TaskID, slot] {
	return func(yield func(cadre.TaskID, slot) bool) {
		for name, s := range t.odd {
			if !yield(cadre.TaskID(name), s) {
				return
			}
		}
		for n := 0; (n+1)*slotSize <= len(t.numbers); n++ {
			if s := decodeSlot(t.numbers[n*slotSize:]); s != (slot{}) && !yield(cadre.TaskID(strconv.Itoa(n)), s) {
				return
			}
		}
	}
}

// mostSlots bounds the file of slots: numbers past it are remembered by name.
const mostSlots = 1 << 20

// numbered gives the place of a task that has a number.
func numbered(id cadre.TaskID) (int64, bool) {
	if !id.Numeric() || len(id) > 7 {
		return 0, false
	}
	var n int64
	for _, c := range id {
		n = 10*n + int64(c-'0')
	}
	return n, n <= mostSlots
}

// taskName gives the id that a file name stands for. Names that no client would
// make, and no command could say, are none.
func taskName(file string) (cadre.TaskID, bool) {
	name, ok := inboxName(file)
	return cadre.TaskID(name), ok && len(name) <= mostName
}

// nameSum is a number that other names of tasks do not give, in whatever order.
func nameSum(names ...string) (sum uint64) {
	for _, name := range names {
		if _, ok := taskName(name); !ok {
			continue
		}
		h := fnv.New64a()
		_, _ = io.WriteString(h, name) // a hash takes everything
		sum += h.Sum64()
	}
	return sum
}

// mostName is how long the name of a task may be.
const mostName = 200
