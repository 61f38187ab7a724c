package cli

import (
	"bytes"
	"testing"
)

// BenchmarkVersion measures what the command line itself costs: the tree, the
// flags of one command, and no store.
func BenchmarkVersion(b *testing.B) {
	for b.Loop() {
		var out bytes.Buffer
		if code := Run(b.Context(), []string{"version"}, nil, &out, &out, nil); code != 0 {
			b.Fatal(out.String())
		}
	}
}
