package transcript

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash/crc32"
	"maps"
	"os"
	"slices"
	"strconv"
)

// The index between processes is one text file: a line that names format and
// folder, three lines a transcript (what is known, its events, what was counted),
// and a checksum. It is not synced: what a crash makes of it is noticed, and then
// everything is read again.
const (
	cacheName   = "transcripts.idx"
	cacheFormat = "cadre-transcripts/1"
)

type cacheHead struct {
	Format   string `json:"format"`
	Projects string `json:"projects"`
}

// load takes in what an earlier process knew, all of it or nothing.
func (x *Index) load() {
	root, err := os.OpenRoot(x.state)
	if err != nil {
		return
	}
	defer root.Close()
	data, err := root.ReadFile(cacheName)
	if err != nil {
		return
	}
	if files, ok := x.parse(data); ok {
		x.files = files
	}
}

func (x *Index) parse(data []byte) (map[string]*file, bool) {
	end := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	if string(data[end:]) != checksum(data[:end]) {
		return nil, false
	}
	lines := bytes.Split(data[:end], []byte("\n"))
	var head cacheHead
	if json.Unmarshal(lines[0], &head) != nil || head != (cacheHead{cacheFormat, x.projects}) || len(lines)%3 != 2 {
		return nil, false
	}
	files := map[string]*file{}
	for rest := lines[1 : len(lines)-1]; len(rest) > 0; rest = rest[3:] {
		f := &file{packed: rest[1]}
		if json.Unmarshal(rest[0], f) != nil {
			return nil, false
		}
		spent, err := base64.StdEncoding.DecodeString(string(rest[2]))
		if err != nil {
			return nil, false
		}
		f.spent = spent
		files[f.Path] = f
	}
	return files, true
}

func checksum(data []byte) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE(data)), 16) + "\n"
}

// save writes the index beside the old one and puts it in its place.
func (x *Index) save() error {
	data, err := x.bytes()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(x.state, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(x.state)
	if err != nil {
		return err
	}
	defer root.Close()
	name := cacheName + "." + rand.Text()[:8]
	if err := root.WriteFile(name, data, 0o600); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	if err := root.Rename(name, cacheName); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	x.unsaved = 0
	return nil
}

func (x *Index) bytes() ([]byte, error) {
	head, err := json.Marshal(cacheHead{cacheFormat, x.projects})
	if err != nil {
		return nil, err
	}
	data := append(head, '\n')
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		f := x.files[name]
		known, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		data = append(append(data, known...), '\n')
		data = append(append(data, f.packed...), '\n')
		data = append(base64.StdEncoding.AppendEncode(data, f.spent), '\n')
	}
	return append(data, checksum(data)...), nil
}
