package claudedir

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"testing"

	"cadre"
	"cadre/internal/swapfile"
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
		data, err := root.ReadFile("docs.files")
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
		if err := root.WriteFile("docs.files", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if m := load(); m.Epoch != "" || m.Seq != 0 || m.saved != "" {
			t.Errorf("%s: %q %d is remembered", what, m.Epoch, m.Seq)
		}
	}
}

// What was saved is what is loaded, in every field, whatever the names are.
func TestMemoryComesBack(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	one := slot{Stamp: swapfile.Stamp{Ino: 1, Size: 2, MTime: 3, CTime: 4}, Saw: 5, Hash: hashOf([]byte("x")), Mark: here | ours}
	m := &memory{
		Epoch: "e f\n", Seq: 1, Taken: 2, List: true, Team: true, ListAt: -3, ListSaw: math.MaxInt64, Names: 4, Sum: math.MaxUint64, Largest: 5, Unsure: true, OldAt: 6, Boxes: "a b", BoxesOf: hashOf(nil),
		Odd: map[string]slot{"": one, "a b\nsum 1": {}}, Files: map[string]slot{"sum \xff": one}, PutBack: map[string]uint64{"bob": 7}, Behind: map[string]cadre.Seq{"task 1": 8},
		root: root, name: "docs",
	}
	want := *m
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	got, err := loadMemory(root, "docs")
	if err != nil {
		t.Fatal(err)
	}
	want.saved = got.saved
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v\nwant %+v", *got, want)
	}
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && v.Field(i).IsZero() {
			t.Errorf("%s is not tried", f.Name)
		}
	}
}
