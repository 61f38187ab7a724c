package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"
)

func TestInterruptEndsWhatWaits(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself there")
	}
	ctx := &interruptible{Context: context.Background()}
	if err := ctx.Err(); err != nil || ctx.listening.Load() != nil {
		t.Fatalf("Err() = %v, and it listens before anybody waits", err)
	}
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-waiting.Done()
	if !errors.Is(waiting.Err(), context.Canceled) || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("Err() = %v and %v, want %v", waiting.Err(), ctx.Err(), context.Canceled)
	}
}
