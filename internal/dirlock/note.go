package dirlock

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"cadre/internal/swapfile"
)

// note is what stands in the queue's file: which folder was put in place last. It
// is written before the folder has its place, or its next modification time, and
// need not be cleared: no other folder will have both its number and its time.
type note struct {
	lock        string
	ino         uint64
	mtime, next int64 // one of them
}

func (h *Held) write(n note) error {
	_, err := h.note.WriteAt(fmt.Appendf(nil, "%d %d %d %q\n", n.ino, n.mtime, n.next, n.lock), 0)
	return err
}

// readNote reads what write wrote; what a longer note left behind it says nothing.
func readNote(text string) (note, bool) {
	line, _, whole := strings.Cut(text, "\n")
	words := strings.SplitN(line, " ", 4)
	if !whole || len(words) < 4 {
		return note{}, false
	}
	ino, err1 := strconv.ParseUint(words[0], 10, 64)
	mtime, err2 := strconv.ParseInt(words[1], 10, 64)
	next, err3 := strconv.ParseInt(words[2], 10, 64)
	lock, err4 := strconv.Unquote(words[3])
	return note{lock, ino, mtime, next}, errors.Join(err1, err2, err3, err4) == nil
}

// tidy removes the lock that is noted, if it is there: whoever noted it has given
// the queue up without removing it, so it is dead.
func (h *Held) tidy() error {
	text := make([]byte, 2048)
	size, err := h.note.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return err
	}
	n, ok := readNote(string(text[:size]))
	if !ok {
		return nil // nothing noted yet
	}
	there, mode, err := swapfile.Lstat(h.dir, n.lock)
	if err == nil && mode.IsDir() && there.Ino == n.ino && (there.MTime == n.mtime || there.MTime == n.next) {
		return h.takeAway(n.lock, there)
	}
	return nil
}
