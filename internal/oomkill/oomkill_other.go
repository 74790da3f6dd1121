//go:build !linux

package oomkill

import "errors"

// Prefer calls start: only Linux has scores.
func Prefer(start func() error) error { return start() }

func kills() (uint64, error) { return 0, errors.ErrUnsupported }
