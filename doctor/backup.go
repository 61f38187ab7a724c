package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"cadre"
	"cadre/claudefile"
	"cadre/internal/swapfile"
)

// manifest says what a backup holds: under files the content of each file before
// it was mended.
type manifest struct {
	Folder   string     `json:"folder"`
	Made     time.Time  `json:"made"`
	Restored *time.Time `json:"restored,omitempty"` // when all of it was put back
	Files    []kept     `json:"files"`
}

// kept is one file of a backup.
type kept struct {
	Path   string      `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	Before string      `json:"before"`          // SHA-256 of its content
	After  string      `json:"after,omitempty"` // the same when it was mended; empty where it was removed
}

const manifestName = "manifest.json"

// backups is the folder that holds them.
func (d *Doctor) backups() string { return filepath.Join(d.State, "doctor") }

// backUp copies every file that the edits touch, durably, and gives where.
func (d *Doctor) backUp(root *os.Root, x *exam) (string, error) {
	if err := os.MkdirAll(d.backups(), 0o700); err != nil {
		return "", err
	}
	m := manifest{Folder: d.Folder, Made: x.now().UTC().Truncate(time.Millisecond), Files: []kept{}}
	name := filepath.Join(d.backups(), m.Made.Format("20060102-150405.000"))
	dir := name
	err := os.Mkdir(dir, 0o700)
	for n := 2; errors.Is(err, fs.ErrExist); n++ {
		dir = fmt.Sprintf("%s-%d", name, n)
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer to.Close()
	for _, e := range x.edits {
		if e.action != write && e.action != remove {
			continue // a lock or an empty folder says nothing
		}
		info, err := root.Lstat(e.path)
		if err != nil {
			return "", err
		}
		k := kept{Path: e.path, Mode: info.Mode().Perm(), Before: hash(e.old)}
		if e.action == write {
			k.After = hash(e.new)
		}
		if err := save(to, path.Join("files", e.path), e.old); err != nil {
			return "", err
		}
		m.Files = append(m.Files, k)
	}
	return dir, m.save(to)
}

func (m *manifest) save(to *os.Root) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return save(to, manifestName, append(data, '\n'))
}

// save writes a file that is durable on return.
func save(to *os.Root, name string, data []byte) error {
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Restore puts back what a fix changed: that of a backup, or if it is not named of
// the newest that was not put back yet. A file that somebody changed since stays
// as it is. It fails with RuleMissing where there is no such backup.
func (d *Doctor) Restore(ctx context.Context, backup string) (*Report, error) {
	if backup == "" {
		var err error
		if backup, err = d.newest(); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(d.backups(), filepath.Base(backup))
	from, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cadre.Refuse(cadre.RuleMissing, "ls "+d.backups(), "there is no backup %s", filepath.Base(backup))
	}
	if err != nil {
		return nil, err
	}
	defer from.Close()
	m, err := readManifest(from)
	if err != nil {
		return nil, fmt.Errorf("reading the backup %s: %w", dir, err)
	}
	if m.Folder != d.Folder {
		return nil, cadre.Refuse(cadre.RuleValue, "CLAUDE_CONFIG_DIR="+m.Folder+" cadre doctor --restore "+filepath.Base(dir),
			"the backup is of %s, not of %s", m.Folder, d.Folder)
	}
	root, err := os.OpenRoot(d.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var changes []Change
	whole := true
	for _, k := range m.Files {
		c := Change{Path: k.Path, Action: PutBack}
		c.settle(d.putBack(ctx, root, from, k))
		whole = whole && c.Done
		changes = append(changes, c)
	}
	if whole {
		m.Restored = new(time.Now().UTC())
		if err := m.save(from); err != nil {
			return nil, err
		}
	}
	return &Report{Folder: d.Folder, Findings: []Finding{}, Changes: changes, Backup: dir}, nil
}

// newest gives the name of the last backup that was not put back.
func (d *Doctor) newest() (string, error) {
	entries, err := os.ReadDir(d.backups())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range slices.Backward(entries) {
		from, err := os.OpenRoot(filepath.Join(d.backups(), e.Name()))
		if err != nil {
			continue
		}
		m, err := readManifest(from)
		from.Close()
		if err == nil && m.Restored == nil && m.Folder == d.Folder {
			return e.Name(), nil
		}
	}
	return "", cadre.Refuse(cadre.RuleMissing, "cadre doctor", "nothing that was mended in %s can be taken back", d.Folder)
}

func readManifest(from *os.Root) (m manifest, err error) {
	data, err := from.ReadFile(manifestName)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}

// putBack gives one file the content it had, if it has the one that mending gave it.
func (d *Doctor) putBack(ctx context.Context, root, from *os.Root, k kept) error {
	content, err := from.ReadFile(path.Join("files", k.Path))
	if err != nil {
		return err
	}
	if hash(content) != k.Before {
		return errors.New("its copy in the backup is damaged")
	}
	if k.After == "" {
		if err := root.MkdirAll(path.Dir(k.Path), 0o700); err != nil {
			return err
		}
	}
	dir, err := swapfile.Open(root, path.Dir(k.Path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(k.Path)
	return d.locked(ctx, dir, name, func() error {
		now, _, err := swapfile.Read(dir, name, claudefile.MaxFile)
		switch {
		case err == nil && bytes.Equal(now, content):
			return nil
		case k.After == "" && errors.Is(err, fs.ErrNotExist):
			if _, exists, err := swapfile.Create(dir, name, content); err != nil || exists {
				return errors.Join(errChanged, err)
			}
			return dir.Root().Chmod(name, k.Mode)
		case err != nil:
			return err
		case hash(now) != k.After:
			return errChanged
		}
		return exchangeSame(dir, name, now, content)
	})
}
