package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// progressAfter is how long people wait without wondering.
const progressAfter = 500 * time.Millisecond

// bar shows on a terminal how far a long commit is. Elsewhere it is silent.
type bar struct {
	*program
	what  string
	begun time.Time

	mu    sync.Mutex
	shown int // percent, -1 for nothing yet
}

func (p *program) progress(what string) *bar {
	return &bar{program: p, what: what, begun: time.Now(), shown: -1}
}

// report draws the bar, if there is somebody to see it and something to see.
func (b *bar) report(done, total int) {
	if !b.errTerm || total <= 0 || time.Since(b.begun) < b.patience {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	percent := min(100, 100*done/total)
	if percent == b.shown {
		return
	}
	b.shown = percent
	const cells = 30
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
