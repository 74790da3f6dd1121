//go:build !linux && !darwin && !windows

package procstat

import (
	"errors"
	"time"
)

func processStartTime() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }
