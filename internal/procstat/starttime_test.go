package procstat

import (
	"errors"
	"testing"
	"time"
)

var testsStarted = time.Now()

func TestStartTime(t *testing.T) {
	got, err := StartTime()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const exact = 50 * time.Millisecond // the two clocks are not read at the same moment
	if got.After(testsStarted.Add(exact)) || got.Before(testsStarted.Add(-time.Minute)) {
		t.Errorf("got %v, which is %v before the tests started", got, testsStarted.Sub(got))
	}
}
