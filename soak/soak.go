// Package soak holds the long tests: random commands against two stores, many
// processes at once, kills, faults of the disk, clocks that jump. `make test`
// runs them with small counts and prints those; `make soak` (CADRE_SOAK=1) runs
// the same code with the full ones.
package soak
