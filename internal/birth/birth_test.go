package birth

import (
	"errors"
	"testing"
	"time"
)

var begun = time.Now()

func TestTime(t *testing.T) {
	got, err := Time()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const exact = 50 * time.Millisecond // of clocks that are read one after the other
	if got.After(begun.Add(exact)) || got.Before(begun.Add(-time.Minute)) {
		t.Errorf("got %v, %v before the first line of Go ran", got, begun.Sub(got))
	}
}
