package sqlitestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cadre"
)

// record is what stands in a head record: JSON, padded to one length so that a
// new one covers the old, and a checksum, because nothing syncs it.
type record struct {
	Scope cadre.Scope `json:"scope"`
	Head  cadre.Head  `json:"head"`
}

const (
	recordSize = 640
	sumSize    = 9 // eight digits and the end of the line
)

// headName is the file name of a scope's head record. Names that differ only in
// case are one file on some systems, so those with capitals get a suffix.
func headName(s cadre.Scope) string {
	low := strings.ToLower(string(s))
	if low == string(s) {
		return low
	}
	sum := sha256.Sum256([]byte(s))
	return low + "=" + hex.EncodeToString(sum[:8])
}

// encodeRecord makes a head record's bytes.
func encodeRecord(s cadre.Scope, h cadre.Head) ([]byte, error) {
	line, err := cadre.EncodeHead(s, h)
	if err != nil {
		return nil, err
	}
	for len(line) < recordSize-sumSize {
		line = append(line, ' ')
	}
	return append(line, checksum(line)...), nil
}

// checksum tells a record that was written whole: the beginning of its hash.
func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:4]) + "\n"
}

// decodeRecord reads a head record, nil for one that is damaged.
func decodeRecord(line []byte) *record {
	if len(line) < sumSize {
		return nil
	}
	body, sum := line[:len(line)-sumSize], line[len(line)-sumSize:]
	var r record
	if string(sum) != checksum(body) || json.Unmarshal(body, &r) != nil {
		return nil
	}
	if r.Head.Seq > maxSeq/2 || max(r.Head.Fence, r.Head.Next) > maxNumber {
		return nil // no log gets there: taking it over would leave this one no room
	}
	return &r
}

// maxNumber is the largest fence or task id that a head record is believed.
const maxNumber = 1 << 53

// heads is a folder of head records.
type heads struct{ root *os.Root }

// read reads the head record of a scope, which is likely to be of a known head. A
// missing or damaged one is nil: it proves nothing.
func (h *heads) read(name cadre.Scope, likely cadre.Head) (*cadre.Head, error) {
	line, err := h.line(headName(name))
	if err != nil {
		return nil, err
	}
	if same, err := encodeRecord(name, likely); err == nil && bytes.Equal(line, same) {
		return &likely, nil // decoding costs a process that does one thing more than this
	}
	r := decodeRecord(line)
	if r == nil || r.Scope != name {
		return nil, nil
	}
	return &r.Head, nil
}

// line reads what stands in a head record, nothing where there is none.
func (h *heads) line(file string) ([]byte, error) {
	if err := plain(h.root, file, false); err != nil {
		return nil, err
	}
	f, err := h.root.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line := make([]byte, 4*recordSize)
	n, err := f.Read(line) // a local file's bytes come all at once
	if err != nil && err != io.EOF {
		return nil, err
	}
	return line[:n], nil
}

// write replaces a head record in place, with one system call: a process that is
// killed leaves the old one or the new one.
func (h *heads) write(name cadre.Scope, head cadre.Head) error {
	line, err := encodeRecord(name, head)
	if err != nil {
		return err
	}
	f, err := h.open(headName(name))
	if err != nil {
		return err
	}
	_, err = f.WriteAt(line, 0)
	return errors.Join(err, f.Close())
}

// open opens a head record to write to it. One that has another name too, in a
// snapshot or planted, is left to that name and begun anew.
func (h *heads) open(file string) (*os.File, error) {
	f, err := h.root.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && links(info) <= 1 {
		return f, nil
	}
	if err := errors.Join(err, f.Close(), h.root.Remove(file)); err != nil {
		return nil, err
	}
	return h.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// remove takes away the record of a name that no longer means a scope.
func (h *heads) remove(name cadre.Scope) error {
	err := h.root.Remove(headName(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// anchors reads every head record there is. One that cannot be read does not hide
// the others.
func (h *heads) anchors() ([]cadre.Anchor, error) {
	dir, err := h.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []cadre.Anchor
	var bad []error
	for _, name := range names {
		line, err := h.line(name)
		if err != nil {
			bad = append(bad, err)
		}
		if r := decodeRecord(line); r != nil && headName(r.Scope) == name {
			all = append(all, cadre.Anchor{Scope: r.Scope, Head: r.Head, From: filepath.Join(h.root.Name(), name), Own: true})
		}
	}
	return all, errors.Join(bad...)
}
