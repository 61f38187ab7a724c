// Package conformance holds Cadre against five public descriptions of the
// original system, rule by rule. docs/conformance.md says what each of them says,
// how it is in Cadre, and which test shows it; a test here reads that document and
// fails when a row names a test that does not exist.
//
// The tests call the real program, built once, each in folders of its own and in
// an environment that holds nothing else.
package conformance
