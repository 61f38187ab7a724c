package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHostileLines(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for name, line := range map[string]string{
		"binary":                  "\x00\xff\xfe\n",
		"no object":               "[1,2,3]\nnull\n\"x\"\n",
		"never ends":              `{"type":"user","message":{"content":"` + "\n",
		"deep":                    `{"type":"user","message":{"content":` + deep + "}}\n",
		"deep and whole":          `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"TaskCreate","input":{"subject":"x","metadata":{"a":` + deep + strings.Repeat("]", 100_000) + "}}}]}}\n",
		"a time far away":         `{"type":"user","timestamp":"9999-12-31T23:59:59-23:59","message":{"content":"<teammate-message teammate_id=\"a\">\n{\"type\":\"x\",\"timestamp\":\"9999-12-31T23:59:59-23:59\"}\n</teammate-message>"}}` + "\n",
		"wrong types":             `{"type":5,"timestamp":[],"uuid":{},"message":"x","toolUseResult":7}` + "\n" + `{"type":"assistant","message":{"id":1,"usage":[],"content":{"tool_use":1}}}` + "\n",
		"wrong inputs":            `{"type":"assistant","message":{"content":["tool_use",{"type":"tool_use","id":"c","name":"TaskUpdate","input":[]},{"type":"tool_use","id":"d","name":"SendMessage","input":"x"},{"type":"tool_use","name":"TeamDelete"}]}}` + "\n",
		"an answer to nothing":    `{"type":"user","toolUseResult":{"task":{"id":{}}},"message":{"content":[{"type":"tool_result","tool_use_id":"c"}]}}` + "\n",
		"a broken early answer":   `{"type":"user","toolUseResult":{"task":tru},"message":{"content":[{"type":"tool_result","tool_use_id":"c"}]}}` + "\n",
		"names that are no names": `{"type":"user","teamName":"../../x","agentName":"\u0000","message":{"content":"x"}}` + "\n",
		"broken UTF-8":            "{\"type\":\"user\",\"cwd\":\"\xff\",\"uuid\":\"\xfe\",\"message\":{\"content\":\"<teammate-message teammate_id=\\\"a\\\">\\n\xff\\n</teammate-message>\"}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			write(t, dir, "p/s.jsonl", line+lineA)
			x := Open(dir, state)
			update(t, x)
			must(t, x.Close())
			if got := spentBy(x); got.Input != 3 {
				t.Errorf("the good line after it gave %+v", got)
			}
			x.Teams()
			want := known(t, x)
			if got := known(t, Open(dir, state)); got != want {
				t.Errorf("kept\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestALineThatIsTooLongIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	long := []byte(`{"type":"user","x":"` + strings.Repeat("x", maxLine))
	p := write(t, dir, "p/s.jsonl", lineA)
	x := index(t, dir)
	appendTo(t, p, long)
	update(t, x)
	appendTo(t, p, bytes.Repeat([]byte("y"), 3*chunk))
	if n := update(t, x); n != 3*chunk {
		t.Errorf("%d bytes were read when a line that is left out had grown by %d", n, 3*chunk)
	}
	appendTo(t, p, []byte("\"}\n"+strings.ReplaceAll(lineA, "m1", "m2")))
	update(t, x)
	if h := x.Health(); h.TooLong != 1 || h.Garbage != 0 {
		t.Errorf("health %+v", h)
	}
	if got := spentBy(x); got.Input != 6 {
		t.Errorf("spent %+v", got)
	}
	if got, want := known(t, x), known(t, index(t, dir)); got != want {
		t.Errorf("known in pieces\n%s\nand at once\n%s", got, want)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("ü", maxText)
	write(t, dir, "p/s.jsonl", `{"type":"assistant","uuid":"u1","timestamp":"2026-11-15T01:00:00.000Z","message":{"content":[{"type":"tool_use","id":"c1","name":"TaskUpdate","input":{"taskId":"1","description":"`+long+`"}}]}}`+"\n")
	x := index(t, dir)
	if d := *x.Events("s")[0].Task.Description; len(d) != maxText || !strings.HasPrefix(long, d) {
		t.Errorf("%d bytes are kept", len(d))
	}
	if who, _, _ := x.Who("s", "1", "description", long, clock(t, "01:00:00")); who != "s" {
		t.Errorf("it was %q", who)
	}
}

// What is kept of one file is bounded, whatever stands in it.
func TestAFloodIsBounded(t *testing.T) {
	f := newFile("p/s.jsonl")
	line := []byte(`{"type":"assistant","uuid":"u1","timestamp":"2026-11-15T01:00:00.000Z","message":{"content":[{"type":"tool_use","id":"c1","name":"TaskUpdate","input":{"taskId":"1","metadata":{"x":"` + strings.Repeat("x", 1<<20) + `"}}}]}}`)
	for range 80 {
		f.line(line)
	}
	if len(f.events) > 64 || f.Dropped != 80-len(f.events) {
		t.Errorf("%d events are kept, %d are counted as dropped", len(f.events), f.Dropped)
	}
}

// Answers of other tools that failed are many, and nothing of them is kept.
func TestFailedAnswersUseNothingUp(t *testing.T) {
	f := newFile("p/s.jsonl")
	for range 1000 {
		f.line([]byte(`{"type":"user","toolUseResult":"Error: ` + strings.Repeat("x", 1000) + `","message":{"content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"x"}]}}`))
	}
	must(t, f.pack())
	if f.Kept != 0 || len(f.packed) > 200*maxOrphans {
		t.Errorf("%d bytes count as kept, %d are", f.Kept, len(f.packed))
	}
}

func TestOnlyPlainFilesInTheFolderAreRead(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, dir, "p/s.jsonl", lineA)
	write(t, outside, "p/evil.jsonl", strings.ReplaceAll(lineA, "m1", "m2"))
	must(t, os.Symlink(filepath.Join(outside, "p/evil.jsonl"), filepath.Join(dir, "p/link.jsonl")))
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink(dir, filepath.Join(dir, "p/loop")))
	must(t, os.MkdirAll(filepath.Join(dir, "p/folder.jsonl"), 0o700))
	write(t, dir, "p/notes.txt", "x")
	pipe(t, filepath.Join(dir, "p/pipe.jsonl"))
	x := index(t, dir)
	if h := x.Health(); h.Files != 1 || h.Unread != 0 || spentBy(x).Input != 3 {
		t.Errorf("health %+v, spent %+v", h, spentBy(x))
	}
}

// A name can change its meaning between being found and being opened.
func TestWhatTookAFilesPlaceIsNotRead(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "evil.jsonl", lineA)
	must(t, os.Symlink(filepath.Join(outside, "evil.jsonl"), filepath.Join(dir, "link.jsonl")))
	pipe(t, filepath.Join(dir, "pipe.jsonl"))
	must(t, os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o700))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for _, name := range []string{"link.jsonl", "pipe.jsonl", "folder.jsonl", "gone.jsonl"} {
		if f, _, err := open(root, name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

func TestAnUnreadableTranscriptHidesNoOther(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "p/s.jsonl", lineA)
	closed := write(t, dir, "p/t.jsonl", strings.ReplaceAll(lineA, "m1", "m2"))
	must(t, os.Chmod(closed, 0))
	if f, err := os.Open(closed); err == nil {
		f.Close()
		t.Skip("this user can read everything")
	}
	x := index(t, dir)
	if h := x.Health(); h.Unread != 1 || spentBy(x).Input != 3 {
		t.Errorf("health %+v, spent %+v", h, spentBy(x))
	}
	must(t, os.Chmod(closed, 0o600))
	update(t, x)
	if got := spentBy(x); got.Input != 6 {
		t.Errorf("spent %+v", got)
	}
}

func TestNoFolderIsNoError(t *testing.T) {
	x := Open(filepath.Join(t.TempDir(), "nothing"), "")
	update(t, x)
	if len(x.Events("")) != 0 || len(x.Teams()) != 0 || len(x.Agents()) != 0 {
		t.Error("something came from nothing")
	}
}
