package sqlitestore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"cadre"
)

// beside is a second folder of head records, inside one that other programs use as
// well. What is wrong with it stops no command: it then proves nothing, and an audit
// tells. The zero value keeps none.
type beside struct {
	dir  string // of all stores that share it
	name string // of this store's own folder there
}

// besideOf names the folder of a store. Two stores that share the outer one, also from
// two machines, must not take each other's records for their own.
func besideOf(dir, store string) beside {
	host, _ := os.Hostname() // without one the path alone tells
	sum := sha256.Sum256([]byte(host + "\x00" + store))
	return beside{dir: dir, name: hex.EncodeToString(sum[:8])}
}

// open opens the folder; nil where there is none. Nothing is followed out of the folder
// that the outer one stands in, and that one is not made: whose it is has never run here.
func (b beside) open(create bool) (*heads, error) {
	if b.dir == "" {
		return nil, nil
	}
	parent, err := os.OpenRoot(filepath.Dir(b.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	path := filepath.Join(filepath.Base(b.dir), b.name)
	root, err := parent.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return nil, nil
		}
		if err := parent.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		root, err = parent.OpenRoot(path)
	}
	if err != nil {
		return nil, err
	}
	return &heads{root}, nil
}

// read reads the record of a scope, nil where none can be read.
func (b beside) read(name cadre.Scope, likely cadre.Head) *cadre.Head {
	h, err := b.open(false)
	if h == nil || err != nil {
		return nil
	}
	defer h.root.Close()
	head, err := h.read(name, likely)
	if err != nil {
		return nil
	}
	return head
}

// write replaces the record of a scope, if it can.
func (b beside) write(name cadre.Scope, head cadre.Head) {
	h, err := b.open(true)
	if h == nil || err != nil {
		return
	}
	defer h.root.Close()
	if plain(h.root, headName(name), false) == nil {
		_ = h.write(name, head)
	}
}

// remove takes away the record of a name that no longer means a scope, if it can.
func (b beside) remove(name cadre.Scope) {
	h, err := b.open(false)
	if h == nil || err != nil {
		return
	}
	defer h.root.Close()
	_ = h.remove(name)
}

// anchors gives every record there is.
func (b beside) anchors() ([]cadre.Anchor, error) {
	h, err := b.open(false)
	if h == nil || err != nil {
		return nil, err
	}
	defer h.root.Close()
	return h.anchors()
}
