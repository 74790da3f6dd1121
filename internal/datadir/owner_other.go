//go:build !linux

package datadir

import "errors"

func processStart(int) (string, error) { return "", errors.ErrUnsupported }

func isSuspended(int) bool { return false } // it is not known

func pidPlace() (string, error) { return "", errors.ErrUnsupported }
