package claudedir

import (
	"testing"
	"time"
)

// SetLeftover makes a temporary file count as left by a crash after a time.
func SetLeftover(t *testing.T, d time.Duration) {
	old := leftover
	leftover = d
	t.Cleanup(func() { leftover = old })
}
