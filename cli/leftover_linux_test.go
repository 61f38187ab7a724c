package cli_test

import (
	"time"

	"cadre/internal/proc"
)

// endMarked ends every process with a variable in its environment.
func endMarked(mark string) error {
	return proc.End(func() []proc.ID { return proc.Marked(mark) }, time.Second)
}
