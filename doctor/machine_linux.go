package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// lookUp asks the kernel about a process of this machine. A pid that was given to
// another process since then is told by its start.
func lookUp(p Process) (gone, known bool) {
	host, err := os.Hostname()
	if err != nil {
		return false, false
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || p.Space != host+"#"+space {
		return false, false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if errors.Is(err, fs.ErrNotExist) {
		return true, true
	}
	name := strings.LastIndex(string(stat), ") ") // the name of the program may hold anything
	if err != nil || name < 0 {
		return false, false
	}
	fields := strings.Fields(string(stat)[name+2:])
	if len(fields) < 20 {
		return false, false
	}
	const state, start = 0, 22 - 3 // fields begins with the 3rd
	return fields[state] == "Z" || p.Start != "" && fields[start] != p.Start, true
}
