//go:build !linux && !darwin

package swapfile

import (
	"errors"
	"os"
)

const noReplace, exchange = 1, 2

func renameAt(*os.File, string, string, uint) error { return errors.ErrUnsupported }
