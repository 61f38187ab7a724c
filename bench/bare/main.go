// Command bare does nothing: what it costs is what any Go program costs.
package main

func main() {}
