package birth

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
	const exact = 50 * time.Millisecond // of clocks that are read one after the other
	if got.After(testsStarted.Add(exact)) || got.Before(testsStarted.Add(-time.Minute)) {
		t.Errorf("got %v, %v before the first line of Go ran", got, testsStarted.Sub(got))
	}
}
