//go:build unix

package bench

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// world is what every benchmark shares: the programs, a folder, the report.
var world struct {
	dir                string // on the file system that is measured
	cadre, bare, floor string
	report             report
}

// TestMain builds the programs, but only when something is to be measured.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f == nil || f.Value.String() == "" {
		os.Exit(m.Run())
	}
	code, err := measure(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = 1
	}
	os.Exit(code)
}

func measure(m *testing.M) (int, error) {
	// Beside the sources and not in a temporary folder, which may be in memory.
	base, err := filepath.Abs(filepath.Join("..", "bin"))
	if err != nil {
		return 1, err
	}
	if dir := os.Getenv("CADRE_BENCH_DIR"); dir != "" {
		base = dir
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return 1, err
	}
	if world.dir, err = os.MkdirTemp(base, "bench-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(world.dir)
	for _, p := range []struct {
		into *string
		pkg  string
	}{{&world.cadre, "cadre/cmd/cadre"}, {&world.bare, "cadre/bench/bare"}, {&world.floor, "cadre/bench/floor"}} {
		*p.into = filepath.Join(world.dir, filepath.Base(p.pkg))
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", *p.into, p.pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("building %s: %w\n%s", p.pkg, err, out)
		}
		if err := settle(*p.into); err != nil {
			return 1, err
		}
	}
	code := m.Run()
	world.report.print(os.Stdout)
	return code, nil
}

// settle writes a program anew, in one piece, as an installer does, and as the other
// programs in the race were. The linker writes through a mapping, page by page, and
// until the system next reads the file from the disk it lies in memory in as small
// pieces, which costs each start a hundred page faults more.
func settle(program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := os.Remove(program); err != nil {
		return err
	}
	return os.WriteFile(program, text, 0o755)
}
