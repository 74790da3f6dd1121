//go:build !linux

package main

import (
	"errors"
	"syscall"
	"time"
)

// These figures are available on Linux only.

func dieWithParent(*syscall.SysProcAttr) {}

func cpuTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

func memoryOf(int) (memory, error) { return memory{}, errors.ErrUnsupported }

func loadAverage() (float64, error) { return 0, errors.ErrUnsupported }

func cpuModel() string { return "" }

func memoryTotal() string { return "" }
