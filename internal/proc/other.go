//go:build !linux

package proc

import (
	"syscall"
	"time"
)

// KeepIfAsked returns at once: there are no keepers here.
func KeepIfAsked() {}

// Of cannot tell a process from a later one of the same number here.
func Of(int) (ID, error) { return ID{}, ErrUnsupported }

// Alive cannot be known here.
func (ID) Alive() bool { return false }

// Ancestors are not known here.
func Ancestors() []Ancestor { return nil }

// Tree finds nothing here.
func Tree(ID, string) []ID { return nil }

// EndTree ends nothing here, where nothing can have been started.
func EndTree(ID, string, time.Duration) error { return ErrUnsupported }

// End ends nothing here.
func End(func() []ID, time.Duration) error { return ErrUnsupported }

func subreap() error { return ErrUnsupported }

// Supported says why processes cannot be kept together here.
func Supported() error { return ErrUnsupported }

// OwnSession has nothing to add here.
func OwnSession() *syscall.SysProcAttr { return nil }

func adopted(map[int]bool) []ID { return nil }
