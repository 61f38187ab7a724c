package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// progressAfter is how long people wait without wondering.
const progressAfter = 500 * time.Millisecond

// bar shows on a terminal how far a long commit is. Elsewhere it is silent, and so it is
// about short ones, however long the command has been waiting for them.
type bar struct {
	*program
	what string

	mu    sync.Mutex
	begun time.Time // when it was first told of this commit
	done  int
	shown int // percent, -1 for nothing yet
}

func (p *program) progress(what string) *bar {
	return &bar{program: p, what: what, shown: -1}
}

// report draws the bar, if there is somebody to see it and something to see.
func (b *bar) report(done, total int) {
	if !b.errTerm || total <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun.IsZero() || done <= b.done {
		b.begun = time.Now()
	}
	if b.done = done; time.Since(b.begun) < b.patience {
		return
	}
	percent := min(100, 100*done/total)
	if percent == b.shown {
		return
	}
	b.shown = percent
	cells := 30
	if b.width > 0 { // what goes on in the next line could not be taken away
		cells = max(1, min(cells, b.width-len(b.what)-len("    100%")-1))
	}
	full := cells * percent / 100
	fmt.Fprintf(b.stderr, "\r%s  %s%s  %3d%%", b.what, strings.Repeat("█", full), strings.Repeat("░", cells-full), percent)
}

// clear takes the bar away again.
func (b *bar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown >= 0 {
		fmt.Fprint(b.stderr, "\r\x1b[K")
	}
}
