//go:build unix && !linux

package main

import "os"

func sync(f *os.File) error { return f.Sync() }
