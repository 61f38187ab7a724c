//go:build unix

package swapfile_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cadre/internal/swapfile"
)

// A pipe nobody writes to would hold up whoever opens it.
func TestPipesAndSocketsStopNobody(t *testing.T) {
	both(t, func(t *testing.T, d *swapfile.Dir, path string) {
		if err := syscall.Mkfifo(filepath.Join(path, "1.json"), 0o600); err != nil {
			t.Fatal(err)
		}
		short, err := os.MkdirTemp("", "s") // a socket's path must be short
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(short)
		l, err := net.Listen("unix", filepath.Join(short, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Rename(filepath.Join(short, "s"), filepath.Join(path, "2.json")); err != nil {
			t.Fatal(err)
		}
		irregular(t, d, "1.json")
		irregular(t, d, "2.json")
	})
}

// A pipe that takes the file's place between the look and the swap goes back there.
func TestWhatCameInBetweenGoesBack(t *testing.T) {
	d, path := folder(t)
	name, pipe, file := filepath.Join(path, "1.json"), filepath.Join(path, "pipe"), filepath.Join(path, "file")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			// The pipe gets the name by a link that is renamed, so that it has it only for
			// a moment and never loses its own.
			err := errors.Join(os.Link(pipe, pipe+"2"), os.Rename(pipe+"2", name), os.WriteFile(file, nil, 0o600), os.Rename(file, name))
			os.Remove(pipe + "2") // a rename onto another name of the same file does nothing
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	for refused := 0; refused < 200; {
		_, old, err := swapfile.Exchange(d, "1.json", []byte("new"))
		if errors.Is(err, swapfile.ErrIrregular) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		} else if err := old.Done(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := swapfile.Sweep(d, 0, nil); err != nil {
		t.Error(err)
	}
	if got := names(t, path); got != "1.json pipe" {
		t.Errorf("the folder holds %s", got)
	}
}
