package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamplesWork runs each team file of the examples as it is.
func TestExamplesWork(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			w := newTerminal(t)
			if err := os.CopyFS(filepath.Join(w.dir, "examples"), os.DirFS("../examples")); err != nil {
				t.Fatal(err)
			}
			os.RemoveAll(filepath.Join(w.dir, "examples", "out")) // of somebody who tried them
			for _, again := range []bool{false, true} {
				out, code := w.pipe("run", filepath.Join("examples", filepath.Base(file)), "--report", filepath.Join(w.dir, "report.md"))
				if code != 0 || !strings.Contains(out, "✓ completed") {
					t.Fatalf("again %v: exit code %d\n%s", again, code, out)
				}
			}
			report, err := os.ReadFile(filepath.Join(w.dir, "report.md"))
			if err != nil || !strings.Contains(string(report), "✓ completed") {
				t.Errorf("the report is %s, %v", report, err)
			}
			if out, code := w.pipe("run", "--simulate", filepath.Join("examples", filepath.Base(file))); code != 0 {
				t.Errorf("simulated: exit code %d\n%s", code, out)
			}
		})
	}
}
