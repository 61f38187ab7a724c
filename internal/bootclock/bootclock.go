// Package bootclock tells how long this boot of the machine has lasted, the time
// that the machine slept included, and which boot it is. No change of the wall
// clock moves it, and two processes of one boot see the same.
package bootclock

import "time"

// Reading is one look at the clock.
type Reading struct {
	Boot string        // tells this boot from every other
	Up   time.Duration // since it began
}

// wall stands in where the system offers no such clock: better a lease that a
// clock change can move than one that never ends.
func wall() Reading { return Reading{"wall", time.Duration(time.Now().UnixNano())} }
