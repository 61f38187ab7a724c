package swapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cadre/internal/swapfile"
)

// folder gives an open folder and its path.
func folder(t testing.TB) (*swapfile.Dir, string) {
	t.Helper()
	path := t.TempDir()
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Mkdir("list", 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := swapfile.Open(root, "list")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(); root.Close() })
	return d, filepath.Join(path, "list")
}

// both runs a test with the system's own steps and without them.
func both(t *testing.T, test func(t *testing.T, d *swapfile.Dir, path string)) {
	for _, basic := range []bool{false, true} {
		t.Run(fmt.Sprintf("basic=%t", basic), func(t *testing.T) {
			d, path := folder(t)
			if basic {
				d.Basic()
			}
			test(t, d, path)
		})
	}
}

func content(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", filepath.Base(path), got, err, want)
	}
}

// names is what stands in a folder.
func names(t *testing.T, path string) string {
	t.Helper()
	list, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestCreate(t *testing.T) {
	both(t, func(t *testing.T, d *swapfile.Dir, path string) {
		now, exists, err := swapfile.Create(d, "1.json", []byte("one"))
		if exists || err != nil {
			t.Fatalf("Create() = %t, %v", exists, err)
		}
		if there, err := swapfile.Stat(d, "1.json"); there != now || err != nil {
			t.Errorf("Stat() = %+v, %v, want what Create said: %+v", there, err, now)
		}
		_, exists, err = swapfile.Create(d, "1.json", []byte("two"))
		if !exists || err != nil {
			t.Fatalf("Create() of a taken name = %t, %v", exists, err)
		}
		content(t, filepath.Join(path, "1.json"), "one")
		if got := names(t, path); got != "1.json" {
			t.Errorf("the folder holds %s", got)
		}
		if info, err := os.Stat(filepath.Join(path, "1.json")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the mode is %v, %v", info.Mode(), err)
		}
	})
}

// A name is taken by whatever stands there, also by a link that leads nowhere.
func TestCreateReplacesNothing(t *testing.T) {
	both(t, func(t *testing.T, d *swapfile.Dir, path string) {
		if err := os.Symlink("nowhere", filepath.Join(path, "1.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(path, "2.json"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"1.json", "2.json"} {
			if _, exists, err := swapfile.Create(d, name, []byte("x")); !exists || err != nil {
				t.Errorf("Create(%s) = %t, %v", name, exists, err)
			}
		}
		if got := names(t, path); got != "1.json 2.json" {
			t.Errorf("the folder holds %s", got)
		}
	})
}

// The old file is read after the swap: what somebody wrote in place before it, and
// what a writer who has it open writes after it, is seen.
func TestExchange(t *testing.T) {
	both(t, func(t *testing.T, d *swapfile.Dir, path string) {
		file := filepath.Join(path, "1.json")
		if err := os.WriteFile(file, []byte("theirs"), 0o640); err != nil {
			t.Fatal(err)
		}
		writer, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		before, err := swapfile.Stat(d, "1.json")
		if err != nil {
			t.Fatal(err)
		}
		now, old, err := swapfile.Exchange(d, "1.json", []byte("ours"))
		if err != nil {
			t.Fatal(err)
		}
		content(t, file, "ours")
		if there, err := swapfile.Stat(d, "1.json"); there != now || err != nil || now.Ino == before.Ino {
			t.Errorf("Stat() = %+v, %v, want what Exchange said: %+v, another file than %+v", there, err, now, before)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v, %v, want that of the old file", info.Mode(), err)
		}
		got, stamp, err := old.Read(100)
		if string(got) != "theirs" || stamp.Ino != before.Ino || stamp.MTime != before.MTime || err != nil {
			t.Errorf("the old file: %q %+v %v, want that of %+v", got, stamp, err, before)
		}
		if _, err := writer.WriteString(", more"); err != nil {
			t.Fatal(err)
		}
		if got, _, err = old.Read(100); string(got) != "theirs, more" || err != nil {
			t.Errorf("the old file, written to again: %q, %v", got, err)
		}
		if _, _, err := old.Read(5); !errors.Is(err, swapfile.ErrTooLarge) {
			t.Errorf("Read(5) error = %v, want %v", err, swapfile.ErrTooLarge)
		}
		if err := old.Done(); err != nil {
			t.Error(err)
		}
		if got := names(t, path); got != "1.json" {
			t.Errorf("the folder holds %s", got)
		}
	})
}

func TestRemove(t *testing.T) {
	both(t, func(t *testing.T, d *swapfile.Dir, path string) {
		if _, err := swapfile.Remove(d, "1.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Remove() of nothing: %v", err)
		}
		if _, _, err := swapfile.Exchange(d, "1.json", nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Exchange() of nothing: %v", err)
		}
		if _, _, err := swapfile.Create(d, "1.json", []byte("one")); err != nil {
			t.Fatal(err)
		}
		old, err := swapfile.Remove(d, "1.json")
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := old.Read(100); string(got) != "one" || err != nil {
			t.Errorf("the removed file: %q, %v", got, err)
		}
		if got := names(t, path); strings.HasSuffix(got, ".json") || strings.Contains(got, " ") {
			t.Errorf("before Done the folder holds %s", got)
		}
		if err := old.Done(); err != nil {
			t.Error(err)
		}
		if got := names(t, path); got != "" {
			t.Errorf("the folder holds %s", got)
		}
	})
}

// A write in place always changes the stamp, also one of the same length that the
// kernel dates with the same tick of its clock.
func TestEveryForeignWriteChangesTheStamp(t *testing.T) {
	d, path := folder(t)
	for i := range 2000 {
		name := fmt.Sprint(i, ".json")
		ours, _, err := swapfile.Create(d, name, []byte("ours"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(path, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = f.WriteString("them"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if s, err := swapfile.Stat(d, name); s.MTime == ours.MTime || err != nil {
			t.Fatalf("file %d: written at %d, and the stamp still says %+v (%v)", i, ours.MTime, s, err)
		}
	}
}

func TestNamesStayInTheFolder(t *testing.T) {
	d, path := folder(t)
	if err := os.WriteFile(filepath.Join(path, "..", "outside"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../outside", "a/b", "/etc/passwd"} {
		_, _, created := swapfile.Create(d, name, nil)
		_, _, exchanged := swapfile.Exchange(d, name, nil)
		_, removed := swapfile.Remove(d, name)
		_, _, read := swapfile.Read(d, name, 10)
		for what, err := range map[string]error{"Create": created, "Exchange": exchanged, "Remove": removed, "Read": read, "Move": d.Move("1", name)} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s(%q) error = %v, want %v", what, name, err, fs.ErrInvalid)
			}
		}
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	both(t, func(t *testing.T, d *swapfile.Dir, path string) {
		target := filepath.Join(path, "target")
		if err := os.WriteFile(target, []byte("keep"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("target", filepath.Join(path, "1.json")); err != nil {
			t.Fatal(err)
		}
		irregular(t, d, "1.json")
		content(t, target, "keep")
	})
}

// irregular has every function refuse a name.
func irregular(t *testing.T, d *swapfile.Dir, name string) {
	t.Helper()
	_, stat := swapfile.Stat(d, name)
	_, _, read := swapfile.Read(d, name, 10)
	_, _, exchanged := swapfile.Exchange(d, name, []byte("x"))
	_, removed := swapfile.Remove(d, name)
	for what, err := range map[string]error{"Stat": stat, "Read": read, "Exchange": exchanged, "Remove": removed} {
		if !errors.Is(err, swapfile.ErrIrregular) {
			t.Errorf("%s(%s) error = %v, want %v", what, name, err, swapfile.ErrIrregular)
		}
	}
	if _, _, err := swapfile.Lstat(d, name); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

func TestOpenRefusesLinks(t *testing.T) {
	path := t.TempDir()
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(path, "tasks", "real"), 0o700),
		os.Symlink("real", filepath.Join(path, "tasks", "inside")),
		os.Symlink(t.TempDir(), filepath.Join(path, "tasks", "outside")),
		os.Symlink("tasks", filepath.Join(path, "also")),
		os.WriteFile(filepath.Join(path, "tasks", "file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tasks/inside", "tasks/outside", "also/real", "tasks/file"} {
		if _, err := swapfile.Open(root, name); !errors.Is(err, swapfile.ErrIrregular) {
			t.Errorf("Open(%s) error = %v, want %v", name, err, swapfile.ErrIrregular)
		}
	}
	for _, name := range []string{"..", "tasks/../tasks", "", "/"} {
		if _, err := swapfile.Open(root, name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Open(%q) error = %v, want %v", name, err, fs.ErrInvalid)
		}
	}
	for _, name := range []string{"tasks/real", "."} {
		d, err := swapfile.Open(root, name)
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
	if _, err := swapfile.Open(root, "tasks/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open() of nothing: %v", err)
	}
}

func TestMoveTakesOnlyAFreeName(t *testing.T) {
	d, path := folder(t)
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Move("a", "b"); !errors.Is(err, fs.ErrExist) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Move() onto an empty folder: %v", err)
	}
	d.Basic()
	if err := d.Move("a", "c"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Move() error = %v, want %v", err, errors.ErrUnsupported)
	}
	if got := names(t, path); got != "a b" {
		t.Errorf("the folder holds %s", got)
	}
}

// What a process left that died before it looked at the old file is given to
// whoever sweeps; what is young may be in use.
func TestSweep(t *testing.T) {
	d, path := folder(t)
	long := strings.Repeat("x", 245) + ".json"
	for _, name := range []string{"1.json", "2.json", long} {
		if _, _, err := swapfile.Create(d, name, []byte("of "+name[:1])); err != nil {
			t.Fatal(err)
		}
		if _, _, err := swapfile.Exchange(d, name, []byte("new")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(path, ".cadre-1.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := swapfile.Sweep(d, time.Hour, func(name string, _ *swapfile.Old) { t.Errorf("%s was looked at: it is young", name) }); err != nil {
		t.Errorf("Sweep() of young leftovers: %v", err)
	}
	// One of them never got its place: its maker died before.
	unplaced := filepath.Join(path, leftoverOf(t, path, "2.json"))
	if err := os.Rename(filepath.Join(path, "2.json"), unplaced); err != nil {
		t.Fatal(err)
	}
	if _, _, err := swapfile.Create(d, "2.json", []byte("of 2")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := swapfile.Exchange(d, "2.json", []byte("newer")); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	look := func(name string, old *swapfile.Old) {
		data, _, err := old.Read(100)
		if err != nil {
			t.Fatal(err)
		}
		seen[name] = string(data)
		end := old.Done
		if name == "2.json" {
			end = old.Leave // not now
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	if err := swapfile.Sweep(d, 0, look); err != nil {
		t.Error(err)
	}
	if seen["1.json"] != "of 1" || seen["2.json"] != "of 2" || seen[""] != "of x" || len(seen) != 3 {
		t.Errorf("looked at %v", seen)
	}
	if got := names(t, path); strings.Count(got, ".tmp") != 1 || strings.Count(got, " ") != 3 {
		t.Errorf("the folder holds %s", got)
	}
	if err := swapfile.Sweep(d, 0, nil); err != nil {
		t.Error(err)
	}
	if got := names(t, path); strings.Contains(got, ".tmp") || strings.Count(got, ".json") != 3 {
		t.Errorf("the folder holds %s", got)
	}
}

// leftoverOf is the only leftover that belongs to a name.
func leftoverOf(t *testing.T, path, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(path, ".cadre-*."+name+".tmp"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the leftovers of %s are %v, %v", name, found, err)
	}
	return filepath.Base(found[0])
}

func TestReadGivesOneMoment(t *testing.T) {
	d, path := folder(t)
	a, b := bytes.Repeat([]byte("a"), 64<<10), bytes.Repeat([]byte("b"), 32<<10)
	if _, _, err := swapfile.Create(d, "1.json", a); err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			for _, data := range [][]byte{b, a} {
				if err := os.WriteFile(filepath.Join(path, "1.json"), data, 0o600); err != nil {
					ended <- err
					return
				}
			}
			select {
			case <-stop:
				ended <- nil
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	whole := 0
	for range 2000 {
		data, s, err := swapfile.Read(d, "1.json", 1<<20)
		if errors.Is(err, swapfile.ErrChanging) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(data)) != s.Size {
			t.Fatalf("%d bytes with the stamp %+v", len(data), s)
		}
		whole++
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if whole == 0 {
		t.Error("no reading was of one moment")
	}
	if _, _, err := swapfile.Read(d, "1.json", 10); !errors.Is(err, swapfile.ErrTooLarge) {
		t.Errorf("Read() error = %v, want %v", err, swapfile.ErrTooLarge)
	}
}

func BenchmarkExchange(b *testing.B) {
	d, path := folder(b)
	data := bytes.Repeat([]byte("x"), 600)
	if _, _, err := swapfile.Create(d, "1.json", data); err != nil {
		b.Fatal(err)
	}
	b.Run("Exchange", func(b *testing.B) {
		for b.Loop() {
			_, old, err := swapfile.Exchange(d, "1.json", data)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := old.Read(1 << 20); err != nil {
				b.Fatal(err)
			}
			if err := old.Done(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write and rename", func(b *testing.B) {
		temp, name := filepath.Join(path, "temp"), filepath.Join(path, "1.json")
		for b.Loop() {
			if err := errors.Join(os.WriteFile(temp, data, 0o600), os.Rename(temp, name)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
