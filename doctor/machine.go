package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// panes is what tmux was asked, once.
type panes struct {
	ids   map[string]bool
	known bool
}

// tmuxPanes asks every tmux server of this user. Where one does not answer nothing
// is known.
func tmuxPanes(ctx context.Context) (map[string]bool, bool) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		return nil, false
	}
	folder := os.Getenv("TMUX_TMPDIR")
	if folder == "" {
		folder = "/tmp"
	}
	sockets, err := filepath.Glob(filepath.Join(folder, "tmux-"+strconv.Itoa(os.Getuid()), "*"))
	if err != nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ids := map[string]bool{}
	for _, socket := range sockets {
		out, err := exec.CommandContext(ctx, tmux, "-S", socket, "list-panes", "-a", "-F", "#{pane_id}").CombinedOutput()
		if err != nil {
			if ctx.Err() == nil && strings.Contains(string(out), "no server running") {
				continue // a socket that its server left behind
			}
			return nil, false
		}
		for _, id := range strings.Fields(string(out)) {
			ids[id] = true
		}
	}
	return ids, true
}
