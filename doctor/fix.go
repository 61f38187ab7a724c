package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cadre/claudefile"
	"cadre/internal/dirlock"
	"cadre/internal/swapfile"
)

// Fix mends what can be mended, and examines again. What it is going to touch it
// copies first; a dry run only says what it would do.
func (d *Doctor) Fix(ctx context.Context, dryRun bool) (*Report, error) {
	x, err := d.examine(ctx)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, e := range x.edits {
		changes = append(changes, Change{Path: e.path, Action: e.action, Why: e.why})
	}
	if dryRun || len(changes) == 0 {
		x.report.Changes = changes
		return x.report, nil
	}
	root, err := os.OpenRoot(d.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	backup, err := d.backUp(root, x)
	if err != nil {
		return nil, fmt.Errorf("copying what is to be mended, before anything was: %w", err)
	}
	for i, e := range x.edits {
		changes[i].settle(d.apply(ctx, root, e))
	}
	after, err := d.Examine(ctx)
	if err != nil {
		return nil, err
	}
	after.Changes, after.Backup = changes, backup
	return after, nil
}

// settle notes how a change went.
func (c *Change) settle(err error) {
	if c.Done = err == nil; !c.Done {
		c.Left = cause(err)
	}
}

var errChanged = errors.New("somebody changed it in the meantime")

// apply does one edit under the client's lock, if the file still is what it was.
func (d *Doctor) apply(ctx context.Context, root *os.Root, e edit) error {
	dir, err := swapfile.Open(root, path.Dir(e.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(e.path)
	switch e.action {
	case breakLock: // whoever takes a lock that was left behind and gives it up has removed it
		return d.locked(ctx, dir, strings.TrimSuffix(name, ".lock"), func() error { return nil })
	case rmdir:
		return dir.Root().Remove(name)
	case remove:
		return d.locked(ctx, dir, name, func() error { return removeSame(dir, name, e.old) })
	}
	return d.locked(ctx, dir, name, func() error { return exchangeSame(dir, name, e.old, e.new) })
}

// locked does something under the lock that the client takes for a file.
func (d *Doctor) locked(ctx context.Context, dir *swapfile.Dir, name string, do func() error) error {
	if name == ".highwatermark" {
		name = ".lock" // it changes under the lock of its list
	}
	lock, err := dirlock.Lock(ctx, dir, name, dirlock.Options{Queue: func() (*os.File, error) {
		return os.OpenFile(filepath.Join(d.backups(), "queue"), os.O_RDWR|os.O_CREATE, 0o600)
	}})
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Release())
}

// exchangeSame gives a file another content, if it has the one that is expected.
// Not every client takes the lock: what one wrote in this moment is put back.
func exchangeSame(dir *swapfile.Dir, name string, old, content []byte) error {
	now, _, err := swapfile.Read(dir, name, claudefile.MaxFile)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return errChanged
	}
	_, was, err := swapfile.Exchange(dir, name, content)
	if err != nil {
		return err
	}
	found, _, err := was.Read(claudefile.MaxFile)
	if err != nil {
		return err // nobody knows what it says: it stays beside its name
	}
	if bytes.Equal(found, old) {
		return was.Done()
	}
	_, ours, err := swapfile.Exchange(dir, name, found)
	if err == nil {
		err = ours.Done()
	}
	return errors.Join(errChanged, err, was.Done())
}

// removeSame removes a file that has the content that is expected.
func removeSame(dir *swapfile.Dir, name string, old []byte) error {
	was, err := swapfile.Remove(dir, name)
	if err != nil {
		return err
	}
	found, _, err := was.Read(claudefile.MaxFile)
	if err != nil {
		return err // as above
	}
	if bytes.Equal(found, old) {
		return was.Done()
	}
	_, exists, err := swapfile.Create(dir, name, found)
	if exists {
		err = fs.ErrExist
	}
	if err != nil {
		return errors.Join(errChanged, err) // as above
	}
	return errors.Join(errChanged, was.Done())
}
