package sqlitestore_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"cadre"
)

// What a process was told is durable must be there after it was killed, and the
// kill must not look like a cut log.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for round := range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SQLITESTORE_TEST_DIR="+dir, "SQLITESTORE_TEST_COUNT=100000")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(60+37*round)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			acknowledged[lines.Text()] = true
		}
		timer.Stop()
		_ = cmd.Wait() // it was killed
	}
	if len(acknowledged) == 0 {
		t.Fatal("no process lived long enough to write")
	}
	s := open(t, dir)
	if err := s.View(t.Context(), list, func(snap cadre.Snap) error {
		for id := range acknowledged {
			task, err := snap.Task(cadre.TaskID(id))
			if err != nil {
				return err
			}
			if task == nil {
				t.Errorf("task %s was acknowledged and is lost", id)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if r := audit(t, s); len(r.Findings) > 0 {
		t.Fatalf("the kills left %+v", r.Findings)
	}
	before := headOf(t, s, list)
	if r := do(t, s, list, &cadre.TaskAdd{Subject: "afterwards"}); r.Head.Epoch != before.Epoch || len(r.Events) != 1 {
		t.Fatalf("a kill looked like a cut log: %+v", r.Events[0])
	}
}
