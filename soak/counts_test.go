package soak_test

import (
	"os"
	"testing"
)

// full says whether the full counts are asked for.
func full() bool { return os.Getenv("CADRE_SOAK") != "" }

// count gives the number of repetitions and prints it, so that a run says what
// it did.
func count(t *testing.T, what string, small, soak int) int {
	t.Helper()
	n := small
	if full() {
		n = soak
	}
	t.Logf("%d %s (full count: %d)", n, what, soak)
	return n
}
