//go:build !linux

package datadir

import "errors"

func processStart(int) (string, error) { return "", errors.ErrUnsupported }

func pidPlace() (string, error) { return "", errors.ErrUnsupported }
