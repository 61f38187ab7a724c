package transcript

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func appendTo(t testing.TB, path string, content []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func update(t testing.TB, x *Index) (read int64) {
	t.Helper()
	if err := x.Update(t.Context(), func(done, _ int64) { read = done }); err != nil {
		t.Fatal(err)
	}
	return read
}

// known is all that an index knows, as text, but for when files were looked at.
func known(t testing.TB, x *Index) string {
	t.Helper()
	for _, f := range x.files {
		f.Seen, f.Inode, f.Modified = 0, 0, 0
	}
	x.projects = ""
	data, err := x.bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Files that grow in pieces of any size are read as if they had come at once,
// whether one process follows them or each piece is read by another.
func TestPiecesMakeTheWhole(t *testing.T) {
	whole := map[string][]byte{}
	root := os.DirFS("testdata/v50-lifecycle/projects")
	for _, run := range []string{"v50-lifecycle", "new-lifecycle", "new-panes", "v50-plan-mode"} {
		root = os.DirFS("testdata/" + run + "/projects")
		err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				whole[name], err = fs.ReadFile(root, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for name, data := range whole {
		write(t, dir, name, string(data))
	}
	want := known(t, index(t, dir))
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		dir, state := t.TempDir(), t.TempDir()
		one, rest := Open(dir, ""), maps.Clone(whole)
		for len(rest) > 0 {
			for _, name := range slices.Sorted(maps.Keys(rest)) {
				n := min(r.IntN(9000), len(rest[name]))
				if strings.HasSuffix(name, ".meta.json") {
					n = len(rest[name])
				}
				if n == 0 && len(rest[name]) > 0 {
					continue
				}
				write(t, dir, name, string(whole[name][:len(whole[name])-len(rest[name])+n]))
				if rest[name] = rest[name][n:]; len(rest[name]) == 0 {
					delete(rest, name)
				}
			}
			update(t, one)
			other := Open(dir, state)
			update(t, other)
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got := known(t, one); got != want {
			t.Fatalf("seed %d: one process knows\n%s\nwant\n%s", seed, got, want)
		}
		if got := known(t, Open(dir, state)); got != want {
			t.Fatalf("seed %d: many processes know\n%s\nwant\n%s", seed, got, want)
		}
	}
}

const lineA = `{"type":"assistant","uuid":"u1","timestamp":"2026-11-15T01:00:00.000Z","sessionId":"s","message":{"id":"m1","usage":{"input_tokens":3,"output_tokens":4}}}` + "\n"

func spentBy(x *Index) (sum Tokens) {
	for _, a := range x.Agents() {
		sum = sum.Plus(a.Own)
	}
	return sum
}

// settle makes a file older than the moment in which changes are mistrusted.
func settle(t testing.TB, path string) {
	t.Helper()
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyWhatIsNewIsRead(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	p := write(t, dir, "p/s.jsonl", lineA)
	settle(t, p)
	x := Open(dir, state)
	if n := update(t, x); n != int64(len(lineA)) {
		t.Errorf("%d bytes were read, want %d", n, len(lineA))
	}
	if n := update(t, x); n != 0 {
		t.Errorf("%d bytes were read again", n)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	more := strings.ReplaceAll(lineA, "m1", "m2")
	appendTo(t, p, []byte(more))
	y := Open(dir, state)
	if n := update(t, y); n != int64(len(more)) {
		t.Errorf("a later process read %d bytes, want %d", n, len(more))
	}
	if got := spentBy(y); got != (Tokens{Input: 6, Output: 8}) {
		t.Errorf("spent %+v", got)
	}
}

func TestHalfALineWaits(t *testing.T) {
	dir := t.TempDir()
	p := write(t, dir, "p/s.jsonl", lineA+lineA[:40])
	x := index(t, dir)
	if f := x.files["p/s.jsonl"]; f.Read != int64(len(lineA)) || f.Garbage != 0 {
		t.Errorf("%d bytes were taken in, with %d broken lines", f.Read, f.Garbage)
	}
	appendTo(t, p, []byte(strings.ReplaceAll(lineA, "m1", "m2")[40:]))
	update(t, x)
	if got := spentBy(x); got.Input != 6 {
		t.Errorf("spent %+v", got)
	}
}

// A transcript that is not the one that was read is read from its beginning.
func TestAnotherFileIsReadAnew(t *testing.T) {
	line := func(id string) string { return strings.ReplaceAll(lineA, "m1", id) }
	for name, change := range map[string]func(t *testing.T, p string){
		"shorter":          func(t *testing.T, p string) { write(t, filepath.Dir(p), "s.jsonl", line("m9")) },
		"of the same size": func(t *testing.T, p string) { write(t, filepath.Dir(p), "s.jsonl", line("m8")+line("m9")+line("m7")) },
		"longer": func(t *testing.T, p string) {
			write(t, filepath.Dir(p), "s.jsonl", line("m8")+strings.Repeat(line("m9"), 9))
		},
		"replaced by a rename": func(t *testing.T, p string) {
			q := write(t, filepath.Dir(p), "new", line("m9"))
			must(t, os.Rename(q, p))
		},
		"changed at its end": func(t *testing.T, p string) {
			write(t, filepath.Dir(p), "s.jsonl", line("m1")+line("m2")+line("m9")+line("m8"))
		},
		"gone and there again":  func(t *testing.T, p string) { must(t, os.Remove(p)); write(t, filepath.Dir(p), "s.jsonl", line("m7")) },
		"emptied and then used": func(t *testing.T, p string) { must(t, os.Truncate(p, 0)); appendTo(t, p, []byte(line("m1"))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			p := write(t, dir, "p/s.jsonl", line("m1")+line("m2")+line("m3"))
			x := Open(dir, state)
			update(t, x)
			must(t, x.Close())
			change(t, p)
			y := Open(dir, state)
			update(t, x)
			update(t, y)
			want := known(t, index(t, dir))
			if got := known(t, x); got != want {
				t.Errorf("known\n%s\nwant\n%s", got, want)
			}
			if got := known(t, y); got != want {
				t.Errorf("a later process knows\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAGoneTranscriptIsForgotten(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/new-panes/projects")))
	x := index(t, dir)
	if len(x.Teams()) != 1 {
		t.Fatal("there is no team")
	}
	must(t, os.RemoveAll(dir))
	update(t, x)
	if n := len(x.Teams()); n != 0 {
		t.Errorf("%d teams without a transcript", n)
	}
}

func TestABrokenIndexOnlyCostsReading(t *testing.T) {
	state := t.TempDir()
	projects := "testdata/v50-lifecycle/projects"
	x := Open(projects, state)
	all := update(t, x)
	must(t, x.Close())
	idx := filepath.Join(state, cacheName)
	good, err := os.ReadFile(idx)
	must(t, err)
	for name, bad := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)/2], "one line": []byte("x\n"), "a bit": bytes.Replace(good, []byte("worker-1"), []byte("worker-2"), 1),
		"another folder": bytes.Replace(good, []byte("v50"), []byte("v51"), 1), "zeroes": make([]byte, len(good)), "no end": good[:len(good)-1],
		"another format": withSum(bytes.Replace(good, []byte(cacheFormat), []byte("cadre-transcripts/0"), 1)), "too few lines": withSum(good[:bytes.LastIndexByte(good[:len(good)/2], '\n')+1]),
		"not JSON": withSum([]byte("{\"format\":\"" + cacheFormat + "\",\"projects\":\"" + projects + "\"}\nx\ny\nz\n1\n")),
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.WriteFile(idx, bad, 0o600))
			if n := update(t, Open(projects, state)); n != all {
				t.Errorf("%d bytes were read, want all %d", n, all)
			}
		})
	}
	must(t, os.WriteFile(idx, withSum(good), 0o600))
	if n := update(t, Open(projects, state)); n == all {
		t.Error("the good one was not used either")
	}
}

// withSum gives a text that was changed by hand the checksum it must have.
func withSum(data []byte) []byte {
	end := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	return append(bytes.Clone(data[:end]), checksum(data[:end])...)
}

func TestAnEndedUpdateGoesOnLater(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		p := write(t, dir, "p/"+name+".jsonl", strings.Repeat(strings.ReplaceAll(lineA, "m1", "m"+name), 40_000))
		if name != "b" {
			settle(t, p)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	x := Open(dir, state)
	err := x.Update(ctx, func(int64, int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Update() error = %v, want %v", err, context.Canceled)
	}
	if f := x.files["p/b.jsonl"]; len(x.files) != 1 || f == nil || f.Read == 0 {
		t.Errorf("%d files were read, want the newest first", len(x.files))
	}
	y := Open(dir, state)
	total := int64(3 * 40_000 * len(lineA))
	if n := update(t, y); n == 0 || n >= total {
		t.Errorf("%d bytes of %d were read the second time", n, total)
	}
	if got := spentBy(y); got.Input != 9 {
		t.Errorf("spent %+v", got)
	}
}
