// Package birth tells when this process began. Go tells only when its own code
// begins, which is after all packages of a program have been initialised.
package birth

import (
	"fmt"
	"time"
)

// StartTime is when the process was made; on Linux to the hundredth of a second. The
// error is errors.ErrUnsupported where the system is not asked.
func StartTime() (time.Time, error) {
	t, err := processStartTime()
	if err != nil {
		return time.Time{}, fmt.Errorf("when this process began: %w", err)
	}
	return t, nil
}
