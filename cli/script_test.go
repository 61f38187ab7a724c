package cli_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"cadre/cli"
	"cadre/internal/proc"
)

// TestMain lets the scripts call the real program: the test binary is cadre when
// it is started under that name.
func TestMain(m *testing.M) {
	proc.KeepIfAsked()
	testscript.Main(m, map[string]func(){"cadre": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}})
}

// TestScripts runs the scripts in an environment that holds nothing but folders
// of their own: the shell that runs the tests may carry the marks of an agent,
// which would change who the program takes its caller for.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Vars = []string{
				"PATH=" + env.Getenv("PATH"),
				"WORK=" + env.WorkDir,
				"GORACE=atexit_sleep_ms=0", // under the race detector every exit would take a second
				"HOME=" + filepath.Join(env.WorkDir, "home"),
				"CADRE_STATE_DIR=" + filepath.Join(env.WorkDir, "state"),
				"CLAUDE_CONFIG_DIR=" + filepath.Join(env.WorkDir, "claude"),
				"XDG_CACHE_HOME=" + filepath.Join(env.WorkDir, "cache"),
			}
			env.Defer(func() { // a script that fails leaves its supervisor running
				if err := endMarked("WORK=" + env.WorkDir); err != nil {
					t.Error(err)
				}
			})
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Cmds: scriptCommands(),
	})
}
