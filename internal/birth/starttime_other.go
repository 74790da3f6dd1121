//go:build !linux && !darwin && !windows

package birth

import (
	"errors"
	"time"
)

func processStartTime() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }
