//go:build unix

package cli_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStartDoesLittle watches what the packages of this program do before main:
// every command pays for it.
func TestStartDoesLittle(t *testing.T) {
	w := newTerminal(t)
	w.env = []string{"GODEBUG=inittrace=1"}
	out, code := w.pipe("version")
	if code != 0 || !strings.Contains(out, "init ") {
		t.Fatalf("no trace: exit code %d\n%s", code, out)
	}
	const most = 16 << 10 // bytes allocated, which is less noisy than time
	for _, m := range regexp.MustCompile(`init (cadre\S*) @.*?, (\d+) bytes`).FindAllStringSubmatch(out, -1) {
		if n, err := strconv.Atoi(m[2]); err != nil || n > most {
			t.Errorf("package %s allocates %s bytes at start, %d are allowed", m[1], m[2], most)
		}
	}
}
