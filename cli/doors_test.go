package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// doors are pages that belong to no verb: what a newcomer sees first, the help of every
// level, and what is said when something is typed wrong.
var doors = map[string][]string{
	"help":   {`--help`, `task --help`, `task add --help`, `run --help`, `up --help`, `watch --help`, `doctor --help`},
	"others": {`mcp --help`, `mcp --explain`, `hook --help`, `demo --help`, `install --help`, `completion --help`, `man --help`},
	"newcomer": {
		``, `task list`, `team list`, `msg inbox`, `log`, `doctor`, `run team.yaml`, `up`, `team create docs -d "The new manual"`, ``, `team show`, `task add "Write it"`, ``,
		`install codex --print`, `install claude --print`, `install gemini --print`, `install nobody`,
	},
	"mistakes": {
		`tsk`, `task lst`, `task`, `task add`, `task show`, `task show 99`, `task show x y`, `task add one --nosuch`, `--nosuch`, `task add one --priority huge`, `task add one --blocked-by 7`,
		`task list --team nobody`, `team create docs`, `team create "Bad Name"`, `team use nobody`, `msg send`, `msg send zoe hello`, `member kill zoe`, `ask show a1`, `at yesterday`, `undo 99`,
		`task list --json --jsonl`, `watch --until nonsense`, `task add one`, `task add two --blocked-by 1`, `task claim 2`, `task done 2`, `task rm 1`, `task block 1 --by 2`, `task wait 1 --timeout 1ms`,
	},
	"erased": {``, `team list`, `team list --all`, `team show demo-team`, `team restore demo-team`, `team restore nobody`, ``},
}

// TestGoldenDoors compares these pages with what they looked like when somebody last
// looked at them and was content.
func TestGoldenDoors(t *testing.T) {
	for name, lines := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if err := os.Mkdir(filepath.Join(d.dir, "cwd"), 0o700); err != nil {
				t.Fatal(err)
			}
			if name == "erased" {
				d.clock = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
				if err := os.CopyFS(filepath.Join(d.dir, ".claude", "projects"), os.DirFS("../transcript/testdata/v50-lifecycle/projects")); err != nil {
					t.Fatal(err)
				}
			}
			var page strings.Builder
			for _, line := range lines {
				out, code := d.run(shellWords(line)...)
				if code != 0 {
					out += fmt.Sprintf("(exit code %d)\n", code)
				}
				fmt.Fprintf(&page, "$ %s\n%s\n", strings.TrimSpace("cadre "+line), out)
			}
			golden(t, filepath.Join("testdata", "golden", "doors", name+".txt"), page.String())
		})
	}
}
