// Package bench measures Cadre beside what each number is compared to, in one
// run and in turn, and prints medians and ratios. It has no time limits: what a
// machine under load makes slow it makes slow on both sides.
//
// Run it with make bench; docs/benchmarks.md explains every line.
package bench
