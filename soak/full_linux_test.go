package soak_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cadre"
)

// TestSoakFullDisk runs commands while the disk is full, or becomes so in the
// middle of a commit. Each either is done or says that it was not, nothing that
// was acknowledged is lost, and once there is space again all goes on.
func TestSoakFullDisk(t *testing.T) {
	t.Parallel()
	t.Run("small file system", fullFileSystem)
	t.Run("every write refused", refusedWrites)
}

// fullFileSystem fills a file system of its own, leaving a little more space each
// time, so that it is full at another place of the commit.
func fullFileSystem(t *testing.T) {
	m := newMachine(t)
	if err := os.Mkdir(m.state, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("cadre-soak", m.state, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=8m,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("no right to mount a file system here (%v): writes are refused by strace alone, in the other half of this test", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(m.state, 0); err != nil {
			t.Error(err)
		}
	})
	told := map[cadre.TaskID]string{}
	said := m.untilFull(told, nil) // nothing is there yet
	levels := count(t, "amounts of space that were left", 6, 40)
	failed := len(said)
	for i := range levels {
		free := int64(i) * 160_000 / int64(levels)
		said := m.untilFull(told, &free)
		failed += len(said)
		m.holds(told)
	}
	t.Logf("%d commands were acknowledged and are there, %d found the disk full and said so", len(told), failed)
}

// untilFull takes up the space of the state folder but for some bytes, adds tasks
// until one fails, tries to read, and gives the space back. Without free nothing
// at all may be there yet.
func (m *machine) untilFull(told map[cadre.TaskID]string, free *int64) []result {
	m.t.Helper()
	ballast := filepath.Join(m.state, "ballast")
	space := int64(0)
	if free != nil {
		space = *free
	}
	if err := fill(ballast, space); err != nil {
		m.t.Fatal(err)
	}
	var failed []result
	for i := 0; len(failed) < 3; i++ {
		subject := fmt.Sprintf("with %d bytes left, task %d", space, i)
		r := m.run("task", "add", subject, "--description", strings.Repeat("what is to be done; ", 400))
		if r.code == 0 {
			told[r.id()] = subject
			continue
		}
		failed = append(failed, r)
		if r.code != 1 || !strings.HasPrefix(r.err, "cadre: ") || !strings.Contains(r.err, "\n  try: ") || r.out != "" {
			m.t.Errorf("a full disk must be told with exit code 1 and a hint: %s", r)
		}
	}
	if r := m.run("task", "list"); r.code != 0 && (r.code != 1 || !strings.Contains(r.err, "\n  try: ")) {
		m.t.Errorf("reading from a full disk: %s", r)
	}
	if err := os.Remove(ballast); err != nil {
		m.t.Fatal(err)
	}
	return failed
}

// fill makes a file as large as the file system allows, less some bytes.
func fill(path string, less int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	page := make([]byte, 4096)
	size := int64(0)
	for {
		n, err := f.Write(page)
		size += int64(n)
		if errors.Is(err, syscall.ENOSPC) {
			return f.Truncate(max(0, size-less))
		}
		if err != nil {
			return err
		}
	}
}

// holds checks that the next command works and that everything acknowledged is
// there, and nothing else.
func (m *machine) holds(told map[cadre.TaskID]string) {
	m.t.Helper()
	told[cadre.TaskID(m.must("task", "add", "with space again"))] = "with space again"
	have := m.tasks()
	for id, subject := range told {
		if have[id].Subject != subject {
			m.t.Errorf("task %s was acknowledged as %q and is %q", id, subject, have[id].Subject)
		}
	}
	if len(have) != len(told) {
		m.t.Errorf("%d tasks are there, %d were acknowledged", len(have), len(told))
	}
	if log := m.must("log", "--limit", "0"); strings.Count(log, "log.open") != 1 {
		m.t.Errorf("a full disk made a new epoch:\n%s", log)
	}
	m.audited()
}

// refusedWrites needs no rights: every write to a file fails for want of space.
func refusedWrites(t *testing.T) {
	m := newMachine(t)
	told := map[cadre.TaskID]string{}
	failed := 0
	refuse := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,mkdirat,ftruncate", "-e", "inject=pwrite64,mkdirat,ftruncate:error=ENOSPC"}
	for range count(t, "commands with every write refused", 4, 20) {
		r := finish(m.wrapped(context.Background(), refuse, "task", "add", "no space"), nil)
		if r.code != 1 || !strings.HasPrefix(r.err, "cadre: ") || !strings.Contains(r.err, "\n  try: ") || r.out != "" {
			t.Errorf("a full disk must be told with exit code 1 and a hint: %s", r)
		}
		failed++
		m.holds(told)
	}
	// Neither is doing the same again, nor looking into Claude Code's folder, of any help.
	m.files = true
	for in, args := range map[string][]string{
		m.state: {"task", "add", "no space"}, m.claude(): {"task", "add", "no space"}, filepath.Join(m.home, ".gemini"): {"install", "gemini", "--write"},
	} {
		r := finish(m.wrapped(context.Background(), append(slices.Clone(refuse), "-P", in), args...), nil)
		if failed++; r.code != 1 || !strings.Contains(r.err, "no space left on device\n  try: df -h "+m.home) {
			t.Errorf("a full disk must be told with where to look: %s", r)
		}
	}
	t.Logf("%d commands were acknowledged and are there, %d found no space and said so", len(told), failed)
}
