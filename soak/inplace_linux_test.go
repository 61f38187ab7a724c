package soak_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSoakSwapFaults lets a process put files in place and every system call fail
// that changes something on the disk: each name has its old or its new content,
// whole, and nothing else is left once it is swept.
func TestSoakSwapFaults(t *testing.T) {
	t.Parallel()
	everyFault(t, "swap-once", func(t *testing.T, m *machine, where string) {
		all, err := texts(m.home)
		if err != nil {
			t.Errorf("not whole: %v\n%s", err, where)
		}
		ok := all["old.json"] == "old" || all["old.json"] == "new"
		if text, there := all["new.json"]; there {
			ok = ok && text == "new"
		}
		if text, there := all["gone.json"]; there {
			ok = ok && text == "old"
		}
		if !ok {
			t.Errorf("neither old nor new: %v\n%s", all, where)
		}
		swept(t, m.home)
	})
}

// TestSoakLockFaults does the same to a process that takes a lock: the next one of
// ours has it at once, with a limit of an hour for locks left behind.
func TestSoakLockFaults(t *testing.T) {
	t.Parallel()
	everyFault(t, "lock-once", func(t *testing.T, m *machine, where string) {
		if err := lockOnce([]string{m.home}); err != nil {
			t.Errorf("the next one: %v\nafter %s", err, where)
		}
		swept(t, m.home)
	})
}

// everyFault lets the test binary play a part in a prepared folder, with each fault
// at each system call.
func everyFault(t *testing.T, part string, check func(t *testing.T, m *machine, where string)) {
	prepare := func(name string) *machine {
		m := &machine{t: t, bin: os.Args[0], home: filepath.Join(t.TempDir(), name)}
		err := os.MkdirAll(filepath.Join(m.home, "list"), 0o700)
		for _, name := range []string{"old.json", "gone.json"} {
			if err == nil {
				err = os.WriteFile(filepath.Join(m.home, "list", name), document("old"), 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := prepare("whole")
	points := m.faultPoints([]string{part, m.home})
	killed, failed, done, missed := 0, 0, 0, 0
	for _, fault := range faults {
		for i, p := range points {
			if !full() && (i+len(fault))%3 != 0 {
				continue
			}
			for try := 0; ; try++ {
				m := prepare(fmt.Sprint(fault, i, "-", try))
				r, trace := m.traced(fmt.Sprintf("%s:%s:when=%d", p.name, fault, p.nth), []string{part, m.home})
				check(t, m, fmt.Sprintf("%s at call %d of %s (%.120s)\n%s", fault, p.nth, p.name, p.line, r))
				if r.code != -1 && !strings.Contains(trace, "(INJECTED)") {
					if missed++; try < 25 {
						continue // the goroutine had moved to another thread, where strace counts anew
					}
					t.Errorf("%s at call %d of %s never happened", fault, p.nth, p.name)
				}
				switch r.code {
				case -1:
					killed++
				case 0:
					done++
				default:
					failed++
				}
				break
			}
		}
	}
	t.Logf("%d system calls: %d processes were killed, %d failed, %d did it all the same; %d were tried again because the fault did not happen", len(points), killed, failed, done, missed)
}
