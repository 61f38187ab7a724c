package dirlock

import (
	"fmt"
	"io"

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

// tidy removes the lock that is noted, if it is there: whoever noted it has given
// the queue up without removing it, so it is dead.
func (h *Held) tidy() error {
	text := make([]byte, 2048)
	size, err := h.note.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return err
	}
	var n note
	if _, err := fmt.Sscanf(string(text[:size]), "%d %d %d %q\n", &n.ino, &n.mtime, &n.next, &n.lock); err != nil {
		return nil // nothing noted yet
	}
	there, mode, err := swapfile.Lstat(h.dir, n.lock)
	if err == nil && mode.IsDir() && there.Ino == n.ino && (there.MTime == n.mtime || there.MTime == n.next) {
		return h.takeAway(n.lock, there)
	}
	return nil
}
