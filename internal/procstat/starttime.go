// Package procstat measures this process: when the system created it, and the CPU
// time and memory that it uses. It also reports whether another process exists.
package procstat

import (
	"fmt"
	"time"
)

// StartTime returns when the system created the process, which Go's own clock does
// not show: its code runs after all packages are initialised. On Linux it is exact
// to a hundredth of a second. The error is errors.ErrUnsupported on other systems
// than Linux, macOS and Windows.
func StartTime() (time.Time, error) {
	t, err := processStartTime()
	if err != nil {
		return time.Time{}, fmt.Errorf("start time of this process: %w", err)
	}
	return t, nil
}
