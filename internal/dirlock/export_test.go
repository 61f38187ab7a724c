package dirlock

import (
	"context"
	"errors"

	"cadre/internal/swapfile"
)

// LockBasic is Lock on a file system that cannot rename to a free name in one step.
func LockBasic(ctx context.Context, dir *swapfile.Dir, name string, o Options) (*Held, error) {
	return lock(ctx, dir, name, o, func(string, string) error { return errors.ErrUnsupported })
}

// TakeAway removes a lock that was judged to be left behind.
func (h *Held) TakeAway(lock string, judged swapfile.Stamp) error { return h.takeAway(lock, judged) }
