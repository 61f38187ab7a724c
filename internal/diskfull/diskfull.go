// Package diskfull tells a disk without room from other faults: whoever meets it has to
// make some, and no other command helps.
package diskfull

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Hint is what to type about an error: where it is for want of room, the command that
// shows how much the disks of the folders have, and else the one that is given. A folder
// that is not there yet stands for the next above it that is.
func Hint(err error, hint string, folders ...string) string {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return hint
	}
	var there []string
	for _, dir := range folders {
		for dir != filepath.Dir(dir) {
			if _, err := os.Stat(dir); err == nil {
				break
			}
			dir = filepath.Dir(dir)
		}
		if !slices.Contains(there, dir) {
			there = append(there, dir)
		}
	}
	hint = "df -h"
	for _, dir := range there {
		hint += " " + dir
	}
	return hint
}
