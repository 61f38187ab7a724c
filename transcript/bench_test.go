package transcript

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// sample writes a transcript of about that size, made as those of real work are:
// big answers of tools, texts and thoughts of the model, few calls that matter.
func sample(b *testing.B, dir string, size int) string {
	b.Helper()
	source := strings.Repeat(`\tif err != nil {\n\t\treturn fmt.Errorf(\"reading %q: %w\", name, err)\n\t}\n`, 60)
	var out bytes.Buffer
	for i := 0; out.Len() < size; i++ {
		stamp := fmt.Sprintf(`"uuid":"%08d-0000","timestamp":"2026-11-15T%02d:%02d:%02d.000Z","sessionId":"s","cwd":"/home/user/project","version":"2.1.325"`, i, i/3600%24, i/60%60, i%60)
		tool, input, result := "Read", `{"file_path":"/home/user/project/main.go"}`, `{"type":"text","file":{"content":"`+source+`"}}`
		if i%50 == 0 {
			tool, input, result = "TaskUpdate", `{"taskId":"1","status":"completed"}`, `{"success":true,"taskId":"1","updatedFields":["status"]}`
		}
		usage := fmt.Sprintf(`"id":"m%d","usage":{"input_tokens":10,"output_tokens":%d,"cache_creation_input_tokens":900,"cache_read_input_tokens":20000}`, i, i%700)
		fmt.Fprintf(&out, `{"type":"assistant",%s,"message":{%s,"content":[{"type":"thinking","thinking":"%s","signature":"%s"}]}}`+"\n", stamp, usage, source[:600], strings.Repeat("Ab0/", 150))
		fmt.Fprintf(&out, `{"type":"assistant",%s,"message":{%s,"content":[{"type":"tool_use","id":"c%d","name":"%s","input":%s}]}}`+"\n", stamp, usage, i, tool, input)
		fmt.Fprintf(&out, `{"type":"user",%s,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]},"toolUseResult":%s}`+"\n", stamp, i, source, result)
		fmt.Fprintf(&out, `{"type":"progress",%s,"data":{"type":"hook_progress","text":"%s"}}`+"\n", stamp, source[:300])
	}
	return write(b, dir, "p/s.jsonl", out.String())
}

// BenchmarkIndex is the first reading of a transcript, beside a loop that only
// reads its lines.
func BenchmarkIndex(b *testing.B) {
	dir := b.TempDir()
	path := sample(b, dir, 64<<20)
	info, err := os.Stat(path)
	must(b, err)
	b.Run("index", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			x := Open(dir, "")
			must(b, x.Update(b.Context(), nil))
			if x.files["p/s.jsonl"].Events == 0 {
				b.Fatal("nothing was found")
			}
		}
	})
	b.Run("lines", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			f, err := os.Open(path)
			must(b, err)
			r := bufio.NewReaderSize(f, chunk)
			for err == nil {
				_, err = r.ReadSlice('\n')
			}
			if err != io.EOF {
				b.Fatal(err)
			}
			f.Close()
		}
	})
}

// BenchmarkFollow is an update when one transcript of a thousand has grown, in a
// process that has just started.
func BenchmarkFollow(b *testing.B) {
	dir, state := b.TempDir(), b.TempDir()
	for i := range 1000 {
		settle(b, write(b, dir, fmt.Sprintf("p%d/s%d.jsonl", i%20, i), strings.Repeat(lineA, 30)))
	}
	path := sample(b, dir, 64<<20)
	x := Open(dir, state)
	must(b, x.Update(b.Context(), nil))
	must(b, x.Close())
	for b.Loop() {
		appendTo(b, path, []byte(lineA))
		must(b, Open(dir, state).Update(b.Context(), nil))
	}
}
