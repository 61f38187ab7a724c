package claudedir

import (
	"bytes"
	"os"
	"testing"
)

// What a reader finds that meets a writer, or a crash in the middle of a write, is
// no memory; what a longer one left behind the newest is no part of it.
func TestMemoryIsWholeOrNothing(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	load := func() *memory {
		m, err := loadMemory(root, "docs")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	save := func(change func(*memory)) []byte {
		m := load()
		change(m)
		if err := m.save(); err != nil {
			t.Fatal(err)
		}
		data, err := root.ReadFile("docs.json")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	long := save(func(m *memory) { m.Epoch, m.Seq, m.Largest = "e", 1234567, 99 })
	short := save(func(m *memory) { m.Seq, m.Largest = 2, 0 })
	if m := load(); m.Seq != 2 || m.Epoch != "e" || m.Largest != 0 {
		t.Errorf("%d %q %d is remembered", m.Seq, m.Epoch, m.Largest)
	}
	for what, data := range map[string][]byte{
		"one digit":            bytes.Replace(long, []byte("1234567"), []byte("1234568"), 1),
		"half of the old line": append(long[:20:20], short[20:]...),
		"the end missing":      long[:len(long)-3],
		"nothing":              nil,
	} {
		if err := root.WriteFile("docs.json", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if m := load(); m.Epoch != "" || m.Seq != 0 || m.saved != nil {
			t.Errorf("%s: %q %d is remembered", what, m.Epoch, m.Seq)
		}
	}
}
