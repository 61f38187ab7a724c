//go:build unix

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cadre/transcript"
)

// BenchmarkTranscripts reads a gigabyte of transcripts for the first time and once
// more, beside a loop that only reads their lines.
func BenchmarkTranscripts(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	const files, size = 64, 16 << 20
	h := newHome(b, "transcripts")
	if free := freeBytes(b, h.dir); free < 3*files*size {
		fmt.Printf("transcripts are not measured: %d MB are free, and %d are wanted\n", free>>20, 3*files*size>>20)
		return
	}
	projects := filepath.Join(h.claude(), "projects")
	paths := writeTranscripts(b, projects, files, size)
	const megabytes = files * size / 1e6
	index := func() (took time.Duration) {
		began := time.Now()
		x := transcript.Open(projects, filepath.Join(h.dir, "index"))
		if err := x.Update(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		took = time.Since(began)
		if got := x.Health(); got.Files != files || got.Garbage > 0 {
			b.Fatalf("%+v is known of %d transcripts", got, files)
		}
		return took
	}
	first := index()
	var lines, more samples
	for range 5 {
		began := time.Now()
		for _, path := range paths {
			readLines(b, path)
		}
		lines = append(lines, time.Since(began))
		more = append(more, index())
	}
	r := &world.report
	r.compare("1 GB of transcripts, first reading", megabytes/first.Seconds(), "MB/s", "a loop over their lines", megabytes/lines.median().Seconds(), nil)
	r.times("1 GB of transcripts, once more", more.median(), "first reading", first, nil)
}

// writeTranscripts makes transcripts of that size out of the lines of real ones.
func writeTranscripts(b *testing.B, projects string, files, size int) (paths []string) {
	var lines [][]byte
	err := filepath.WalkDir(filepath.Join("..", "transcript", "testdata"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		data, err := os.ReadFile(path)
		lines = append(lines, bytes.SplitAfter(data, []byte("\n"))...)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	long := time.Now().Add(-time.Hour) // a file that was just written is looked at again
	for i := range files {
		var content bytes.Buffer
		for n := i; content.Len() < size; n++ {
			content.Write(lines[n%len(lines)])
		}
		path := filepath.Join(projects, fmt.Sprintf("project-%d", i%8), fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, long, long); err != nil {
			b.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func readLines(b *testing.B, path string) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for err == nil {
		_, err = r.ReadSlice('\n')
	}
	if err != io.EOF {
		b.Fatal(err)
	}
}

func freeBytes(b *testing.B, dir string) int {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		b.Fatal(err)
	}
	return int(st.Bavail) * int(st.Bsize)
}
