package cli

import (
	"strings"
	"testing"
	"time"
)

// TestLogOfYesterdayFitsATerminal: the date takes no more room than tells one day of this
// year from another.
func TestLogOfYesterdayFitsATerminal(t *testing.T) {
	d := newDesk(t)
	d.run("team", "create", "docs")
	for wait, want := range map[time.Duration]string{time.Minute: " 09:01:00 ", 24 * time.Hour: " 03-01 09:01 ", 365 * 24 * time.Hour: " 2026-03-01 09:01:00 "} {
		d.clock = time.Date(2026, 3, 1, 9, 1, 0, 0, time.UTC).Add(wait)
		if out, _ := d.run("log"); !strings.Contains(out, want) {
			t.Errorf("%v later the log does not say%q:\n%s", wait, want, out)
		}
	}
}

// TestNarrowTable: a last column that is narrow anyway is made no wider.
func TestNarrowTable(t *testing.T) {
	d := newDesk(t)
	d.width = 20
	d.run("team", "create", "docs")
	if out, _ := d.run("team", "list"); !strings.Contains(out, "DONE  ASKS\n") {
		t.Errorf("team list at 20 columns:\n%s", out)
	}
}
