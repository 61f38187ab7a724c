package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// file is a plain file that was read.
type file struct {
	path string
	data []byte
	why  []string // what is to be mended in it
}

func (f *file) mend(format string, args ...any) string {
	how := fmt.Sprintf(format, args...)
	f.why = append(f.why, how)
	return how
}

func (f *file) reasons() string { return strings.Join(f.why, "; ") }

// list is a folder of task files.
type list struct {
	folder string
	tasks  map[string]*taskFile // by file name without .json
	mark   *file                // .highwatermark, nil where there is none
}

// taskFile is a task file, with the task as it should be.
type taskFile struct {
	*file
	name string
	task *claudefile.Task // nil where it is no JSON object
}

// visible says whether the client sees the task, or will when it is mended.
func (t *taskFile) visible() bool { return t != nil && t.task != nil && t.task.Invisible == "" }

// inOrder gives the tasks by their numbers, then the others by name.
func (l *list) inOrder() []*taskFile {
	var all []*taskFile
	for _, t := range l.tasks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *taskFile) int { return compareNames(a.name, b.name) })
	return all
}

// compareNames orders numbers by their value, before everything else.
func compareNames(a, b string) int {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// team is a folder with a config, with inboxes, or with both.
type team struct {
	folder    string
	*file                        // config.json, nil where there is none
	config    *claudefile.Config // as it should be; nil where it cannot be read
	hasConfig bool               // there is one, readable or not
	leadGone  bool
	elsewhere bool // its lead's process belongs to another machine, or to nobody knows which
	inboxes   []*inbox
}

type inbox struct {
	*file
	name    string
	entries []claudefile.Entry
}

// read reads the whole folder and notes what cannot be read.
func (x *exam) read() {
	for _, name := range x.folders("tasks") {
		x.readList(name)
	}
	for _, name := range x.folders("teams") {
		if strings.Contains(name, ".deleted-") {
			x.leftoverTeam(path.Join("teams", name))
			continue
		}
		x.readTeam(name)
	}
}

// folders gives the names of the folders in a folder.
func (x *exam) folders(folder string) (names []string) {
	x.each(folder, func(_ *swapfile.Dir, e fs.DirEntry) {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	})
	return names
}

// each gives what is in a folder, by name. What is neither file nor folder is
// noted, and so are names that only case tells apart.
func (x *exam) each(folder string, look func(*swapfile.Dir, fs.DirEntry)) {
	if x.ctx.Err() != nil {
		return
	}
	dir, err := swapfile.Open(x.root, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		x.unreadable(folder, err)
		return
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.Root().FS(), ".")
	if err != nil {
		x.unreadable(folder, err)
	}
	spelled := map[string]string{}
	for _, e := range entries {
		place := path.Join(folder, e.Name())
		if !e.IsDir() && !e.Type().IsRegular() {
			x.unreadable(place, swapfile.ErrIrregular)
			continue
		}
		if other, clash := spelled[strings.ToLower(e.Name())]; clash {
			x.find("case-clash", place, fmt.Sprintf("its name and %s differ only by case", other),
				"takes them for two here, and for one on macOS and Windows").
				Advice = "rename one of them before this folder is copied to such a machine"
		}
		spelled[strings.ToLower(e.Name())] = e.Name()
		look(dir, e)
	}
}

// unreadable notes what was not read, and why.
func (x *exam) unreadable(place string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone since it was listed
	case errors.Is(err, swapfile.ErrIrregular):
		x.find("irregular", place, "it is neither a plain file nor a plain folder but a link, a pipe or a device",
			"follows a link wherever it leads, and may wait for ever for a pipe").Advice = "look where it leads, and put a plain file in its place"
	case errors.Is(err, swapfile.ErrTooLarge):
		x.find("too-large", place, fmt.Sprintf("it has more than %d MiB", claudefile.MaxFile>>20),
			"reads and writes all of it each time").Advice = "move it away, and look who wrote it"
	default:
		x.find("unreadable", place, "it cannot be read: "+cause(err), "passes over it").Advice = "give yourself the right to read it"
	}
}

func cause(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}

// load reads a file in a folder that is being listed.
func (x *exam) load(dir *swapfile.Dir, folder, name string) (*file, swapfile.Stamp, bool) {
	data, stamp, err := swapfile.Read(dir, name, claudefile.MaxFile)
	if err != nil {
		x.unreadable(path.Join(folder, name), err)
		return nil, stamp, false
	}
	return &file{path: path.Join(folder, name), data: data}, stamp, true
}

// parse reads a file as what it should be. The client writes in place, so a fresh
// file that does not parse may be half of one: it is read again for a while.
func parse[T any](x *exam, dir *swapfile.Dir, folder, name string, as func([]byte) (T, error)) (f *file, value T, err error) {
	for {
		f, stamp, ok := x.load(dir, folder, name)
		if !ok {
			return nil, value, nil
		}
		value, err = as(f.data)
		const pause = 50 * time.Millisecond
		if err == nil || x.patience < pause || x.now().Sub(time.Unix(0, stamp.MTime)).Abs() > 2*time.Second {
			return f, value, err
		}
		x.patience -= pause
		time.Sleep(pause)
	}
}

func (x *exam) now() time.Time {
	if x.Now != nil {
		return x.Now()
	}
	return time.Now()
}

func (x *exam) readList(name string) {
	l := &list{folder: path.Join("tasks", name), tasks: map[string]*taskFile{}}
	x.report.Lists++
	x.lists = append(x.lists, l)
	x.each(l.folder, func(dir *swapfile.Dir, e fs.DirEntry) {
		base, isTask := strings.CutSuffix(e.Name(), ".json")
		switch {
		case x.leftover(dir, l.folder, e):
		case e.Name() == ".highwatermark":
			l.mark, _, _ = x.load(dir, l.folder, e.Name())
		case !isTask || e.IsDir():
		default:
			f, task, err := parse(x, dir, l.folder, e.Name(), claudefile.ReadTask)
			if f == nil {
				return
			}
			x.report.Tasks++
			l.tasks[base] = &taskFile{file: f, name: base, task: task}
			if err != nil {
				x.find("task-broken", f.path, "it is no JSON object: "+err.Error(), "does not see the task, and says nothing").
					Advice = "write it again, or remove the file"
			}
		}
	})
}

func (x *exam) readTeam(name string) {
	t := &team{folder: path.Join("teams", name)}
	x.report.Teams++
	x.teams = append(x.teams, t)
	if _, err := x.root.Lstat(path.Join(t.folder, "config.json")); err == nil {
		t.hasConfig = true
	}
	x.each(t.folder, func(dir *swapfile.Dir, e fs.DirEntry) {
		if x.leftover(dir, t.folder, e) || e.Name() != "config.json" || e.IsDir() {
			return
		}
		var err error
		t.file, t.config, err = parse(x, dir, t.folder, e.Name(), claudefile.ReadConfig)
		if err != nil {
			x.find("config-broken", t.path, "it is no JSON object: "+err.Error(), "acts as if there were no team").
				Advice = "write it again, or remove the team's folder"
		}
	})
	folder := path.Join(t.folder, "inboxes")
	x.each(folder, func(dir *swapfile.Dir, e fs.DirEntry) {
		base, isInbox := strings.CutSuffix(e.Name(), ".json")
		if x.leftover(dir, folder, e) || !isInbox || e.IsDir() {
			return
		}
		f, entries, err := parse(x, dir, folder, e.Name(), claudefile.ReadInbox)
		if f == nil {
			return
		}
		x.report.Inboxes++
		if err != nil {
			x.find("inbox-broken", f.path, "it is no JSON array: "+err.Error(), "2.1.50 takes it for empty, and its next write removes what is in it").
				Advice = "mend it by hand, or write [] into it"
			return
		}
		t.inboxes = append(t.inboxes, &inbox{f, base, entries})
	})
}

// staleAfter is the age past which the client takes a lock for one left behind.
const staleAfter = 10 * time.Second

// temporary says whether a name is that of a file which a client is making. A
// regular expression would have to be compiled at every start of the program.
func temporary(name string) bool {
	i := strings.LastIndex(name, ".tmp.")
	return i >= 0 && len(name)-i == len(".tmp.")+8 && strings.Trim(name[i+len(".tmp."):], "0123456789abcdef") == ""
}

// leftover deals with what is no content: locks, and files in the making.
func (x *exam) leftover(dir *swapfile.Dir, folder string, e fs.DirEntry) bool {
	isLock := strings.HasSuffix(e.Name(), ".lock") && e.Name() != ".lock"
	if !isLock && !temporary(e.Name()) {
		return false
	}
	place := path.Join(folder, e.Name())
	stamp, _, err := swapfile.Lstat(dir, e.Name())
	if err != nil {
		return true // given up in this moment
	}
	age := x.now().Sub(time.Unix(0, stamp.MTime))
	switch {
	case isLock && !e.IsDir():
		x.find("lock-stuck", place, "it is a file where a lock is a folder", "can never take this lock, and fails each time").
			Advice = "remove it"
	case age.Abs() <= staleAfter: // in use
	case isLock && x.hasContent(dir, e.Name()):
		x.find("lock-stuck", place, "it is a lock that was left behind, and there are files in it",
			"can never take this lock, and fails each time").Advice = "look at what is in it, and remove it"
	case isLock:
		f := x.find("lock-stale", place, fmt.Sprintf("it is a lock that was left behind, %s old", age.Round(time.Second)),
			"takes the lock over when it needs it")
		if age < 0 {
			f.Code, f.What = "lock-stuck", fmt.Sprintf("it is a lock that is dated %s into the future", (-age).Round(time.Second))
			f.Client = "cannot take this lock before that, and fails each time"
		}
		f.Repair = "it is taken away"
		x.edits = append(x.edits, edit{path: place, action: breakLock, why: "nobody holds the lock"})
	case !e.IsDir():
		if f, _, ok := x.load(dir, folder, e.Name()); ok {
			x.find("leftover-file", place, "it is a file in the making whose writer is gone", "never looks at it").
				Repair = f.mend("it is removed")
			x.edits = append(x.edits, edit{path: place, action: remove, why: f.reasons(), old: f.data})
		}
	}
	return true
}

func (x *exam) hasContent(dir *swapfile.Dir, name string) bool {
	entries, err := fs.ReadDir(dir.Root().FS(), name)
	return err != nil || len(entries) > 0
}
