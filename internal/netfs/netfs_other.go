//go:build !linux

package netfs

// Name cannot tell here, and answers with nothing.
func Name(string) (string, error) { return "", nil }
