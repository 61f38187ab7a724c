package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported says why processes cannot be kept together here, if they cannot.
func Supported() error { return nil }

// OwnSession starts a process in a session of its own: no terminal ends it.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// adopted are the living processes that dead keepers left to this one, with all that
// descends from them. Those that have ended meanwhile are collected.
func adopted(keepers map[int]bool) []ID {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var out []ID
	var pids []int
	all := table()
	for _, s := range all {
		switch {
		case s.parent != os.Getpid() || s.session == own || keepers[s.PID]:
		case s.zombie:
			_, _ = unix.Wait4(s.PID, nil, unix.WNOHANG, nil)
		default:
			out, pids = append(out, s.ID), append(pids, s.PID)
		}
	}
	return append(out, descend(all, pids...)...)
}
