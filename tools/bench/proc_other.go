//go:build !linux

package main

import (
	"errors"
	"syscall"
	"time"
)

// What only Linux tells of another process is n/a elsewhere.

func dieWithParent(*syscall.SysProcAttr) {}

func cpuTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

func memoryOf(int) (memory, error) { return memory{}, errors.ErrUnsupported }

func loadAverage() (float64, error) { return 0, errors.ErrUnsupported }

func cpuModel() string { return "" }

func memoryTotal() string { return "" }
