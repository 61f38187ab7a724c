package claudedir_test

import (
	"fmt"
	"runtime"
	"testing"

	"cadre"
)

// Looking at many files on the side ends also where that side gets to run only when
// everything was given to it: on one processor, or on a busy machine.
func TestALongListOnABusyMachine(t *testing.T) {
	w := newWorld(t)
	const tasks = 300
	lines := make([]cadre.ImportLine, tasks)
	for i := range lines {
		lines[i].Subject = fmt.Sprint("task ", i)
	}
	w.must(&cadre.TaskImport{Lines: lines})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		if got := len(w.ids()); got != tasks {
			t.Fatalf("there are %d tasks", got)
		}
	}
}
