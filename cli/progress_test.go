package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"cadre/internal/termtext"
)

// TestLongImportShowsHowFarItIs: on a terminal, when it takes longer than people
// like to wait, and only there and then.
func TestLongImportShowsHowFarItIs(t *testing.T) {
	var plan strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&plan, "{\"subject\":\"task %d\"}\n", i)
	}
	for _, test := range []struct {
		name     string
		terminal bool
		patience time.Duration
		shown    bool
	}{
		{"it takes long", true, 0, true},
		{"it is fast enough", true, time.Hour, false},
		{"nobody is there", false, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, talk bytes.Buffer
			p := &program{
				stdin: strings.NewReader(plan.String()), out: bufio.NewWriter(&out), stderr: &talk, now: clock, open: openState,
				env:     map[string]string{"HOME": t.TempDir(), "CADRE_STATE_DIR": t.TempDir()},
				errTerm: test.terminal, patience: test.patience,
			}
			if code := p.run(t.Context(), []string{"import", "-"}); code != 0 || !strings.HasPrefix(out.String(), "imported 5000 tasks") {
				t.Fatalf("exit code %d: %s%s", code, out.String(), talk.String())
			}
			said := talk.String()
			if !test.shown && said != "" {
				t.Errorf("something was shown: %q", said)
			}
			if test.shown && (!strings.Contains(said, "█") || !strings.Contains(said, "100%") || !strings.HasSuffix(said, "\r\x1b[K")) {
				t.Errorf("no bar was shown, or it was not taken away: %q", said)
			}
		})
	}
}

// TestABarIsAboutOneCommit: a short one shows none, however long the command waited for
// it, and none is wider than the terminal.
func TestABarIsAboutOneCommit(t *testing.T) {
	var talk bytes.Buffer
	b := (&program{stderr: &talk, errTerm: true, width: 40, patience: 20 * time.Millisecond}).progress("a command with a long name")
	b.report(1, 1)
	time.Sleep(2 * b.patience)
	b.report(1, 1)
	if b.clear(); talk.Len() > 0 {
		t.Errorf("two short commits show %q", talk.String())
	}
	b.report(1, 3)
	time.Sleep(2 * b.patience)
	b.report(2, 3)
	if got := strings.TrimPrefix(talk.String(), "\r"); !strings.Contains(got, "66%") || termtext.Width(got) >= b.width {
		t.Errorf("a long commit shows %q", got)
	}
}
