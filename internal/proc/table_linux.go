package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cadre/internal/bootclock"
)

// stat is one line of the process table.
type stat struct {
	ID
	parent, session int
	zombie          bool
}

// Of names the process that has a number now.
func Of(pid int) (ID, error) {
	s, err := look(pid)
	return s.ID, err
}

// Alive says whether the process still runs. One that has ended and was not yet
// collected does not.
func (id ID) Alive() bool {
	s, err := look(id.PID)
	return err == nil && s.ID == id && !s.zombie
}

func look(pid int) (stat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, data)
}

// parseStat reads a line of the kernel's. The command's name stands in brackets and
// may hold anything, also brackets.
func parseStat(pid int, data []byte) (stat, error) {
	after := bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[after+1:]))
	if after < 0 || len(fields) < 20 {
		return stat{}, fmt.Errorf("process %d: its line in /proc is cut off", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	start := boot() + "-" + fields[19]
	return stat{ID{pid, start}, parent, session, fields[0] == "Z" || fields[0] == "X"}, errors.Join(err, err2)
}

// boot tells the ticks of this boot from those of another.
func boot() string {
	id := bootclock.Now().Boot
	return id[:min(8, len(id))]
}

// table is every process there is. What ends while it is read is left out.
func table() []stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is what there is
	all := make([]stat, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, err := look(pid); err == nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// Ancestors are the processes that started this one, the nearest first.
func Ancestors() []Ancestor {
	var out []Ancestor
	below, err := look(os.Getpid())
	for err == nil && below.parent > 0 && len(out) < 1000 {
		var s stat
		if s, err = look(below.parent); err == nil {
			out = append(out, Ancestor{s.ID, s.session != below.session})
			below = s
		}
	}
	return out
}

// under are the living processes that descend from one.
func under(pid int) []ID { return descend(table(), pid) }

// descend finds the living descendants of some processes in a table.
func descend(all []stat, from ...int) []ID {
	children := map[int][]stat{}
	for _, s := range all {
		children[s.parent] = append(children[s.parent], s)
	}
	var out []ID
	for todo := from; len(todo) > 0; todo = todo[1:] {
		for _, s := range children[todo[0]] {
			todo = append(todo, s.PID)
			if !s.zombie {
				out = append(out, s.ID)
			}
		}
		delete(children, todo[0]) // the table was not read in one moment: no circle holds this up
	}
	return out
}

// Marked are the living processes that were started with a variable in their
// environment, written as NAME=VALUE.
func Marked(mark string) []ID {
	var out []ID
	for _, s := range table() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.PID))
		if err != nil || s.zombie || s.PID == os.Getpid() {
			continue
		}
		if slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool { return string(kv) == mark }) {
			out = append(out, s.ID)
		}
	}
	return out
}

// signal sends to exactly this process, never to a later one of the same number.
func (id ID) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return // it is gone
	}
	defer unix.Close(fd)
	if now, err := Of(id.PID); err == nil && now == id {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0) // it may have ended just now
	}
}

// End ends every process that find finds: it asks all of them to, and after the
// grace time kills what is left, until nothing is. It gives up on what cannot be
// killed, which it then names.
func End(find func() []ID, grace time.Duration) error {
	const patience, step = 10 * time.Second, 5 * time.Millisecond
	begun := time.Now()
	asked := map[ID]bool{}
	for {
		left := find()
		if len(left) == 0 {
			return nil
		}
		waited := time.Since(begun)
		if waited > grace+patience {
			return fmt.Errorf("%d processes cannot be ended, among them %s", len(left), left[0])
		}
		for _, id := range left {
			switch {
			case waited >= grace:
				id.signal(unix.SIGKILL)
			case !asked[id]:
				id.signal(unix.SIGTERM)
				id.signal(unix.SIGCONT) // a stopped one hears nothing
				asked[id] = true
			}
		}
		time.Sleep(step)
	}
}

// Tree is a process and all that descends from it, and what bears a mark.
func Tree(id ID, mark string) []ID {
	var found []ID
	if id.Alive() {
		found = append(under(id.PID), id)
	}
	for _, m := range Marked(mark) {
		if !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	return found
}

// EndTree ends a process and all that descends from it, and what bears a mark.
func EndTree(id ID, mark string, grace time.Duration) error {
	return End(func() []ID { return Tree(id, mark) }, grace)
}

// subreap makes this process the one that adopts whatever its descendants leave.
func subreap() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a child subreaper: %w", err)
	}
	if _, err := Of(os.Getpid()); errors.Is(err, fs.ErrNotExist) {
		return errors.New("/proc is not mounted")
	}
	return nil
}
