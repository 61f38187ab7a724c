// Package sqlitestore keeps scopes in one SQLite database in a folder, for any
// number of processes of one machine. It is the store of every command that a
// person or an agent types, so opening it, one durable commit and leaving again
// is what it is fast at.
//
// In the folder are
//
//	cadre.db      the database, with cadre.db-wal and cadre.db-shm
//	cadre.lock    where writing processes queue; never removed
//	heads/NAME    where the log of a scope stood at the last commit
//
// and, where Beside names one, the same records in a second folder, which does not
// go back to yesterday with this one.
//
// The event table is the log and cannot be changed through SQL; the other tables
// are made of it in the same transaction. The head records are written after the
// commit: a log that is behind its record was cut or restored from a backup, and
// the next command opens a new epoch that says so.
//
// A Store may be used by any number of goroutines. Commands that wait share a
// transaction. Readers never wait for writers.
package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"cadre"
	"cadre/internal/flock"
	"cadre/internal/netfs"
	"cadre/internal/sqlite"
)

const (
	dbName    = "cadre.db"
	lockName  = "cadre.lock"
	headsName = "heads"
)

// Store is a cadre.Store in a folder. Use Open.
type Store struct {
	dir        string
	root       *os.Root
	heads      *heads
	beside     beside
	lock       *flock.Lock // held by whoever leads the queue
	creating   *flock.Lock // the same lock, for whoever opens a connection
	migrations []string
	brief      bool
	queue      queue
	signals    signals
	recent     recent
	objects    objects
	watch      watch
	known      known

	opening chan struct{}   // holds one while the first connection is made
	ending  context.Context // ends with Close
	end     context.CancelFunc

	mu     sync.Mutex
	idle   []*sqlite.Conn
	ready  bool // the database has this program's version
	closed bool
}

var (
	_ cadre.Store    = (*Store)(nil)
	_ cadre.Auditor  = (*Store)(nil)
	_ cadre.Backuper = (*Store)(nil)
)

// Option is a choice for Open.
type Option func(*Store)

// Brief is for a process that does one thing and ends. Its Close leaves the
// connection to the end of the process: the last to close a database otherwise
// moves everything from the write-ahead log into it, which was 0.3 to 0.4 ms of
// the 4.5 that adding a task takes. Now and then it is moved all the same, so
// that the next process has little to read.
func Brief() Option { return func(s *Store) { s.brief = true } }

// Beside keeps the head records in a folder elsewhere too: whoever puts the whole
// folder of the store back as it was yesterday puts its own records back with it.
// The folder stands in one that must be there, and is made with the first record;
// any number of stores can share it. An empty name is no folder.
func Beside(dir string) Option { return func(s *Store) { s.beside = besideOf(dir, s.dir) } }

// Open opens the store in a folder, which it creates. The database itself is
// first looked at when it is needed, so that a damaged one can still be audited.
func Open(dir string, options ...Option) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, cadre.Fault(err, "cadre audit verify", "finding the state folder")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, cadre.Fault(err, "ls -ld "+filepath.Dir(dir), "creating the state folder %s", dir)
	}
	if name, err := netfs.Name(dir); err != nil || name != "" {
		if err == nil {
			err = errors.New("its locks cannot be relied on")
		}
		return nil, cadre.Fault(err, "export CADRE_STATE_DIR=/a/folder/on/a/local/disk", "%s is on a network file system (%s)", dir, name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cadre.Fault(err, "ls -ld "+dir, "opening the state folder")
	}
	if err := private(root); err != nil {
		root.Close()
		return nil, err
	}
	s := &Store{dir: dir, root: root, migrations: migrations(), opening: make(chan struct{}, 1)}
	s.ending, s.end = context.WithCancel(context.Background())
	for _, o := range options {
		o(s)
	}
	s.lock, s.creating = flock.New(s.openLock), flock.New(s.openLock)
	if err := s.prepare(); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

// private refuses a folder that is not the caller's own: who owns it is the operator,
// and what others can write to proves nothing.
func private(root *os.Root) error {
	info, err := root.Stat(".")
	switch {
	case err != nil:
		return cadre.Fault(err, "ls -ld "+root.Name(), "looking at the state folder")
	case !ownedBy(info, os.Geteuid()):
		return cadre.Fault(nil, "export CADRE_STATE_DIR=/a/folder/of/your/own", "the state folder %s belongs to another user", root.Name())
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0:
		return cadre.Fault(nil, "chmod 700 "+root.Name(), "everybody can write to the state folder %s", root.Name())
	}
	return nil
}

// prepare makes the folder's own files, and refuses what could lead outside.
func (s *Store) prepare() error {
	for _, name := range []string{dbName, dbName + "-wal", dbName + "-shm", lockName, headsName} {
		if err := plain(s.root, name, name == headsName); err != nil {
			return s.fault(err, "looking at "+name)
		}
	}
	if err := s.root.Mkdir(headsName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return s.fault(err, "creating the folder of head records")
	}
	records, err := s.root.OpenRoot(headsName)
	if err != nil {
		return s.fault(err, "opening the folder of head records")
	}
	f, err := s.root.OpenFile(dbName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		records.Close()
		return s.fault(err, "creating the database")
	}
	s.heads = &heads{records}
	return nil
}

// plain refuses a name under which something else than a file or folder stands.
func plain(root *os.Root, name string, folder bool) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && !folder || info.IsDir() && folder {
		return nil
	}
	path := filepath.Join(root.Name(), name)
	return cadre.Fault(nil, "ls -l "+path, "%s is a %s and must not be: remove it", path, describe(info.Mode()))
}

func describe(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m.IsDir():
		return "folder"
	case m.IsRegular():
		return "file"
	}
	return "special file"
}

func (s *Store) openLock() (*os.File, error) {
	if err := plain(s.root, lockName, false); err != nil {
		return nil, err
	}
	return s.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
}
