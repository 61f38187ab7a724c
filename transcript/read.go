package transcript

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	maxLine   = 16 << 20 // a longer line is left out
	chunk     = 1 << 20
	printSize = 4 << 10 // bytes at each end by which a file is known again
	maxMeta   = 1 << 20
)

// open opens a plain file for reading and nothing else: what took its name since
// it was found must not make us wait.
func open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	r, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := r.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a plain file", name)
	}
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, info, nil
}

// read goes on with one transcript, or begins anew where it is not the one that
// was read before.
func (x *Index) read(ctx context.Context, root *os.Root, name string, p *meter) error {
	r, info, err := open(root, name)
	if err != nil {
		return err
	}
	defer r.Close()
	f := x.files[name]
	if f != nil {
		f.opened = nil // events that were handed out are not touched again
	}
	if f == nil || info.Size() < f.Read || f.Inode != inode(info) || f.unpack() != nil {
		f = newFile(name)
	} else if print, err := fingerprint(r, f.Read); err != nil || print != f.Print {
		f = newFile(name)
	}
	x.files[name] = f
	f.Inode, f.Size, f.Modified, f.Seen = inode(info), info.Size(), info.ModTime().UnixNano(), time.Now().UnixNano()
	before := f.Read
	err = f.feed(ctx, r, info.Size(), p)
	if f.Read > before || f.Print == "" {
		var perr error
		f.Print, perr = fingerprint(r, f.Read)
		err = errors.Join(err, perr)
	}
	if err != nil {
		f.Size = -1 // look again next time
	}
	if f.Agent != "" {
		f.describe(root)
	}
	if perr := f.pack(); perr != nil {
		delete(x.files, name) // nothing half known is kept
		err = errors.Join(err, perr)
	}
	return err
}

// feed takes in whole lines up to a size. The rest of a line that is still being
// written stays for the next time.
func (f *file) feed(ctx context.Context, r io.ReaderAt, size int64, p *meter) error {
	lines := bufio.NewReaderSize(io.NewSectionReader(r, f.Read, size-f.Read), int(min(chunk, max(size-f.Read, 16))))
	var long []byte // the beginning of a line that is longer than a chunk
	for {
		part, err := lines.ReadSlice('\n')
		p.add(int64(len(part)))
		if len(long)+len(part) > maxLine && !f.Skipping {
			f.Skipping = true
			f.TooLong++
			f.Read += int64(len(long))
			long = nil
		}
		switch {
		case err == nil && f.Skipping:
			f.Skipping = false
			f.Read += int64(len(part))
		case err == nil:
			n := len(long) + len(part)
			if long != nil {
				part = append(long, part...)
				long = nil
			}
			f.line(part)
			f.Read += int64(n)
		case f.Skipping:
			f.Read += int64(len(part))
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// fingerprint is made of the first and the last bytes of what was read. A file
// that was rewritten does not have it any more, even if it has grown.
func fingerprint(r io.ReaderAt, read int64) (string, error) {
	var ends [2 * printSize]byte
	n := min(read, printSize)
	if _, err := r.ReadAt(ends[:n], 0); err != nil {
		return "", err
	}
	if _, err := r.ReadAt(ends[n:2*n], read-n); err != nil {
		return "", err
	}
	sum := sha256.Sum256(ends[:2*n])
	return hex.EncodeToString(sum[:8]), nil
}

// describe reads what the client wrote about a sub-agent. Most have nothing.
func (f *file) describe(root *os.Root) {
	r, _, err := open(root, metaOf(f.Path))
	if err != nil {
		return
	}
	defer r.Close()
	var meta struct {
		Name  string `json:"name"`
		Team  string `json:"teamName"`
		Kind  string `json:"taskKind"`
		Model string `json:"model"`
	}
	if json.NewDecoder(io.LimitReader(r, maxMeta)).Decode(&meta) != nil {
		return // half written, or of another version
	}
	f.Meta = true
	if meta.Kind == "in_process_teammate" {
		f.Member, f.Team = meta.Name, meta.Team
		f.touches(meta.Team)
	}
	if f.Model == "" {
		f.Model = meta.Model
	}
}
