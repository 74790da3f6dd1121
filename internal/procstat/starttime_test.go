package procstat

import (
	"errors"
	"testing"
	"time"
)

var testsStarted = time.Now()

func TestStartTime(t *testing.T) {
	asked := time.Now()
	got, err := StartTime()
	inexact := time.Since(asked) + 10*time.Millisecond // the two clocks are not read at the same moment, and one ticks
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.After(testsStarted.Add(inexact)) || got.Before(testsStarted.Add(-time.Minute)) {
		t.Errorf("got %v, which is %v before the tests started", got, testsStarted.Sub(got))
	}
}
