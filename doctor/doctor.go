// Package doctor examines Claude Code's own folder of tasks and teams: what in it
// contradicts itself, what the client passes over without a word, and what was
// left behind. It says what the client does with each, mends what can be mended
// without guessing, and can take that back.
//
// Examining writes nothing. Mending first copies every file that it is going to
// touch, then changes each under the client's own lock, and only if it still is
// what was examined. Nothing outside the folder is touched: no link is followed,
// no pipe is opened, no file larger than claudefile.MaxFile is read. A bad file
// never hides the others.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Doctor knows which folder to examine and where to keep copies. The zero values
// of its functions mean this machine.
type Doctor struct {
	Folder string // Claude Code's own, which holds tasks and teams
	State  string // where copies of what is mended go, and the file that locks queue on

	Now func() time.Time

	// Process says whether the process of a team's lead is gone; known is false where
	// that cannot be told, as for one of another machine.
	Process func(Process) (gone, known bool)

	// Panes gives the ids of the panes that tmux has; known is false where that cannot
	// be told.
	Panes func(context.Context) (ids map[string]bool, known bool)

	// Left gives those who left a team and are no client's members: their mail is kept
	// for the time when they come back. Without it nobody is known to have left.
	Left func(ctx context.Context, team string) []string

	// Used gives the largest number that a task of a list ever had; 0 where that is not
	// known. Without it only the files tell.
	Used func(ctx context.Context, list string) uint64
}

// Process is how a config names the process of the team's lead.
type Process struct {
	PID   int    `json:"pid"`
	Space string `json:"pidSpace"`  // the machine and the name space of its pids
	Start string `json:"procStart"` // when it was started, in the kernel's ticks since boot
}

// Finding is one thing that is not as it should be.
type Finding struct {
	Code   string `json:"code"`             // which kind of thing it is
	Place  string `json:"place"`            // the file, below the folder
	What   string `json:"what"`             // what it is
	Client string `json:"client"`           // what Claude Code does with it
	Repair string `json:"repair,omitempty"` // how it is mended; empty where a person must
	Advice string `json:"advice,omitempty"` // what that person can do
}

// Change is one file that mending, or taking that back, changes.
type Change struct {
	Path   string `json:"path"`
	Action string `json:"action"` // what it does with the file
	Why    string `json:"why,omitempty"`
	Done   bool   `json:"done"`
	Left   string `json:"left,omitempty"` // why it was not done
}

// Report is what an examination found and what was done about it.
type Report struct {
	Folder   string    `json:"folder"`
	Lists    int       `json:"lists"`
	Tasks    int       `json:"tasks"`
	Teams    int       `json:"teams"`
	Inboxes  int       `json:"inboxes"`
	Findings []Finding `json:"findings"`          // what is wrong now
	Changes  []Change  `json:"changes,omitempty"` // what was done, or would be
	Backup   string    `json:"backup,omitempty"`  // where the copies are
}

// Healthy says whether nothing is wrong and nothing was left undone.
func (r *Report) Healthy() bool {
	for _, c := range r.Changes {
		if c.Left != "" {
			return false
		}
	}
	return len(r.Findings) == 0
}

// Examine looks at everything in the folder. A folder that is not there is healthy.
func (d *Doctor) Examine(ctx context.Context) (*Report, error) {
	x, err := d.examine(ctx)
	if err != nil {
		return nil, err
	}
	return x.report, nil
}

// exam is one examination.
type exam struct {
	*Doctor
	ctx      context.Context
	root     *os.Root // nil where there is no folder
	report   *Report
	lists    []*list
	teams    []*team
	edits    []edit
	patience time.Duration // how long may still be waited for half-written files
	panes    *panes        // what tmux has, once it was asked
}

// edit is what mending does with one file.
type edit struct {
	path     string
	action   string
	why      string
	old, new []byte
}

// These are what is done with a file.
const (
	write     = "write"     // give it another content
	remove    = "remove"    // remove a file
	rmdir     = "rmdir"     // remove an empty folder
	breakLock = "take away" // remove a lock that was left behind

	// PutBack is the action of every change that takes a fix back.
	PutBack = "put back"
)

func (d *Doctor) examine(ctx context.Context) (*exam, error) {
	x := &exam{Doctor: d, ctx: ctx, report: &Report{Folder: d.Folder, Findings: []Finding{}}, patience: time.Second}
	root, err := os.OpenRoot(d.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the folder of Claude Code: %w", err)
	}
	defer root.Close()
	x.root = root
	x.read()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x.checkTeams()
	x.checkLists()
	x.plan()
	slices.SortStableFunc(x.report.Findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(path.Dir(a.Place), path.Dir(b.Place)),
			compareNames(strings.TrimSuffix(path.Base(a.Place), ".json"), strings.TrimSuffix(path.Base(b.Place), ".json")))
	})
	return x, ctx.Err()
}

// find notes a finding.
func (x *exam) find(code, place, what, client string) *Finding {
	x.report.Findings = append(x.report.Findings, Finding{Code: code, Place: place, What: what, Client: client})
	return &x.report.Findings[len(x.report.Findings)-1]
}

// plan makes edits of what the checks want files to hold.
func (x *exam) plan() {
	for _, l := range x.lists {
		for _, t := range l.inOrder() {
			if t.task != nil {
				x.edit(t.file, t.task.Write(t.data))
			}
		}
	}
	for _, t := range x.teams {
		if t.config != nil {
			x.edit(t.file, t.config.Write(t.data))
		}
	}
}

func (x *exam) edit(f *file, content []byte) {
	if string(content) != string(f.data) {
		x.edits = append(x.edits, edit{path: f.path, action: write, why: f.reasons(), old: f.data, new: content})
	}
}
