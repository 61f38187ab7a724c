package claudedir

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

const configName = "config.json"

// teamFiles is the team's side of a pass: its own file and the inboxes.
type teamFiles struct {
	dir, boxes *swapfile.Dir
	second     *swapfile.Dir // inboxes that a client put beside the team under another spelling of its name

	config  *claudefile.Config            // as somebody else wrote it
	inboxes map[string][]claudefile.Entry // those that somebody else wrote to
	astray  map[string][]claudefile.Entry // the same, among the second ones
	slots   map[string]slot               // how these files look, to be remembered once they are taken in

	touched map[string]bool // files that are to be compared with the log
	wants   *teamWanted
}

// teamWanted is what the team's files are to say.
type teamWanted struct {
	team    *cadre.Team
	members []*cadre.Member
	epoch   string
	inboxes map[string]*inboxWanted
	config  bool
}

func (t *teamFiles) close() {
	for _, d := range []*swapfile.Dir{t.dir, t.boxes, t.second} {
		if d != nil {
			d.Close()
		}
	}
}

// found says whether somebody else wrote something.
func (t *teamFiles) found() bool { return t.config != nil || len(t.inboxes)+len(t.astray) > 0 }

// openTeam opens the team's folder and its inboxes; with create they are made. A
// team's folder that had been there was taken away, which is taken in before
// anything else is written.
func (p *pass) openTeam(create bool) (err error) {
	t, folder := &p.team, "teams/"+string(p.scope)
	if p.aliasOf(p.scope) != "" {
		return nil // these are the inboxes of the team whose name it is
	}
	if create && !p.mem.Team {
		if err := p.root.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if create {
		if err := p.root.Mkdir(folder+"/inboxes", 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return absent(err)
		}
	}
	if t.dir == nil {
		if t.dir, err = swapfile.Open(p.root, folder); err != nil {
			return absent(err)
		}
	}
	if t.boxes != nil {
		return nil
	}
	if t.boxes, err = swapfile.Open(p.root, folder+"/inboxes"); absent(err) != nil {
		return err
	}
	if other := p.boxes(); other != string(p.scope) {
		boxes, err := swapfile.Open(p.root, "teams/"+other+"/inboxes")
		if err != nil {
			return absent(err)
		}
		t.second, t.boxes = t.boxes, boxes
	}
	return nil
}

// boxes is the folder of the team's inboxes. It stands in the team's own file, which
// is long where there are many members, so it is remembered.
func (p *pass) boxes() string {
	known := p.mem.Files[configName]
	stamp, err := swapfile.Stat(p.team.dir, configName)
	if err != nil || !known.current(stamp) {
		return p.boxFolder(p.scope)
	}
	if p.mem.BoxesOf != known.Hash {
		p.mem.Boxes, p.mem.BoxesOf = p.boxFolder(p.scope), known.Hash
	}
	return p.mem.Boxes
}

// absent makes nothing of the error that something is not there.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lookAtTeam looks at the team's file and its inboxes.
func (p *pass) lookAtTeam() error {
	if err := p.openTeam(false); err != nil || p.team.dir == nil {
		return err
	}
	if err := p.lookAtConfig(); err != nil {
		return err
	}
	if err := swapfile.Sweep(p.team.dir, leftover, nil); err != nil { // its file says nothing that a client would not say again
		return err
	}
	if p.team.boxes == nil {
		return nil
	}
	for _, dir := range []*swapfile.Dir{p.team.boxes, p.team.second} {
		if dir == nil {
			continue
		}
		names, err := namesIn(dir)
		if err == nil && slices.ContainsFunc(names, swapfile.Leftover) {
			err = p.sweepInboxes(dir)
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if box, ok := inboxName(name); ok {
				if err := p.lookAtInbox(dir, box); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// inboxName gives whose inbox a file is. Names that no client would make are none.
func inboxName(file string) (string, bool) {
	name, ok := strings.CutSuffix(file, ".json")
	return name, ok && name != "" && name == claudefile.ListFolder(name)
}

// namesIn reads a folder.
func namesIn(dir *swapfile.Dir) ([]string, error) {
	f, err := dir.Root().Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// changed reads a file of the team if it is not as it is remembered.
func (p *pass) changed(dir *swapfile.Dir, name, key string) ([]byte, slot, error) {
	known := p.mem.Files[key]
	stamp, err := swapfile.Stat(dir, name)
	if err != nil || known.current(stamp) {
		return nil, known, unreadable(err)
	}
	saw := p.wall() // before, because it may be written again while we stand still after
	data, stamp, err := swapfile.Read(dir, name, claudefile.MaxFile)
	if err != nil {
		return nil, known, unreadable(err)
	}
	now := slot{Stamp: stamp, Saw: saw, Hash: hashOf(data), Mark: here}
	if known.Mark&here != 0 && known.Hash == now.Hash {
		set(&p.mem.Files, key, now)
		return nil, now, nil
	}
	return data, now, nil
}

// unreadable makes nothing of a file that is not there or that nobody should read.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, swapfile.ErrIrregular) || errors.Is(err, swapfile.ErrTooLarge) ||
		errors.Is(err, swapfile.ErrChanging) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

func (p *pass) lookAtConfig() error {
	data, now, err := p.changed(p.team.dir, configName, configName)
	if err != nil || data == nil {
		return err
	}
	if c, err := claudefile.ReadConfig(data); err == nil && c.Name != "" {
		p.team.config = c
		p.noteFile(configName, now)
	}
	return nil
}

func (p *pass) lookAtInbox(dir *swapfile.Dir, name string) error {
	key := inboxKey(name)
	if dir == p.team.second {
		key = "astray/" + name
	}
	data, now, err := p.changed(dir, name+".json", key)
	if err != nil || data == nil {
		return err
	}
	entries, err := claudefile.ReadInbox(data)
	if err != nil {
		return nil // somebody is in the middle of writing it
	}
	into := &p.team.inboxes
	if dir == p.team.second {
		into = &p.team.astray
	}
	if *into == nil {
		*into = map[string][]claudefile.Entry{}
	}
	(*into)[name] = entries
	p.noteFile(key, now)
	return nil
}

func inboxKey(name string) string { return "inboxes/" + name }

func (p *pass) noteFile(key string, s slot) {
	if p.team.slots == nil {
		p.team.slots = map[string]slot{}
	}
	p.team.slots[key] = s
	p.team.touch(key)
}

// touch has a file compared with the log.
func (t *teamFiles) touch(key string) {
	if t.touched == nil {
		t.touched = map[string]bool{}
	}
	t.touched[key] = true
}
