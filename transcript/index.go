package transcript

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	suffix   = ".jsonl"
	maxDepth = 6 // folders below the projects folder that are looked into
	// rewriteAfter is how much may be read again by the next process before the
	// index is written anew: a short tail is read faster than all is written.
	rewriteAfter = 1 << 20
)

// Index knows the transcripts below one projects folder. Its methods may be called
// by many goroutines.
type Index struct {
	mu       sync.Mutex
	projects string
	state    string
	files    map[string]*file
	unsaved  int64 // bytes read since the index was written
	seen     *view // what follows from all files; nil after a change
	unread   int   // transcripts that could not be opened
}

// Open makes the index of a projects folder, which need not exist. What an earlier
// process knew is taken from the state folder; without one nothing is kept. Nothing
// is read yet: call Update.
func Open(projects, state string) *Index {
	x := &Index{projects: projects, state: state, files: map[string]*file{}}
	if state != "" {
		x.load()
	}
	return x
}

// Update reads what was written since the last time. progress, where there is one,
// is told now and then how many bytes of how many are read. When the context ends,
// what was read until then is kept. An error means that the folder itself could
// not be read; a transcript that cannot be is left out and counted (see Health).
func (x *Index) Update(ctx context.Context, progress func(done, total int64)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	root, err := os.OpenRoot(x.projects)
	if errors.Is(err, fs.ErrNotExist) {
		x.forget(nil)
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	found, err := find(ctx, root)
	if err != nil {
		return err
	}
	x.forget(found)
	changed, total := x.changed(found)
	p := &meter{report: progress, total: total}
	x.unread = 0
	for _, name := range changed {
		if err = ctx.Err(); err != nil {
			break
		}
		x.seen = nil
		if x.read(ctx, root, name, p) != nil {
			x.unread++
		}
	}
	p.end()
	x.unsaved += p.done
	if x.state != "" && (x.unsaved > rewriteAfter || err != nil && x.unsaved > 0) {
		if err := x.save(); err != nil {
			return err
		}
	}
	return err
}

// Close writes the index down, if anything was read since it was written. Who does
// not call it loses little: Update does so by itself when much was read.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == "" || x.unsaved == 0 {
		return nil
	}
	return x.save()
}

// find lists the transcripts. Links are not followed, and what is not a plain file
// is not one; a folder that cannot be read hides only itself.
func find(ctx context.Context, root *os.Root) (map[string]fs.FileInfo, error) {
	found := map[string]fs.FileInfo{}
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if name == "." {
				return err
			}
			return fs.SkipDir
		}
		if d.IsDir() && strings.Count(name, "/") >= maxDepth {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && strings.HasSuffix(name, suffix) && strings.Contains(name, "/") {
			if info, err := d.Info(); err == nil { // else it is gone again
				found[name] = info
			}
		}
		return nil
	})
	return found, err
}

// forget drops what is not there any more.
func (x *Index) forget(found map[string]fs.FileInfo) {
	for name := range x.files {
		if _, ok := found[name]; !ok {
			delete(x.files, name)
			x.seen = nil
			x.unsaved++
		}
	}
}

// changed lists the files that need reading, and how many bytes that may be. Those
// written last come first: who has little time asks about the present. A file whose time of change is too near to the moment it was looked at is
// looked at again: it may have changed without a trace.
func (x *Index) changed(found map[string]fs.FileInfo) (names []string, total int64) {
	for name, info := range found {
		f := x.files[name]
		if f != nil && f.Size == info.Size() && f.Modified == info.ModTime().UnixNano() && f.Inode == inode(info) &&
			time.Duration(f.Seen-f.Modified) > 2*time.Second {
			continue
		}
		names = append(names, name)
		total += info.Size()
		if f != nil && f.Read <= info.Size() {
			total -= f.Read
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(found[b].ModTime().Compare(found[a].ModTime()), cmp.Compare(a, b))
	})
	return names, total
}

// Last is when a transcript was last written to.
func (x *Index) Last() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	var last int64
	for _, f := range x.files {
		last = max(last, f.Modified)
	}
	return time.Unix(0, last)
}

// Health says what could not be read.
type Health struct {
	Files   int `json:"files"`
	Unread  int `json:"unread"`  // files that could not be opened
	TooLong int `json:"tooLong"` // lines that were left out for their length
	Garbage int `json:"garbage"` // lines that are not JSON
	Dropped int `json:"dropped"` // events beyond what is kept of one file
}

// Health sums up what could not be read.
func (x *Index) Health() Health {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := Health{Files: len(x.files), Unread: x.unread}
	for _, f := range x.files {
		h.TooLong += f.TooLong
		h.Garbage += f.Garbage
		h.Dropped += f.Dropped
	}
	return h
}

// meter reports progress, not too often.
type meter struct {
	report      func(done, total int64)
	done, total int64
	told        int64
}

func (m *meter) add(n int64) {
	m.done += n
	if m.report != nil && m.done-m.told >= 4<<20 {
		m.told = m.done
		m.report(m.done, max(m.total, m.done))
	}
}

func (m *meter) end() {
	if m.report != nil && m.done > m.told {
		m.report(m.done, max(m.total, m.done))
	}
}

// metaOf is the name of the file in which newer clients describe a sub-agent.
func metaOf(name string) string {
	return path.Join(path.Dir(name), strings.TrimSuffix(path.Base(name), suffix)+".meta.json")
}
