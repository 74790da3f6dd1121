//go:build !linux && !darwin && !windows

package birth

import (
	"errors"
	"time"
)

func born() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }
